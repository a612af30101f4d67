//! Long short-term memory (LSTM) by burn, position by position.

use super::views::Views;
use crate::network::layer::Lstm;
use burn::tensor::{Tensor, activation};

/// The hidden states at all positions of `x` `[B, D]`.
pub(super) fn remember(layer: &Lstm, x: Tensor<2>, views: &mut Views<'_>) -> Tensor<2> {
    let [batch, _] = x.dims();
    let gates = 4 * layer.hidden;
    let input_weight = views.parameter(&layer.input_weight, [layer.inputs, gates]);
    let hidden_weight = views.parameter(&layer.hidden_weight, [layer.hidden, gates]);
    let bias = views.parameter(&layer.bias, [1, gates]);
    let zeros = vec![0.0; batch * layer.hidden];
    let mut hidden = views.constant(&zeros, [batch, layer.hidden]);
    let mut cell = hidden.clone();
    let mut states = Vec::new();
    for at in 0..layer.positions {
        let input = x.clone().narrow(1, at * layer.inputs, layer.inputs);
        let sum = input.matmul(input_weight.clone())
            + hidden.matmul(hidden_weight.clone())
            + bias.clone();
        let gate = |number: usize| sum.clone().narrow(1, number * layer.hidden, layer.hidden);
        cell = activation::sigmoid(gate(1)) * cell + activation::sigmoid(gate(0)) * gate(2).tanh();
        hidden = activation::sigmoid(gate(3)) * cell.clone().tanh();
        states.push(hidden.clone());
    }
    Tensor::cat(states, 1)
}
