//! Stacks and the trainer of the processor, against transcriptions in double precision, the oracle and PyTorch.
#![allow(clippy::unwrap_used)]

mod gradients;
mod one_output;
mod own_refused;
mod precision;
mod pytorch;
mod random_architectures;
mod scores;
#[path = "../support/mod.rs"]
mod support;
mod training;
mod verbs;
