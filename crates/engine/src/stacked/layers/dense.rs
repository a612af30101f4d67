//! Dense layers: the forward product, the gradient by the input, and the gradient by the weights.

pub(crate) mod affine;
mod affine_narrow;
pub(crate) mod delta;
pub(crate) mod outer;
mod outer_staged;

use crate::network::layer::Dense;

impl Dense {
    /// Number of weights and biases.
    pub(crate) fn parameters(&self) -> usize {
        self.weight.len() + self.bias.as_ref().map_or(0, ExactSizeIterator::len)
    }
}
