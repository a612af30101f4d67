//! The threads that draw batches for a GPU, which would have to wait for a single thread.

use crate::cpu::pool;
use rayon::ThreadPool;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;

/// The most threads that draw besides the calling one. Waking more of them takes longer than drawing.
const HELPERS: usize = 7;

/// The threads besides the calling one; none on a machine of one core, or if they cannot be started.
fn helpers() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let started = POOL.get_or_init(|| {
        let cores = available_parallelism().map_or(1, usize::from);
        let helpers = HELPERS.min(cores - 1);
        (helpers > 0).then(|| pool(Some(helpers)).ok()).flatten()
    });
    started.as_ref()
}

/// Applies `work` to parts of `items`; results are in the order of the parts. Parts have at least `least` items, so
/// that a few items are one part, which the calling thread does itself.
pub(super) fn in_parts<T: Send, R: Send>(
    items: &mut [T],
    least: usize,
    work: impl Fn(&mut [T]) -> R + Sync,
) -> Vec<R> {
    if items.len() < 2 * least.max(1) {
        return vec![work(items)];
    }
    let Some(helpers) = helpers() else {
        return vec![work(items)];
    };
    let threads = 1 + helpers.current_num_threads();
    // Two parts for each thread, so that threads that wake late do fewer.
    let size = items.len().div_ceil(2 * threads).max(least);
    let mut done: Vec<Option<R>> = Vec::new();
    done.resize_with(items.len().div_ceil(size), || None);
    let count = done.len();
    let left = Mutex::new(items.chunks_mut(size).zip(&mut done));
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take_part = || {
        while let Some((part, done)) = next() {
            *done = Some(work(part));
        }
    };
    helpers.in_place_scope(|scope| {
        for _ in 1..threads.min(count) {
            scope.spawn(|_| take_part());
        }
        take_part();
    });
    done.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_and_every_item_is_in_one() {
        for (count, least) in [(0, 1), (1, 1), (7, 4), (1_000, 1), (1_000, 300), (999, 10)] {
            let mut items: Vec<usize> = (0..count).collect();
            let double = |part: &mut [usize]| {
                part.iter_mut().for_each(|item| *item *= 2);
                part.to_vec()
            };
            let parts = in_parts(&mut items, least, double);
            assert!(!parts.is_empty());
            let doubled: Vec<usize> = (0..count).map(|item| 2 * item).collect();
            assert_eq!((parts.concat(), items), (doubled.clone(), doubled));
        }
    }
}
