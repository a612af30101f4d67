//! The program as a user meets it: what it is given, what it writes, and how it ends.

#![allow(clippy::unwrap_used)]

mod bad_input;
mod churn;
mod data;
mod devices;
mod failure;
mod interruption;
mod memory;
mod printing;
mod real_data;
mod running;
mod sandbox;
