//! Bandwidths over time, and whose they are.

use std::collections::BTreeMap;

use super::rate_trace::RateTrace;

/// Bandwidths over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Traces {
    /// The same for every client.
    All(RateTrace),
    /// By node.
    Nodes(BTreeMap<u32, RateTrace>),
    /// By sending and receiving node.
    Edges(BTreeMap<(u32, u32), RateTrace>),
}
