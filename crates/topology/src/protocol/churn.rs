//! What a simulation of the protocol is asked for.

use serde::{Deserialize, Serialize};

/// Nodes on virtual rings, and who joins, leaves or fails when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Churn {
    /// Nodes at the beginning, at least 2.
    pub nodes: usize,
    /// Number of rings L.
    pub spaces: usize,
    /// Seed of coordinates, latencies and of who leaves or fails.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// How long a message takes.
    #[serde(default)]
    pub latency: Latency,
    /// From one heartbeat of a node to its next; a round trip must take less.
    #[serde(default = "default_heartbeat_seconds")]
    pub heartbeat_seconds: f64,
    /// A neighbour that is silent for longer has failed; at least two heartbeats.
    #[serde(default = "default_timeout_seconds")]
    pub timeout_seconds: f64,
    /// How the overlay came to be.
    #[serde(default)]
    pub start: Start,
    /// What happens, in the order of time.
    #[serde(default)]
    pub events: Vec<ChurnEvent>,
    /// End of the simulation.
    pub until_seconds: f64,
    /// From one sample to the next.
    #[serde(default = "default_sample_seconds")]
    pub sample_seconds: f64,
}

fn default_seed() -> u64 {
    1
}

fn default_heartbeat_seconds() -> f64 {
    1.0
}

fn default_timeout_seconds() -> f64 {
    3.0
}

fn default_sample_seconds() -> f64 {
    0.5
}

/// How long a message takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Latency {
    /// So many milliseconds each.
    Fixed(f64),
    /// Drawn for every message uniformly between two numbers of milliseconds; messages may overtake each other.
    Uniform([f64; 2]),
}

impl Default for Latency {
    fn default() -> Self {
        Self::Fixed(50.0)
    }
}

impl Latency {
    /// The longest that a message may take, in milliseconds.
    #[must_use]
    pub fn longest(&self) -> f64 {
        match *self {
            Self::Fixed(milliseconds) | Self::Uniform([_, milliseconds]) => milliseconds,
        }
    }
}

/// How the overlay came to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Every node begins with its correct neighbours and knows theirs.
    #[default]
    Built,
    /// The nodes join one after another, each when the messages of the one before have ended; then the clock starts.
    Grown,
}

/// Something that happens to the overlay: exactly one of `join`, `leave` and `fail`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChurnEvent {
    /// When.
    pub at_seconds: f64,
    /// New nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub join: Option<Join>,
    /// Nodes that say goodbye.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leave: Option<Leave>,
    /// Nodes that fall silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail: Option<Fail>,
}

/// Nodes that join at the same time, through members drawn at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// How many.
    pub count: usize,
}

/// Nodes, drawn at random, that leave at the same time and tell their neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leave {
    /// How many.
    pub count: usize,
}

/// Nodes, drawn at random, that fail at the same time and tell nobody.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fail {
    /// Share of the nodes alive, rounded to whole nodes.
    pub share: f64,
}

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// See [`Join`].
    Join(Join),
    /// See [`Leave`].
    Leave(Leave),
    /// See [`Fail`].
    Fail(Fail),
}

impl ChurnEvent {
    /// The one thing that the event does; `None` unless it is exactly one.
    #[must_use]
    pub fn change(&self) -> Option<Change> {
        match (self.join, self.leave, self.fail) {
            (Some(join), None, None) => Some(Change::Join(join)),
            (None, Some(leave), None) => Some(Change::Leave(leave)),
            (None, None, Some(fail)) => Some(Change::Fail(fail)),
            _ => None,
        }
    }
}

impl Change {
    /// Nodes that join, leave or fail when `alive` are there.
    #[must_use]
    pub fn nodes(&self, alive: usize) -> usize {
        match *self {
            Self::Join(Join { count }) | Self::Leave(Leave { count }) => count,
            Self::Fail(Fail { share }) => (share * alive as f64).round() as usize,
        }
    }
}
