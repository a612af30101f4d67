//! The protocol of the virtual-ring overlay, simulated message by message.
//!
//! A [`Churn`] says how many nodes there are, how long messages take, and who joins, leaves or fails when;
//! [`simulate`] returns a [`ChurnTrace`]: the share of nodes with the correct neighbours over time, and what every event
//! cost. Nodes act only on what messages told them; only the measurement sees all nodes.
//!
//! # Source
//! Hua et al., Section 4 (coordinates, joining by recursive queries) and 4.1 (an error is a node with a wrong neighbour
//! set; repair through stored two-hop neighbours).
//!
//! # Interpretation
//! The paper names the parts of the protocol and leaves its messages open. Chosen here, each with its reason where it is
//! coded: queries go to the known node nearest in the space asked for, two-hop neighbours included (`discovery`);
//! a link is made by a request and its answer, and only if both ends take each other (`connection`); every message
//! that makes or keeps a link carries the sender's neighbours, which is how two-hop neighbours are known (`table`); failures
//! are noticed by silence (`heartbeat`); where two-hop neighbours do not suffice, a node seeks its own place on the ring
//! through those it has left, until what it finds no longer changes (`repair`). The correct neighbours are those on the
//! rings; the random links that fill up the degrees of [`VirtualRings`](crate::VirtualRings) are not part of it.

mod check;
mod churn;
mod clock;
mod connection;
mod coordinates;
mod correct;
mod discovery;
mod error;
mod heartbeat;
mod join;
mod leave;
mod measurement;
mod message;
mod network;
mod node;
mod post;
mod repair;
mod repair_state;
mod simulation;
mod table;
mod trace;
mod writing;

#[cfg(test)]
mod tests;

pub use churn::{Change, Churn, ChurnEvent, Fail, Join, Latency, Leave, Start};
pub use error::ChurnError;
pub use simulation::simulate;
pub use trace::{ChurnSample, ChurnTrace, EventKind, EventRecord, MessageCounts};
