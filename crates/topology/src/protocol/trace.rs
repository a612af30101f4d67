//! What a simulation shows.

use serde::{Deserialize, Serialize};

/// What happened in a simulation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChurnTrace {
    /// What each event cost and how long its effects lasted; the growth of the overlay first, if it was grown.
    pub events: Vec<EventRecord>,
    /// The state at regular moments, both ends included.
    pub samples: Vec<ChurnSample>,
}

/// An event and what followed, up to the next event or the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// When it happened.
    pub at_seconds: f64,
    /// What happened.
    pub kind: EventKind,
    /// Nodes that joined, left or failed.
    pub nodes: usize,
    /// Nodes alive from then on.
    pub alive: usize,
    /// Share of the nodes alive with exactly the correct neighbours, right after the event.
    pub correct_after: f64,
    /// The same share at the end of the time that the record is about.
    pub correct: f64,
    /// Connected components that the nodes alive and their neighbours form at the end of that time. Those that come
    /// apart know nobody of each other, which no message repairs.
    pub components: usize,
    /// From the event until all nodes had the correct neighbours, and kept them; `None` if they had not in the end.
    pub recovered_seconds: Option<f64>,
    /// All messages but heartbeats.
    pub messages: u64,
    /// The same over the nodes that joined, left or failed.
    pub messages_per_node: f64,
    /// The messages by their kind.
    pub kinds: MessageCounts,
    /// How often a query was sent until it came to its end, on average; `None` if none did.
    pub hops_per_search: Option<f64>,
    /// Heartbeats.
    pub heartbeats: u64,
}

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The nodes of the beginning joined one after another.
    Grow,
    /// Nodes joined.
    Join,
    /// Nodes left.
    Leave,
    /// Nodes failed.
    Fail,
}

impl EventKind {
    /// The name in files and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Grow => "grow",
            Self::Join => "join",
            Self::Leave => "leave",
            Self::Fail => "fail",
        }
    }
}

/// Messages by kind; heartbeats are none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCounts {
    /// Queries, every hop counted.
    pub discovery: u64,
    /// Ends of queries, told to those who asked.
    pub found: u64,
    /// Requests to become neighbours.
    pub connect: u64,
    /// Answers to requests, and to heartbeats of nodes that are no neighbours.
    pub answer: u64,
    /// News for neighbours that nearer ones took the place of.
    pub displaced: u64,
    /// Farewells.
    pub leave: u64,
}

impl MessageCounts {
    /// Messages of all kinds.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.discovery + self.found + self.connect + self.answer + self.displaced + self.leave
    }

    /// What was counted since `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            discovery: self.discovery - earlier.discovery,
            found: self.found - earlier.found,
            connect: self.connect - earlier.connect,
            answer: self.answer - earlier.answer,
            displaced: self.displaced - earlier.displaced,
            leave: self.leave - earlier.leave,
        }
    }
}

/// The state of the overlay at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChurnSample {
    /// When.
    pub seconds: f64,
    /// Nodes alive.
    pub alive: usize,
    /// Share of the nodes alive with exactly the correct neighbours.
    pub correct: f64,
    /// Correct neighbours that nodes do not have, over all slots: both sides of every ring of every node.
    pub missing: u64,
    /// Neighbours that nodes have and that are not the correct ones, over all slots.
    pub wrong: u64,
    /// Messages sent since the beginning, without heartbeats.
    pub messages: u64,
    /// Heartbeats sent since the beginning.
    pub heartbeats: u64,
}
