//! Dense layers: the forward product, the gradient by the input, and the gradient by the weights.

pub(crate) mod affine;
mod affine_narrow;
pub(crate) mod delta;
pub(crate) mod outer;
mod outer_staged;

use super::arena::StackArena;
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
    /// Writes the product of what is read with `layer` to `outputs`.
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
    /// Sends the gradient `above` by what `layer` gave on to what was read.
    pub(super) fn send(&self, layer: &Dense, above: &CubeTensor) {
        if let Some(below) = &self.below {
            delta(self.flow.arena(), layer, above, below, self.flow.part);
        }
    }

    /// Brings the gradient of `layer`, whose outputs stand `skip` places after their inputs, to the sink.
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
