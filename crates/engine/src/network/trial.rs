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
