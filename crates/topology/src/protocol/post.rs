//! What a node sends in one turn.

use super::coordinates::{Address, Slot};
use super::message::Search;

/// What is to be sent when the turn ends: messages that carry the sender's table then carry the newest.
#[derive(Debug, Default)]
pub(super) struct Post {
    pub(super) discoveries: Vec<(Address, Search)>,
    pub(super) found: Option<Search>,
    pub(super) connects: Vec<(Address, Slot)>,
    pub(super) answer: Option<Address>,
    pub(super) displaced: Vec<Address>,
    pub(super) heartbeats: bool,
    pub(super) farewell: bool,
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
}
