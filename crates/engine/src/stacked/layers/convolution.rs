//! Convolutions: the forward product, the gradient by the input, and the gradient by the weights.

pub(crate) mod convolve;
pub(crate) mod convolve_delta;
mod convolve_lines;
pub(crate) mod convolve_outer;
mod convolve_outer_by_example;
mod outer_tiles;
mod span;
