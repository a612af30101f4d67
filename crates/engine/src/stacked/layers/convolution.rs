//! Convolutions: the forward product, and the gradients with respect to the input and to the weights.

pub(crate) mod convolve;
pub(crate) mod convolve_delta;
mod convolve_lines;
pub(crate) mod convolve_outer;
mod convolve_outer_by_example;
mod outer_tiles;
mod span;

use super::stack_arena::StackArena;
use super::{Backward, Forward, StackedLayer};
use crate::network::layer::Convolution;
use convolve::Convolve;
use convolve_delta::convolve_delta;
use convolve_outer::convolve_outer;

impl StackedLayer for Convolution {
    fn forward(&self, forward: &Forward<'_>) {
        let StackArena { models, width } = forward.flow.arena();
        let convolve = Convolve {
            models,
            width,
            layer: self,
            inputs: forward.inputs,
            shared: forward.shared,
            relu: forward.relu,
        };
        convolve.launch(forward.flow.part, forward.outputs);
    }

    fn backward(&self, backward: &Backward<'_>) {
        let (arena, part) = (backward.flow.arena(), backward.flow.part);
        if let Some(below) = &backward.below {
            convolve_delta(arena, self, backward.above, below, part);
        }
        convolve_outer(self, backward.inputs, backward.above, backward.sink, part);
    }
}
