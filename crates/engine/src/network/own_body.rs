//! The body of a network without layers: a model that differentiates itself.

use crate::error::EngineError;
use std::any::Any;
use std::fmt::Debug;

/// A model of a user's own, fitted to a dataset, as the processor trains it: a row at a time, from numbers to numbers.
pub(crate) trait OwnBody: Any + Debug + Send + Sync {
    /// Draws one initial model, `[P_pad]`.
    fn initialise(&self, seed: u64, row: u32) -> Vec<f32>;

    /// The outputs `[B, C]` of the model `row` `[P_pad]` for `batch` examples `x` `[B, D]`.
    ///
    /// # Errors
    /// Those of the model.
    fn outputs(&self, row: &[f32], x: &[f32], batch: usize) -> Result<Vec<f32>, EngineError>;

    /// As [`OwnBody::outputs`], and keeps what the backward pass needs.
    ///
    /// # Errors
    /// Those of the model.
    fn pass(&self, row: &[f32], x: &[f32], batch: usize) -> Result<Box<dyn OwnPass>, EngineError>;
}

/// The outputs of one row, and the backward pass from them.
pub(crate) trait OwnPass {
    /// The outputs, `[B, C]`.
    fn outputs(&self) -> Vec<f32>;

    /// Adds the gradient by the parameters to `gradient` `[P_pad]`, given the gradient `slopes` `[B, C]` by the outputs.
    fn back(self: Box<Self>, slopes: Vec<f32>, gradient: &mut [f32]);
}
