//! Joining.
//!
//! # Source
//! Hua et al., Section 4.
//!
//! # Interpretation
//! How a new node learns of a member is left open; here a member is drawn at random, as a service that lists members would
//! do. A node that has lost all neighbours, or whose first queries were lost, asks for a member again.

use super::coordinates::Address;
use super::message::{Search, Sought};
use super::node::{Node, Turn};

impl Node {
    /// Asks `member` for the nodes around this node's place on every ring.
    pub(super) fn join(&mut self, member: Address, turn: &mut Turn<'_>) {
        for slot in self.slots() {
            self.repairs[slot.index()].wait_until(turn.now.after(turn.timeout));
        }
        for space in 0..turn.coordinates.spaces() {
            let search = Search {
                origin: self.address,
                space,
                sought: Sought::Place,
                hops: 1,
            };
            turn.post.discover(member, search);
        }
    }
}
