//! Gradients the slow and certain way: what both trainers are held against.
//!
//! [`plain`] is a loop over examples in double precision, transcribed from the formulas; [`autodiff`] asks burn's
//! automatic differentiation over views of a row, laid out as in a stack. Both can leave out what a training step does.
//!
//! Examples `x` are `[B, D]` as they are stored: numbers channel by channel, tokens as their numbers. With
//! `T` [judged positions](crate::Network::positions), the targets are `[B, T]`, one example after the other: the labels
//! `[B]` of networks that judge one position, the token that follows each token of a window otherwise.
//!
//! Both know layers alone: they panic if they are given a model of a user's own.

#[cfg(feature = "own-models")]
mod autodiff;
mod channels;
mod plain;

#[cfg(feature = "own-models")]
pub use autodiff::{autodiff, autodiff_with_dropout};
pub use plain::{plain, plain_with_dropout};
