//! How long messages take, and how many there are.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::churn::Latency;
use super::clock::Time;
use super::message::Message;
use super::trace::MessageCounts;

/// The network between the nodes.
#[derive(Debug)]
pub(super) struct Network {
    latency: Latency,
    draws: ChaCha8Rng,
    pub(super) sent: Sent,
}

/// Messages sent so far, those to nodes that are gone included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) messages: MessageCounts,
    pub(super) heartbeats: u64,
    /// Queries that came to an end.
    pub(super) searches: u64,
    /// How often these queries were sent, in all.
    pub(super) hops: u64,
}

impl Network {
    pub(super) fn new(latency: Latency, draws: ChaCha8Rng) -> Self {
        Self {
            latency,
            draws,
            sent: Sent::default(),
        }
    }

    /// Counts a message that is sent; returns the time that it takes.
    pub(super) fn send(&mut self, message: &Message) -> Time {
        self.sent.count(message);
        Time::from_milliseconds(match self.latency {
            Latency::Fixed(milliseconds) => milliseconds,
            Latency::Uniform([least, most]) => least + (most - least) * self.draws.random::<f64>(),
        })
    }
}

impl Sent {
    fn count(&mut self, message: &Message) {
        let messages = &mut self.messages;
        let counter = match message {
            Message::Discovery(_) => &mut messages.discovery,
            Message::Found { search, .. } => {
                self.searches += 1;
                self.hops += u64::from(search.hops);
                &mut messages.found
            }
            Message::Connect { .. } => &mut messages.connect,
            Message::Answer { .. } => &mut messages.answer,
            Message::Displaced { .. } => &mut messages.displaced,
            Message::Heartbeat { .. } => &mut self.heartbeats,
            Message::Leave { .. } => &mut messages.leave,
        };
        *counter += 1;
    }

    /// What was sent since `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            messages: self.messages.since(&earlier.messages),
            heartbeats: self.heartbeats - earlier.heartbeats,
            searches: self.searches - earlier.searches,
            hops: self.hops - earlier.hops,
        }
    }
}
