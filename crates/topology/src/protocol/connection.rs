//! How two nodes become neighbours: one asks, the other answers, and each takes the other if that is nearer than its
//! present neighbour.
//!
//! # Interpretation
//! The paper says that nodes connect and leaves open how. Here a node takes another only after hearing from it: a third
//! node may not know that it failed, and only the word of a leaving node counts. Both must take each other, so that a
//! table never names a far neighbour for want of a better one. A node that is refused, or displaced by a nearer one,
//! finds the nearer node in the table that comes with the message, and turns to it. So disagreements between neighbours
//! resolve themselves along the ring.

use std::rc::Rc;

use super::coordinates::{Address, Slot};
use super::node::{Node, Turn};
use super::table::Table;

impl Node {
    /// Whether `candidate` is nearer than the neighbour in `slot`, if there is one.
    pub(super) fn is_nearer(&self, slot: Slot, candidate: Address, turn: &Turn<'_>) -> bool {
        let distance = |to| turn.coordinates.along(slot, self.address, to);
        self.at(slot)
            .is_none_or(|neighbour| distance(candidate) < distance(neighbour))
    }

    /// Takes `neighbour`, which was heard or vouched for, into `slot`.
    pub(super) fn adopt(&mut self, slot: Slot, neighbour: Address, turn: &mut Turn<'_>) {
        let displaced = self.put(slot, neighbour, turn);
        if let Some(displaced) = displaced {
            turn.post.displace(displaced);
        }
        let distance = |to| turn.coordinates.along(slot, self.address, to);
        let limit = distance(neighbour);
        let is_settled = |asked: Address| distance(asked) >= limit;
        self.repairs[slot.index()].taken(is_settled);
    }

    /// Asks `candidate` to be the neighbour in `slot`, unless one as near is being asked.
    pub(super) fn ask(&mut self, slot: Slot, candidate: Address, turn: &mut Turn<'_>) {
        let distance = |to| turn.coordinates.along(slot, self.address, to);
        let repair = &mut self.repairs[slot.index()];
        if repair
            .asked
            .is_some_and(|(asked, _)| distance(asked) <= distance(candidate))
        {
            return;
        }
        repair.asked = Some((candidate, turn.now));
        turn.post.connect(candidate, slot);
    }

    /// Another node asks: takes it if it is nearer, and answers.
    pub(super) fn connected(
        &mut self,
        from: Address,
        slot: Slot,
        table: Rc<Table>,
        turn: &mut Turn<'_>,
    ) {
        let slot = slot.opposite();
        if self.is_nearer(slot, from, turn) {
            self.adopt(slot, from, turn);
        }
        self.read(from, table, turn);
        turn.post.answer(from);
    }

    /// The answer of a node that was asked, or of one that has another neighbour in this node's place.
    pub(super) fn answered(&mut self, from: Address, table: Rc<Table>, turn: &mut Turn<'_>) {
        self.read(from, Rc::clone(&table), turn);
        for slot in self.slots() {
            let asked = self.repairs[slot.index()].asked;
            if asked.is_none_or(|(asked, _)| asked != from) {
                continue;
            }
            self.repairs[slot.index()].asked = None;
            let between = table
                .at(slot.opposite())
                .filter(|&other| self.is_candidate(other) && self.is_nearer(slot, other, turn));
            match between {
                Some(nearer) => self.refused(slot, nearer, turn),
                // Whoever was asked may still have to notice that its neighbour failed, and will then ask in turn.
                None => self.repairs[slot.index()].wait_until(turn.now.after(turn.heartbeat)),
            }
        }
    }

    /// Learns from the table of a node that was just heard.
    pub(super) fn read(&mut self, from: Address, table: Rc<Table>, turn: &mut Turn<'_>) {
        for slot in self.slots() {
            let theirs = table.at(slot.opposite());
            if theirs == Some(self.address) {
                if self.is_nearer(slot, from, turn) {
                    self.adopt(slot, from, turn);
                }
            } else if let Some(theirs) = theirs
                && self.at(slot) == Some(from)
                && self.is_candidate(theirs)
                && self.is_nearer(slot, theirs, turn)
            {
                // Said with every heartbeat as long as it is so, since whoever is asked may be gone. If theirs is farther
                // off, the neighbour takes this node as soon as it hears of it.
                self.ask(slot, theirs, turn);
            }
        }
        if self.hear(from, Rc::clone(&table), turn.now) {
            self.compare(&table, turn);
        }
    }

    /// Asks those of a table that are nearer than the neighbours this node has.
    fn compare(&mut self, table: &Table, turn: &mut Turn<'_>) {
        for slot in self.slots() {
            let distance = |to: &Address| turn.coordinates.along(slot, self.address, *to);
            let Some(mut limit) = self.at(slot).as_ref().map(distance) else {
                continue;
            };
            let mut nearest = None;
            for address in table.addresses() {
                if distance(&address) < limit && self.is_candidate(address) {
                    limit = distance(&address);
                    nearest = Some(address);
                }
            }
            if let Some(nearest) = nearest {
                self.ask(slot, nearest, turn);
            }
        }
    }
}
