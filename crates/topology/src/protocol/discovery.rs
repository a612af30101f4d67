//! Greedy routing: a query goes from node to node, each time nearer to a place on a ring.
//!
//! # Source
//! Hua et al., Section 4: a node that joins "can always succeed to find the two closest nodes on each virtual ring by
//! recursive queries".
//!
//! # Interpretation
//! A node hands a query for a place in one space to the node nearest to the place in that space, out of its neighbours in
//! all spaces, which are as good as random in this one, and theirs, whose addresses it stores anyway. It ends where no
//! known node is nearer. A join looks at the distance around the shorter way; a repair at the distance on the side of
//! the neighbour that it seeks, so that it does not end beyond the gap. Queries are not acknowledged from hop to hop:
//! one that meets a failed node is lost, and its origin asks again.

use super::coordinates::{Address, Coordinates, Side, Slot};
use super::message::{Search, Sought};
use super::node::{Node, Turn};
use super::table::Table;

impl Search {
    /// How far `node` is from what is sought.
    fn distance(&self, node: Address, coordinates: &Coordinates) -> f64 {
        let space = self.space;
        match self.sought {
            Sought::Place => coordinates.circular(space, self.origin, node),
            Sought::Neighbour(side) => coordinates.along(Slot { space, side }, self.origin, node),
        }
    }
}

impl Node {
    /// Hands a query on, or tells its origin that it ended here.
    pub(super) fn route(&mut self, search: Search, turn: &mut Turn<'_>) {
        let mut nearest = None;
        let mut limit = search.distance(self.address, turn.coordinates);
        for address in self.known() {
            let distance = search.distance(address, turn.coordinates);
            if distance < limit && address != search.origin && !self.is_gone(address) {
                (nearest, limit) = (Some(address), distance);
            }
        }
        match nearest {
            Some(nearest) => turn.post.discover(nearest, search.one_hop_more()),
            None => turn.post.found(search),
        }
    }

    /// Neighbours and two-hop neighbours, some of them several times.
    fn known(&self) -> impl Iterator<Item = Address> {
        self.contact_tables().iter().flat_map(|contact| {
            let theirs = contact.table.iter().flat_map(|table| table.addresses());
            std::iter::once(contact.address).chain(theirs)
        })
    }

    /// A query of this node ended at `from`: asks the nearest there, or sees its neighbour confirmed.
    pub(super) fn found(
        &mut self,
        from: Address,
        search: Search,
        table: &Table,
        turn: &mut Turn<'_>,
    ) {
        let sides = match search.sought {
            Sought::Place => &Side::BOTH[..],
            Sought::Neighbour(Side::Previous) => &Side::BOTH[..1],
            Sought::Neighbour(Side::Next) => &Side::BOTH[1..],
        };
        for &side in sides {
            let space = search.space;
            let slot = Slot { space, side };
            let distance = |to: &Address| turn.coordinates.along(slot, self.address, *to);
            let candidates = std::iter::once(from).chain(table.addresses());
            let nearest = candidates
                .filter(|&address| self.is_candidate(address))
                .min_by(|a, b| distance(a).total_cmp(&distance(b)));
            match nearest {
                Some(nearest) if self.at(slot) == Some(nearest) => {
                    self.repairs[slot.index()].confirmed();
                }
                Some(nearest) if self.is_nearer(slot, nearest, turn) => {
                    self.ask(slot, nearest, turn);
                }
                _ => {}
            }
        }
    }
}

impl Search {
    fn one_hop_more(self) -> Self {
        Self {
            hops: self.hops + 1,
            ..self
        }
    }
}
