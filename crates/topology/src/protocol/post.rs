//! What a node sends in one turn.

use std::rc::Rc;

use super::coordinates::{Address, Slot};
use super::message::{Message, Search};
use super::node::Node;
use super::table::Table;

/// The messages of one turn; those that carry the sender's table are written when the turn ends, so that they carry
/// the newest.
#[derive(Debug, Default)]
pub(super) struct Post {
    discoveries: Vec<(Address, Search)>,
    found: Option<Search>,
    connects: Vec<(Address, Slot)>,
    answer: Option<Address>,
    displaced: Vec<Address>,
    heartbeats: bool,
    farewell: bool,
    /// The node has nobody left to ask and looks for a member as if it joined.
    pub(super) seeks_member: bool,
    /// The turn changed the node's neighbours.
    pub(super) changed: bool,
}

impl Post {
    pub(super) fn discover(&mut self, to: Address, search: Search) {
        self.discoveries.push((to, search));
    }

    /// Tells the origin of `search` that it ended here.
    pub(super) fn found(&mut self, search: Search) {
        self.found = Some(search);
    }

    pub(super) fn connect(&mut self, to: Address, slot: Slot) {
        self.connects.push((to, slot));
    }

    pub(super) fn answer(&mut self, to: Address) {
        self.answer = Some(to);
    }

    pub(super) fn displace(&mut self, from_its_slot: Address) {
        self.displaced.push(from_its_slot);
    }

    /// A heartbeat to every neighbour.
    pub(super) fn heartbeats(&mut self) {
        self.heartbeats = true;
    }

    /// A farewell to every neighbour.
    pub(super) fn farewell(&mut self) {
        self.farewell = true;
    }

    /// Writes the messages of `node`, to whom each, and empties the post.
    pub(super) fn write(&mut self, node: &mut Node, letters: &mut Vec<(Address, Message)>) {
        if self.changed {
            node.renew_table();
        }
        let table = |node: &Node| Rc::clone(&node.table);
        for (to, search) in self.discoveries.drain(..) {
            letters.push((to, Message::Discovery(search)));
        }
        if let Some(search) = self.found.take() {
            let table = table(node);
            letters.push((search.origin, Message::Found { search, table }));
        }
        for (to, slot) in self.connects.drain(..) {
            let table = table(node);
            letters.push((to, Message::Connect { slot, table }));
        }
        for to in self.displaced.drain(..) {
            // Whoever is answered reads of it there.
            if self.answer != Some(to) {
                letters.push((to, Message::Displaced { table: table(node) }));
            }
        }
        if let Some(to) = self.answer.take() {
            letters.push((to, Message::Answer { table: table(node) }));
        }
        let kind: Option<fn(Rc<Table>) -> Message> = match (self.farewell, self.heartbeats) {
            (true, _) => Some(|table| Message::Leave { table }),
            (false, true) => Some(|table| Message::Heartbeat { table }),
            (false, false) => None,
        };
        if let Some(kind) = kind {
            letters.extend(node.contacts().map(|to| (to, kind(table(node)))));
        }
        *self = Self {
            discoveries: std::mem::take(&mut self.discoveries),
            connects: std::mem::take(&mut self.connects),
            displaced: std::mem::take(&mut self.displaced),
            ..Self::default()
        };
    }
}
