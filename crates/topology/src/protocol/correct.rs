//! The correct neighbours: those that stand next to each other on the rings of the nodes alive.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use super::coordinates::{Address, Coordinates, Side, Slot};

/// The nodes alive in their order on every ring.
#[derive(Debug)]
pub(super) struct CorrectRings {
    /// By coordinate, whose bits ascend as it does, and address.
    rings: Vec<BTreeSet<(u64, Address)>>,
}

impl CorrectRings {
    pub(super) fn new(spaces: usize) -> Self {
        Self {
            rings: vec![BTreeSet::new(); spaces],
        }
    }

    pub(super) fn enter(&mut self, node: Address, coordinates: &Coordinates) {
        for (space, ring) in self.rings.iter_mut().enumerate() {
            ring.insert((coordinates.of(space, node).to_bits(), node));
        }
    }

    pub(super) fn depart(&mut self, node: Address, coordinates: &Coordinates) {
        for (space, ring) in self.rings.iter_mut().enumerate() {
            ring.remove(&(coordinates.of(space, node).to_bits(), node));
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.rings[0].len()
    }

    /// Whom `node` should have in `slot`, whether it is alive or not; nobody if there is no other node.
    pub(super) fn neighbour(
        &self,
        node: Address,
        slot: Slot,
        coordinates: &Coordinates,
    ) -> Option<Address> {
        let ring = &self.rings[slot.space];
        let place = (coordinates.of(slot.space, node).to_bits(), node);
        let neighbour = match slot.side {
            Side::Next => ring
                .range((Excluded(place), Unbounded))
                .next()
                .or(ring.first()),
            Side::Previous => ring.range(..place).next_back().or(ring.last()),
        };
        neighbour
            .map(|&(_, address)| address)
            .filter(|&address| address != node)
    }
}
