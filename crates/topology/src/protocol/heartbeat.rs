//! Heartbeats, and what their absence says.
//!
//! # Interpretation
//! How a failure is detected is left open. Here every node sends its neighbours a heartbeat at a fixed interval, from a
//! moment of its own, and takes a neighbour that was silent for longer than the timeout for failed. A node that holds
//! another as its neighbour, but not the other way round, is answered: so it hears that the other lives, and who stands
//! between them. As a round trip takes less than a heartbeat and the timeout is at least two, nobody alive is taken for
//! failed.

use std::rc::Rc;

use super::coordinates::Address;
use super::node::{Node, Turn};
use super::table::Table;

impl Node {
    /// What a node does at every heartbeat of its own.
    pub(super) fn tick(&mut self, turn: &mut Turn<'_>) {
        self.notice_silence(turn);
        self.review_repairs(turn);
        turn.post.heartbeats();
    }

    fn notice_silence(&mut self, turn: &mut Turn<'_>) {
        let is_silent = |heard| turn.now.since(heard) > turn.timeout;
        let failed: Vec<Address> = self
            .contact_tables()
            .iter()
            .filter(|contact| is_silent(contact.heard))
            .map(|contact| contact.address)
            .collect();
        // All are given up before the first is replaced, so that none is replaced by another of them.
        for &address in &failed {
            self.give_up(address);
        }
        for address in failed {
            self.replace(address, turn);
        }
    }

    /// A heartbeat of `from`.
    pub(super) fn heartbeat_of(&mut self, from: Address, table: Rc<Table>, turn: &mut Turn<'_>) {
        self.read(from, table, turn);
        if !self.is_neighbour(from) {
            turn.post.answer(from);
        }
    }
}
