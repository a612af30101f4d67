//! The gradient with respect to the bias of a dense or convolutional layer.

use super::dense_view::DenseView;
use crate::stacked::gradients::sink::{GradientAction, StepAt, chain_start, store_or_step};
use cubecl::prelude::*;

/// The gradient with respect to one vector of a bias: the sum of `deltas` over the places `from..to` of a row.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn bias_gradient<N: Size>(
    deltas: &[Vector<f32, N>],
    gradients: &mut [Vector<f32, N>],
    models: &mut [Vector<f32, N>],
    velocities: &mut [Vector<f32, N>],
    rates: &[f32],
    step: &StepAt,
    layer: &DenseView,
    entry: usize,
    place: usize,
    column: usize,
    from: usize,
    to: usize,
    #[comptime] action: GradientAction,
) {
    let mut sum = chain_start(gradients, place, action);
    for at in from..to {
        sum += deltas[at * layer.columns + column];
    }
    store_or_step(
        gradients, models, velocities, rates, step, entry, place, sum, action,
    );
}
