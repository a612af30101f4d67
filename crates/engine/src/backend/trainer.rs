//! The trait of what trains and scores the rows of a device.

use super::rows::Rows;
use crate::error::EngineError;
use crate::training::activations::Activations;
use crate::training::context::{Context, RowStates};
use crate::training::row_examples::SeenExamples;
use crate::training::score::{Score, Split};
use crate::training::tally::{DeviceLosses, LossSum, RowTally};
use crate::training::trained_layers::TrainedLayers;
use crate::training::work::{Sgd, Tasks};
use std::fmt::Debug;

/// Trains the rows of a device and judges them. [`Learner`](crate::Learner) checks shapes and clients, and says of each
/// method what it does.
///
/// # Errors
/// [`EngineError::OtherDevice`] if rows are of another kind of device, [`EngineError::Device`] if they are more than a kernel
/// of the device can see at once or a run beside this one broke down; those of a model of the user's own.
pub(crate) trait Trainer: Debug + Send {
    /// Runs all local steps of all rows.
    fn train(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        rows: TrainedRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError>;

    /// The mini-batch gradient of every row of `rows.models` at its next batch into `rows.gradients`; zero for idle rows.
    fn gradients(
        &mut self,
        context: Context<'_>,
        states: RowStates<'_>,
        rows: GradientRows<'_>,
        tasks: &Tasks<'_>,
    ) -> Result<(), EngineError>;

    /// The gradient of row `i` on the whole shard of client `clients[i]`.
    fn shard_gradients(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        clients: &[u32],
    ) -> Result<(), EngineError>;

    /// What every row computes of its examples, `[B, T, ...]` each; nothing of a row without examples. Waits for the device.
    fn activations(
        &self,
        context: Context<'_>,
        models: &dyn Rows,
        of: Activations,
        seen: &SeenExamples<'_>,
    ) -> Result<Vec<Vec<f32>>, EngineError>;

    /// The gradient of every row on its examples into `rows.gradients`, clipped as `sgd` says; rows without examples keep zeros.
    /// Returns the losses of the network on them, `[R]`, whatever the slopes.
    fn gradients_on(
        &self,
        context: Context<'_>,
        rows: GradientRows<'_>,
        seen: &SeenExamples<'_>,
        sgd: &Sgd,
    ) -> Result<Vec<LossSum>, EngineError>;

    /// One local step of every row on its examples; rows without examples stay. Returns the losses as [`Trainer::gradients_on`] does.
    fn step_on(
        &mut self,
        context: Context<'_>,
        rows: TrainedRows<'_>,
        seen: &SeenExamples<'_>,
        step: &StepRule<'_>,
    ) -> Result<Vec<LossSum>, EngineError>;

    /// Loss and accuracy of every row on `split`, or on its examples `subset`. Waits for the device.
    fn evaluate(
        &mut self,
        context: Context<'_>,
        models: &dyn Rows,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError>;

    /// Moves the losses that are still on the device to `tallies`. Waits for the device. By default this and what follows have nothing to
    /// do: losses are added to the tallies as steps are made.
    fn collect(&mut self, tallies: &mut [RowTally]) {
        let _ = tallies;
    }

    /// Brings `tallies` up to date with what other processes know of the rows that they have; they may still go on to change.
    fn share(&self, tallies: &mut [RowTally]) {
        let _ = tallies;
    }

    /// Whether losses stay on the device until they are collected; else each call leaves them in the tallies.
    fn keeps_losses(&self) -> bool {
        false
    }

    /// A copy of the losses that are still on the device. Waits for the device.
    fn losses(&self) -> Option<DeviceLosses> {
        None
    }

    /// Whether `losses` can be put back on the device.
    fn can_restore(&self, losses: &DeviceLosses) -> bool {
        let _ = losses;
        false
    }

    /// Replaces the losses that are still on the device.
    fn resume(&mut self, losses: Option<&DeviceLosses>) {
        let _ = losses;
    }
}

/// The rows of a call of [`Trainer::train`], each `[R, P_pad]`.
#[derive(Debug)]
pub(crate) struct TrainedRows<'a> {
    pub(crate) models: &'a mut dyn Rows,
    /// Momentum that outlasts the call; else it begins at zero and is forgotten.
    pub(crate) velocity: Option<&'a mut dyn Rows>,
    /// Added to every gradient.
    pub(crate) correction: Option<&'a dyn Rows>,
    /// Where the rows are pulled to.
    pub(crate) anchor: Option<AnchorRows<'a>>,
}

/// How the rows of a call of [`Trainer::step_on`] step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepRule<'a> {
    pub(crate) sgd: &'a Sgd,
    /// The learning rate of each row, `[R]`.
    pub(crate) rates: &'a [f32],
    /// The layers that move; all if absent.
    pub(crate) layers: Option<&'a TrainedLayers>,
}

/// A pull `mu * (w - anchor)` added to every gradient.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnchorRows<'a> {
    pub(crate) rows: &'a dyn Rows,
    pub(crate) mu: f32,
}

/// The rows of a call that takes gradients, each `[R, P_pad]`.
#[derive(Debug)]
pub(crate) struct GradientRows<'a> {
    pub(crate) models: &'a dyn Rows,
    /// Zeros, which become the gradients.
    pub(crate) gradients: &'a mut dyn Rows,
}
