//! Stacks and the trainer of GPUs, against the processor and the oracle.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used)]

mod layers;
mod ranks;
mod stack;
#[path = "../support/mod.rs"]
mod support;
mod trainer;
