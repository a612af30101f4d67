//! What a model of a user's own is tried on before it is trained: two rows with some made-up examples.

use crate::error::EngineError;
use meshfold_data::Input;

/// Examples of each row.
pub(super) const TRIED: usize = 3;
/// How far the outputs of a row may differ with what else is in the stack, relative to their size or one: products of
/// another shape are summed in another order.
const TOLERANCE: f32 = 1e-2;

/// The examples `[2, TRIED, D]` that nobody has seen.
pub(super) fn examples(input: Input, classes: usize) -> Vec<f32> {
    let number = |at: usize| match input {
        Input::Numbers(_) => (at * 7919 % 101) as f32 / 101.0 - 0.5,
        Input::Tokens { .. } => (at * 7919 % classes.max(1)) as f32,
    };
    (0..2 * TRIED * input.features()).map(number).collect()
}

/// The least size of a gradient that differences are held against: what cancels out leaves rounding errors alone.
const LEAST_GRADIENT: f32 = 1e-4;

/// Holds the outputs of the second row beside the first, `both` `[2, TRIED, C]`, against its outputs `alone`; `arrays` are what the
/// model computes with.
///
/// # Errors
/// [`EngineError::OwnModel`] if they differ.
pub(super) fn expect_apart(both: &[f32], alone: &[f32], arrays: &str) -> Result<(), EngineError> {
    let beside = &both[alone.len()..];
    let differs =
        |(beside, alone): (&f32, &f32)| (beside - alone).abs() > TOLERANCE * alone.abs().max(1.0);
    match beside.iter().zip(alone).any(differs) {
        false => Ok(()),
        true => Err(EngineError::OwnModel {
            reason: format!(
                "the outputs of a row change with the rows beside it: its {arrays} must keep the rows, their first dimension, apart"
            ),
        }),
    }
}

/// What the second row gave for its examples: its loss, and the gradient of that `[P_pad]`.
#[derive(Debug)]
pub(super) struct TriedStep {
    pub(super) loss: f32,
    pub(super) gradient: Vec<f32>,
}

/// Holds the loss and the gradient of the second row `beside` the first against those of the row `alone`.
///
/// # Errors
/// [`EngineError::OwnModel`] if they differ.
pub(super) fn expect_same_step(beside: &TriedStep, alone: &TriedStep) -> Result<(), EngineError> {
    let sizes = alone.gradient.iter().map(|value| value.abs());
    let most = TOLERANCE * sizes.fold(LEAST_GRADIENT, f32::max);
    let mut pairs = beside.gradient.iter().zip(&alone.gradient);
    let found = match () {
        () if (beside.loss - alone.loss).abs() > TOLERANCE * alone.loss.abs().max(1.0) => {
            "losses of a row change with the rows beside it: each must be the mean over the examples of that row alone"
        }
        () if pairs.any(|(beside, alone)| (beside - alone).abs() > most) => {
            "gradients of a row change with the rows beside it: each must be that of the row's own loss, as it is if the sum of all \
             losses, not their mean, is differentiated"
        }
        () => return Ok(()),
    };
    Err(EngineError::OwnModel {
        reason: format!("the {found}"),
    })
}
