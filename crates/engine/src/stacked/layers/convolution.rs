//! Convolutions: the forward product, the gradient by the input, and the gradient by the weights.

pub(crate) mod convolve;
pub(crate) mod convolve_delta;
mod convolve_lines;
pub(crate) mod convolve_outer;
mod convolve_outer_by_example;
mod outer_tiles;
mod span;

use super::arena::StackArena;
use super::{Back, Forth, StackedLayer};
use crate::network::layer::Convolution;
use convolve::Convolve;
use convolve_delta::convolve_delta;
use convolve_outer::convolve_outer;

impl StackedLayer for Convolution {
    fn forward(&self, forth: &Forth<'_>) {
        let StackArena { models, width } = forth.flow.arena();
        let convolve = Convolve {
            models,
            width,
            layer: self,
            inputs: forth.inputs,
            shared: forth.shared,
            relu: forth.relu,
        };
        convolve.launch(forth.flow.part, forth.outputs);
    }

    fn backward(&self, back: &Back<'_>) {
        let (arena, part) = (back.flow.arena(), back.flow.part);
        if let Some(below) = &back.below {
            convolve_delta(arena, self, back.above, below, part);
        }
        convolve_outer(self, back.inputs, back.above, back.sink, part);
    }
}
