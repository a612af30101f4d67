//! Stacks and the trainer on GPUs, compared with the processor and the oracle.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used)]

mod layers;
mod ranks;
mod stack;
#[path = "../support/mod.rs"]
mod support;
mod trainer;
