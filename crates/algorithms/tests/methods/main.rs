//! Methods, against transcriptions in double precision, the papers and each other.
#![allow(clippy::unwrap_used)]

#[macro_use]
mod support;

mod chains;
mod consensus;
mod corrected;
mod gossip;
mod lost;
mod masked;
mod private_values;
mod quantised;
mod reductions;
mod resume;
mod rounds;
mod servers;
mod stragglers;
mod traffic;
mod walks;
