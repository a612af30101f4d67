//! The trial of a user's own model before it is trained: two rows with a few made-up examples.

use crate::error::EngineError;
use meshfold_data::Input;

/// Examples of each row.
pub(super) const TRIED: usize = 3;
/// How far the outputs of a row may differ with and without another row, relative to their size or to one: products of
/// another shape are summed in another order.
const TOLERANCE: f32 = 1e-2;

/// The made-up examples, `[2, TRIED, D]`.
pub(super) fn examples(input: Input, classes: usize) -> Vec<f32> {
    let number = |at: usize| match input {
        Input::Numbers(_) => (at * 7919 % 101) as f32 / 101.0 - 0.5,
        Input::Tokens { .. } => (at * 7919 % classes.max(1)) as f32,
    };
    (0..2 * TRIED * input.features()).map(number).collect()
}

/// The least gradient size that differences are compared with: where terms cancel, only rounding errors are left.
const LEAST_GRADIENT: f32 = 1e-4;

/// Compares the outputs of the second row in `both` `[2, TRIED, C]` with its outputs `alone`. The error calls the
/// model's tensors `arrays`.
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

/// The loss of the second row on its examples, and the gradient of that loss, `[P_pad]`.
#[derive(Debug)]
pub(super) struct TriedStep {
    pub(super) loss: f32,
    pub(super) gradient: Vec<f32>,
}

/// Compares the loss and the gradient of the second row `beside` the first with those of the row `alone`.
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
