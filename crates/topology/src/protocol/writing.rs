//! Writes the messages that a node posted in one turn.

use std::rc::Rc;

use super::coordinates::Address;
use super::message::Message;
use super::node::Node;
use super::post::Post;
use super::table::Table;

impl Post {
    /// Writes the messages of `node` with their receivers, and empties the post.
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
            // The answer to the same node carries the same table.
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
