//! What a node knows, and what it does with a message.

use std::collections::BTreeSet;
use std::rc::Rc;

use rand_chacha::ChaCha8Rng;

use super::clock::Time;
use super::coordinates::{Address, Coordinates, Slot};
use super::message::Message;
use super::post::Post;
use super::repair_state::RepairState;
use super::table::Table;

/// A node of the overlay: all that it knows came with messages.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) address: Address,
    /// By slot.
    neighbours: Vec<Option<Address>>,
    /// The neighbours as others are told of them.
    pub(super) table: Rc<Table>,
    /// One entry for each neighbour, however many slots it has.
    contacts: Vec<Contact>,
    /// Nodes that left, or that did not answer.
    gone: BTreeSet<Address>,
    /// By slot.
    pub(super) repairs: Vec<RepairState>,
}

/// A neighbour, as it was last heard of.
#[derive(Clone, Debug)]
pub(super) struct Contact {
    pub(super) address: Address,
    pub(super) heard: Time,
    /// Its neighbours, once it has told of them.
    pub(super) table: Option<Rc<Table>>,
}

/// What a node has at hand when it acts.
pub(super) struct Turn<'a> {
    pub(super) now: Time,
    pub(super) heartbeat: Time,
    pub(super) timeout: Time,
    pub(super) coordinates: &'a Coordinates,
    pub(super) draws: &'a mut ChaCha8Rng,
    pub(super) post: &'a mut Post,
}

impl Node {
    /// A node that knows nobody.
    pub(super) fn new(address: Address, spaces: usize) -> Self {
        let neighbours = vec![None; 2 * spaces];
        Self {
            address,
            table: Rc::new(Table::new(0, &neighbours)),
            neighbours,
            contacts: Vec::new(),
            gone: BTreeSet::new(),
            repairs: vec![RepairState::default(); 2 * spaces],
        }
    }

    /// The neighbour in `slot`.
    pub(super) fn at(&self, slot: Slot) -> Option<Address> {
        self.neighbours[slot.index()]
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        Slot::all(self.neighbours.len() / 2)
    }

    /// The neighbours, each once.
    pub(super) fn contacts(&self) -> impl Iterator<Item = Address> {
        self.contacts.iter().map(|contact| contact.address)
    }

    /// The neighbours, with what they told of their own neighbours.
    pub(super) fn contact_tables(&self) -> &[Contact] {
        &self.contacts
    }

    pub(super) fn is_neighbour(&self, address: Address) -> bool {
        self.contacts().any(|contact| contact == address)
    }

    pub(super) fn is_gone(&self, address: Address) -> bool {
        self.gone.contains(&address)
    }

    /// Whether a node that others speak of may be a neighbour: another one, and not known to be gone.
    pub(super) fn is_candidate(&self, address: Address) -> bool {
        address != self.address && !self.is_gone(address)
    }

    /// Notes that `address` must never be asked or taken again.
    pub(super) fn give_up(&mut self, address: Address) {
        self.gone.insert(address);
    }

    /// Acts on a message.
    ///
    /// One from a node that is gone was overtaken by its farewell, or was sent before it failed.
    pub(super) fn receive(&mut self, from: Address, message: Message, turn: &mut Turn<'_>) {
        if self.is_gone(from) {
            return;
        }
        match message {
            Message::Discovery(search) => self.route(search, turn),
            Message::Found { search, table } => self.found(from, search, &table, turn),
            Message::Connect { slot, table } => self.connected(from, slot, table, turn),
            Message::Answer { table } => self.answered(from, table, turn),
            Message::Displaced { table } => self.read(from, table, turn),
            Message::Heartbeat { table } => self.heartbeat_of(from, table, turn),
            Message::Leave { table } => self.part_from(from, &table, turn),
        }
    }

    /// Puts `neighbour` into `slot` and returns who was there.
    pub(super) fn put(
        &mut self,
        slot: Slot,
        neighbour: Address,
        turn: &mut Turn<'_>,
    ) -> Option<Address> {
        turn.post.changed = true;
        let before = self.neighbours[slot.index()].replace(neighbour);
        if !self.is_neighbour(neighbour) {
            self.contacts.push(Contact {
                address: neighbour,
                heard: turn.now,
                table: None,
            });
        }
        let stays = |before| self.neighbours.contains(&Some(before));
        if let Some(before) = before.filter(|before| !stays(*before)) {
            self.contacts.retain(|contact| contact.address != before);
        }
        before
    }

    /// Notes that `from` was heard, and keeps its table if that is newer than the known one. Returns whether the table
    /// was new.
    pub(super) fn hear(&mut self, from: Address, table: Rc<Table>, now: Time) -> bool {
        let Some(contact) = self
            .contacts
            .iter_mut()
            .find(|contact| contact.address == from)
        else {
            return true;
        };
        contact.heard = now;
        let is_younger = |known: &Rc<Table>| known.version < table.version;
        let news = contact.table.as_ref().is_none_or(is_younger);
        if news {
            contact.table = Some(table);
        }
        news
    }

    /// Takes a neighbour that is gone out of its slots. Returns these slots, and the neighbour's table if it is known.
    pub(super) fn remove(
        &mut self,
        gone: Address,
        turn: &mut Turn<'_>,
    ) -> (Vec<Slot>, Option<Rc<Table>>) {
        self.give_up(gone);
        let slots: Vec<Slot> = self
            .slots()
            .filter(|slot| self.at(*slot) == Some(gone))
            .collect();
        for slot in &slots {
            self.neighbours[slot.index()] = None;
            turn.post.changed = true;
        }
        let place = self
            .contacts
            .iter()
            .position(|contact| contact.address == gone);
        let contact = place.map(|place| self.contacts.remove(place));
        (slots, contact.and_then(|contact| contact.table))
    }

    /// The clock starts anew: all neighbours were just heard, and nothing is under way.
    pub(super) fn start_clock(&mut self) {
        for contact in &mut self.contacts {
            contact.heard = Time::default();
        }
        self.repairs.fill(RepairState::default());
    }

    /// Renews the table from the present neighbours.
    pub(super) fn renew_table(&mut self) {
        self.table = Rc::new(Table::new(self.table.version + 1, &self.neighbours));
    }
}
