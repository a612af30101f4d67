//! Convolutions and maxima by burn, which has channels before places.

use super::views::Views;
use crate::network::layer::{Convolution, Grid, MaxPool};
use burn::tensor::ops::{ConvOptions, MaxPoolOptions};
use burn::tensor::{Tensor, module};

/// A convolution of `x` `[B, D]`.
pub(super) fn convolve(layer: &Convolution, x: Tensor<2>, views: &mut Views<'_>) -> Tensor<2> {
    let (window, [inputs, outputs]) =
        (&layer.window, [layer.input.channels, layer.output.channels]);
    let weight = views
        .parameter(&layer.weight, [layer.inner(), outputs])
        .reshape([window.size.0, window.size.1, inputs, outputs])
        .permute([3, 2, 0, 1]);
    let bias = layer.bias.as_ref();
    let bias = bias.map(|bias| views.parameter(bias, [1, outputs]).flatten(0, 1));
    let options = ConvOptions::new(window.stride.into(), window.padding.into(), [1, 1], 1);
    let y = module::conv2d(channels_first(x, &layer.input), weight, bias, options);
    channels_last(y)
}

/// The largest number of each window of `x` `[B, D]`.
pub(super) fn maximum(layer: &MaxPool, x: Tensor<2>) -> Tensor<2> {
    let window = &layer.window;
    let options = MaxPoolOptions::new(window.size.into())
        .with_stride(window.stride.into())
        .with_padding(window.padding.into());
    channels_last(module::max_pool2d(channels_first(x, &layer.input), options))
}

/// `[B, D]` as `[B, channels, height, width]`.
fn channels_first(x: Tensor<2>, grid: &Grid) -> Tensor<4> {
    let [batch, _] = x.dims();
    x.reshape([batch, grid.height, grid.width, grid.channels])
        .permute([0, 3, 1, 2])
}

/// `[B, channels, height, width]` as `[B, D]`.
fn channels_last(y: Tensor<4>) -> Tensor<2> {
    y.permute([0, 2, 3, 1]).flatten(1, 3)
}
