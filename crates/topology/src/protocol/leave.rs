//! Leaving.
//!
//! # Interpretation
//! The paper names leaves beside failures. Here a node that leaves tells its neighbours who its neighbours were, and is
//! gone at once; the two on either side of it take each other on its word, without asking.

use super::coordinates::Address;
use super::node::{Node, Turn};
use super::table::Table;

impl Node {
    /// Says goodbye.
    pub(super) fn leave(&mut self, turn: &mut Turn<'_>) {
        turn.post.farewell();
    }

    /// A node has left, and tells of its neighbours.
    pub(super) fn part_from(&mut self, from: Address, table: &Table, turn: &mut Turn<'_>) {
        let (slots, _) = self.remove(from, turn);
        for slot in slots {
            match table.at(slot).filter(|&beyond| self.is_candidate(beyond)) {
                Some(beyond) => self.adopt(slot, beyond, turn),
                None => self.seek(slot, turn),
            }
        }
    }
}
