//! What nodes tell each other.

use std::rc::Rc;

use super::coordinates::{Address, Side, Slot};
use super::table::Table;

/// A message from one node to another.
#[derive(Clone, Debug)]
pub(super) enum Message {
    /// A query on its way to a place on a ring, handed on by node after node.
    Discovery(Search),
    /// The query has come to the node nearest to the place, the sender.
    Found { search: Search, table: Rc<Table> },
    /// "You may be my neighbour in `slot`"; is answered.
    Connect { slot: Slot, table: Rc<Table> },
    /// The answer: whether the sender has taken its reader stands in its table.
    Answer { table: Rc<Table> },
    /// "A nearer node has taken your place": the reader finds it in the table.
    Displaced { table: Rc<Table> },
    /// "I am alive, and these are my neighbours."
    Heartbeat { table: Rc<Table> },
    /// "I leave, and these were my neighbours."
    Leave { table: Rc<Table> },
}

/// A query for neighbours on one ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Search {
    /// Who asks, and at whose coordinate the place is.
    pub(super) origin: Address,
    pub(super) space: usize,
    pub(super) sought: Sought,
    /// How often the query was sent.
    pub(super) hops: u32,
}

/// What a query is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sought {
    /// The nodes around the place; it is approached from both sides.
    Place,
    /// The neighbour on one side; the place is approached from that side.
    Neighbour(Side),
}
