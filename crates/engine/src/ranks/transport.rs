//! The trait for carrying rows and numbers between ranks.

use super::Sent;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

/// Carries floats and words between ranks. Exchanges, gathering and broadcasts are collective: all ranks call them, in the
/// same order.
pub(crate) trait Transport: Debug + Send + Sync {
    /// Which of the ranks this is, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn count(&self) -> usize;

    /// Sends `to[k]` to rank `k` and fills `from[k]` with what rank `k` sends to this one. Both ends know the length of
    /// a message; empty ones, and those to the rank itself, are not sent. While messages are on their way, calls `work`
    /// until it returns false.
    fn exchange(&self, to: &[&[f32]], from: &mut [&mut [f32]], work: &mut dyn FnMut() -> bool);

    /// Gathers the words of each rank; rank `k` has `lengths[k]`.
    fn all_gather(&self, own: &[u64], lengths: &[usize]) -> Vec<Vec<u64>>;

    /// Replaces `words` by those of rank 0; all ranks pass the same number.
    fn broadcast(&self, words: &mut [u64]);

    /// Sends `bytes` to `rank`, which [receives](Transport::receive) them. They are not counted.
    fn send(&self, rank: usize, bytes: &[u8]);

    /// Receives what `rank` [sends](Transport::send) to this one next.
    fn receive(&self, rank: usize) -> Vec<u8>;

    /// For each rank, the rank that reads examples for its machine: the first one there.
    fn readers(&self) -> Vec<usize>;

    /// Ends all ranks, as this one cannot go on because of `reason`.
    fn abort(&self, reason: &str) -> !;

    /// The counter of what [`Transport::exchange`] sends from here, and of what others read here in place.
    fn counter(&self) -> &Counter;
}

/// Counts what a rank sends.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    messages: AtomicU64,
    bytes: AtomicU64,
    bytes_in_place: AtomicU64,
}

impl Counter {
    /// Counts a message of `floats`.
    pub(crate) fn add(&self, floats: &[f32]) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        let bytes = size_of_val(floats) as u64;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts `floats` floats that another rank reads in place.
    pub(crate) fn add_in_place(&self, floats: usize) {
        let bytes = (floats * size_of::<f32>()) as u64;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.bytes_in_place.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What was counted.
    pub(crate) fn sent(&self) -> Sent {
        Sent {
            messages: self.messages.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            bytes_in_place: self.bytes_in_place.load(Ordering::Relaxed),
        }
    }
}
