//! Shortening rows whose norm is too large.

use super::norms::clip_scales;
use super::scaled::scale_by;
use crate::stacked::device::memory::{cube_mut, tensor};
use burn::tensor::Tensor;

/// `rows_i <- min(1, longest / ‖rows_i‖) · rows_i`, `[R, P_pad]`.
pub(crate) fn shorten(to: Tensor<2>, longest: f32) -> Tensor<2> {
    let [rows, width] = to.dims();
    let to = cube_mut(to);
    let scales = clip_scales(&to, 0..rows, width, longest);
    scale_by(&to, &scales, 0..rows, width);
    tensor(to)
}
