//! Stacks and the trainer on the processor, compared with plain double precision, the oracle and PyTorch.
#![allow(clippy::unwrap_used)]

mod augmented;
mod frozen;
#[cfg(feature = "own-models")]
mod gradients;
mod neighbourhoods;
mod one_output;
#[cfg(feature = "own-models")]
mod own_refused;
mod precision;
#[cfg(feature = "own-models")]
mod pytorch;
#[cfg(feature = "own-models")]
mod random_architectures;
mod rates;
#[cfg(feature = "own-models")]
mod representations;
#[cfg(feature = "own-models")]
mod row_examples;
mod scores;
#[path = "../support/mod.rs"]
mod support;
mod training;
mod verbs;
