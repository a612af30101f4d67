//! Group normalisation by burn.

use super::views::Views;
use crate::network::layer::{GroupNorm, NORM_EPSILON};
use burn::tensor::Tensor;

/// Group normalisation of `x` `[B, D]`.
pub(super) fn normalise(layer: &GroupNorm, x: Tensor<2>, views: &mut Views<'_>) -> Tensor<2> {
    let [batch, size] = x.dims();
    let (places, channels) = (layer.grid.places(), layer.grid.channels);
    let x = x.reshape([batch, places, layer.groups, channels / layer.groups]);
    let mean = |x: Tensor<4>| x.mean_dim(1).mean_dim(3);
    let centred = x.clone() - mean(x);
    let variance = mean(centred.clone() * centred.clone());
    let normal = centred / (variance + NORM_EPSILON).sqrt();
    let factors = views.parameter(&layer.weight, [1, channels]).unsqueeze();
    let offsets = views.parameter(&layer.bias, [1, channels]).unsqueeze();
    let y: Tensor<3> = normal.reshape([batch, places, channels]) * factors + offsets;
    y.reshape([batch, size])
}
