//! Loss and gradient by burn's automatic differentiation.

mod convolution;
mod cost;
mod group_norm;
mod lstm;
mod views;

use super::channels::as_read;
use crate::network::Network;
use crate::network::dropout::Dropout;
use crate::network::layer::{Dense, Embedding, Grid, Layer, Node, Source};
use burn::tensor::{Device, Int, Tensor, activation, module};
use views::Views;

/// The same as [`plain`](super::plain) in f32 by burn's automatic differentiation on the processor.
pub fn autodiff(network: &Network, row: &[f32], x: &[f32], targets: &[u16]) -> (f32, Vec<f32>) {
    autodiff_with_dropout(network, row, x, targets, None)
}

/// The same as [`plain_with_dropout`](super::plain_with_dropout) in f32 by burn's automatic differentiation on the
/// processor.
pub fn autodiff_with_dropout(
    network: &Network,
    row: &[f32],
    x: &[f32],
    targets: &[u16],
    dropout: Option<&Dropout>,
) -> (f32, Vec<f32>) {
    let mut views = Views::new(row, Device::flex().autodiff());
    let batch = targets.len() / network.positions();
    let x = views.constant(&as_read(network, x), [batch, network.inputs()]);
    let mut outputs: Vec<Tensor<2>> = Vec::new();
    for node in network.nodes() {
        let mut output = apply(node, &x, &outputs, &mut views);
        if node.relu {
            output = activation::relu(output);
        }
        if let (Some(dropout), Some(left_out)) = (dropout, node.dropout) {
            let shape = [batch, node.output.size()];
            let elements = 0..(shape[0] * shape[1]) as u32;
            let factors: Vec<f32> = elements.map(|at| dropout.factor(left_out, at)).collect();
            output = output * views.constant(&factors, shape);
        }
        outputs.push(output);
    }
    let last = outputs.pop().unwrap_or(x);
    let loss = cost::mean_loss(network, last, targets);
    let gradient = views.gradient(loss.backward());
    (loss.into_scalar::<f32>(), gradient)
}

/// The output `[B, D]` of the layer of `node`, places before channels.
fn apply(node: &Node, x: &Tensor<2>, outputs: &[Tensor<2>], views: &mut Views<'_>) -> Tensor<2> {
    let read = |source| match source {
        Source::Example => x.clone(),
        Source::Node(node) => outputs[node].clone(),
    };
    let input = read(node.source);
    match &node.layer {
        Layer::Dense(layer) => dense(layer, input, views),
        Layer::Convolution(layer) => convolution::convolve(layer, input, views),
        Layer::GroupNorm(layer) => group_norm::normalise(layer, input, views),
        Layer::MaxPool(layer) => convolution::maximum(layer, input),
        Layer::MeanPool(pool) => by_place(input, &pool.grid).mean_dim(1).flatten(1, 2),
        Layer::Add(add) => input + read(add.other),
        Layer::Embedding(layer) => embed(layer, input, views),
        Layer::Lstm(layer) => lstm::remember(layer, input, views),
        Layer::Last(last) => by_place(input, &last.grid)
            .narrow(1, last.grid.places() - 1, 1)
            .flatten(1, 2),
    }
}

/// `[B, D]` as `[B, places, channels]`.
fn by_place(x: Tensor<2>, grid: &Grid) -> Tensor<3> {
    let [batch, _] = x.dims();
    x.reshape([batch, grid.places(), grid.channels])
}

fn dense(layer: &Dense, x: Tensor<2>, views: &mut Views<'_>) -> Tensor<2> {
    let [batch, _] = x.dims();
    let weight = views.parameter(&layer.weight, [layer.inputs, layer.outputs]);
    let mut y = x
        .reshape([batch * layer.places, layer.inputs])
        .matmul(weight);
    if let Some(bias) = &layer.bias {
        y = y + views.parameter(bias, [1, layer.outputs]);
    }
    y.reshape([batch, layer.places * layer.outputs])
}

fn embed(layer: &Embedding, x: Tensor<2>, views: &mut Views<'_>) -> Tensor<2> {
    let weight = views.parameter(&layer.weight, [layer.symbols, layer.width]);
    let tokens: Tensor<2, Int> = x.int();
    module::embedding(weight, tokens).flatten(1, 2)
}
