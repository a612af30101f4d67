//! A node's neighbours, as it tells others of them.

use super::coordinates::{Address, Slot};

/// The neighbours of a node, slot by slot, at one moment.
///
/// Every message that makes or keeps a link carries the sender's table, heartbeats included: from them a node has its
/// two-hop neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    /// Grows with every change; a table that was overtaken by a younger one is not taken for news.
    pub(super) version: u64,
    neighbours: Box<[Option<Address>]>,
}

impl Table {
    /// `neighbours` has one entry per slot.
    pub(super) fn new(version: u64, neighbours: &[Option<Address>]) -> Self {
        Self {
            version,
            neighbours: neighbours.into(),
        }
    }

    pub(super) fn at(&self, slot: Slot) -> Option<Address> {
        self.neighbours[slot.index()]
    }

    /// The neighbours; one who is met on several rings comes several times.
    pub(super) fn addresses(&self) -> impl Iterator<Item = Address> {
        self.neighbours.iter().copied().flatten()
    }
}
