//! Convolutions: the forward product, the gradient by the input, and the gradient by the weights.

pub(crate) mod convolve;
pub(crate) mod convolve_delta;
pub(crate) mod convolve_outer;
