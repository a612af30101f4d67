//! Dense layers: the forward product, the gradient by the input, and the gradient by the weights.

pub(crate) mod affine;
pub(crate) mod delta;
pub(crate) mod outer;
