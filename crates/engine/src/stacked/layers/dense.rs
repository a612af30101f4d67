//! Dense layers: the forward product, and the gradients with respect to the input and to the weights.

pub(crate) mod affine;
mod affine_narrow;
pub(crate) mod delta;
pub(crate) mod outer;
mod outer_staged;

use super::stack_arena::StackArena;
use super::{Backward, Forward, StackedLayer};
use crate::network::layer::Dense;
use affine::Affine;
use burn_cubecl::tensor::CubeTensor;
use delta::delta;
use outer::Outer;

impl Dense {
    /// Number of weights and biases.
    pub(crate) fn parameters(&self) -> usize {
        self.weight.len() + self.bias.as_ref().map_or(0, ExactSizeIterator::len)
    }
}

impl StackedLayer for Dense {
    fn forward(&self, forward: &Forward<'_>) {
        forward.multiply(self, forward.relu, forward.outputs);
    }

    fn backward(&self, backward: &Backward<'_>) {
        backward.send(self, backward.above);
        backward.keep(self, backward.inputs, backward.above, 0);
    }
}

impl Forward<'_> {
    /// Writes the product of the inputs with `layer` to `outputs`.
    pub(super) fn multiply(&self, layer: &Dense, relu: bool, outputs: &CubeTensor) {
        let StackArena { models, width } = self.flow.arena();
        let product = Affine {
            models,
            width,
            layer,
            inputs: self.inputs,
            shared: self.shared,
            relu,
        };
        product.launch(self.flow.part, outputs);
    }
}

impl Backward<'_> {
    /// Given the gradient `above` with respect to the output of `layer`, sends on that with respect to the input.
    pub(super) fn send(&self, layer: &Dense, above: &CubeTensor) {
        if let Some(below) = &self.below {
            delta(self.flow.arena(), layer, above, below, self.flow.part);
        }
    }

    /// Writes the gradient of `layer` to the sink; its outputs are `skip` places after their inputs.
    pub(super) fn keep(
        &self,
        layer: &Dense,
        inputs: &CubeTensor,
        deltas: &CubeTensor,
        skip: usize,
    ) {
        let outer = Outer {
            layer,
            inputs,
            deltas,
            skip,
        };
        outer.launch(self.sink, self.flow.part);
    }
}
