//! Slow and simple reference gradients, against which both trainers are tested.
//!
//! [`plain`] is a loop over examples in double precision, transcribed from the formulas. `autodiff` (with the feature `own-models`) uses burn's
//! automatic differentiation on views of a row, laid out as in a stack. Both have a variant with dropout.
//!
//! Examples `x` are `[B, D]` as they are stored: numbers channel by channel, tokens by their index. With
//! `T` [judged positions](crate::Network::positions), the targets are `[B, T]`, one example after the other: the labels
//! `[B]` of networks that judge one position, the token that follows each token of a window otherwise.
//!
//! Both support layers only: they panic on a model of a user's own.

#[cfg(feature = "own-models")]
mod autodiff;
mod channels;
mod plain;

#[cfg(feature = "own-models")]
pub use autodiff::{autodiff, autodiff_with_dropout};
pub use plain::{plain, plain_outputs, plain_pull_back, plain_representations, plain_with_dropout};
