//! Closing the gaps that failed neighbours leave.
//!
//! # Source
//! Hua et al., Section 4.1: each node stores its two-hop neighbours, and the two nodes beside a failed one connect.
//!
//! # Interpretation
//! The paper repairs single failures. Where the node beyond has failed as well, a node seeks its neighbour by greedy
//! routing towards its own coordinate, on the side of the gap, from a neighbour drawn at random; the node beyond the gap
//! does the same from the other side. While rings are torn a query may end too early, so a neighbour found in this way is
//! sought again at every heartbeat until so many queries in a row, see [`CONFIRMATIONS`], found it again.

use rand::RngExt;

use super::clock::Time;
use super::coordinates::{Address, Slot};
use super::message::{Search, Sought};
use super::node::{Node, Turn};
use super::repair_state::CONFIRMATIONS;

/// How many nodes in a row may turn out to have a nearer neighbour, before the neighbour is sought by routing.
const REFUSALS: u8 = 1;

impl Node {
    /// Fills the slots of a failed neighbour: asks the node beyond it, or seeks one.
    pub(super) fn replace(&mut self, failed: Address, turn: &mut Turn<'_>) {
        let (slots, table) = self.remove(failed, turn);
        for slot in slots {
            let beyond = table.as_ref().and_then(|table| table.at(slot));
            match beyond.filter(|&beyond| self.is_candidate(beyond)) {
                Some(beyond) => self.ask(slot, beyond, turn),
                None => self.seek(slot, turn),
            }
        }
    }

    /// Seeks the neighbour in `slot` by greedy routing, which starts at a neighbour drawn at random.
    pub(super) fn seek(&mut self, slot: Slot, turn: &mut Turn<'_>) {
        let contacts = self.contact_tables();
        if contacts.is_empty() {
            turn.post.seeks_member = true;
            return;
        }
        let start = contacts[turn.draws.random_range(0..contacts.len())].address;
        self.seek_from(start, slot, turn);
    }

    /// A node that was asked has `nearer` in this node's place. Asks that one; or seeks by routing from there, because
    /// being sent from one node to the next along the ring may take long.
    pub(super) fn refused(&mut self, slot: Slot, nearer: Address, turn: &mut Turn<'_>) {
        let repair = &mut self.repairs[slot.index()];
        repair.refusals = repair.refusals.saturating_add(1);
        if repair.refusals > REFUSALS {
            self.seek_from(nearer, slot, turn);
        } else {
            self.ask(slot, nearer, turn);
        }
    }

    fn seek_from(&mut self, start: Address, slot: Slot, turn: &mut Turn<'_>) {
        let is_empty = self.at(slot).is_none();
        let repair = &mut self.repairs[slot.index()];
        repair.wait_until(turn.now.after(turn.heartbeat));
        repair.refusals = 0;
        if is_empty {
            repair.confirmations = CONFIRMATIONS;
        }
        let search = Search {
            origin: self.address,
            space: slot.space,
            sought: Sought::Neighbour(slot.side),
            hops: 1,
        };
        turn.post.discover(start, search);
    }

    /// Gives up those who did not answer, and seeks again where a slot is empty or not confirmed.
    pub(super) fn review_repairs(&mut self, turn: &mut Turn<'_>) {
        let (now, heartbeat) = (turn.now, turn.heartbeat);
        let is_over = |since: Time| now.since(since) >= heartbeat;
        for slot in self.slots() {
            let asked = self.repairs[slot.index()].asked;
            if let Some((asked, _)) = asked.filter(|&(_, since)| is_over(since)) {
                self.give_up(asked);
                self.repairs[slot.index()].asked = None;
            }
            let repair = &self.repairs[slot.index()];
            let is_open = self.at(slot).is_none() || repair.confirmations > 0;
            if is_open && repair.asked.is_none() && turn.now >= repair.search_after {
                self.seek(slot, turn);
            }
        }
    }
}
