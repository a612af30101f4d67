//! Gradients the slow and certain way: what both trainers are held against.
//!
//! [`plain`] is a loop over examples in double precision, transcribed from the formulas; [`autodiff`] asks burn's
//! automatic differentiation over views of a row, laid out as in a stack.

use crate::model::Network;
use burn::tensor::{Device, Int, Tensor, TensorData, activation};

/// Mean loss and its gradient `[P_pad]` for one model `row` `[P_pad]` on examples `x` `[B, D]` with `labels` `[B]`.
///
/// Loops in f64; the padding of the gradient is zero.
pub fn plain(network: &Network, row: &[f64], x: &[f64], labels: &[u16]) -> (f64, Vec<f64>) {
    let mut gradient = vec![0.0; row.len()];
    let mut loss = 0.0;
    let scale = 1.0 / labels.len() as f64;
    for (x, label) in x.chunks_exact(network.inputs()).zip(labels) {
        let outputs = forward(network, row, x);
        let logits = &outputs[outputs.len() - 1];
        let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logits.iter().map(|logit| (logit - largest).exp()).sum();
        loss += (sum.ln() + largest - logits[usize::from(*label)]) * scale;
        let mut delta: Vec<f64> = logits
            .iter()
            .map(|logit| (logit - largest).exp() / sum * scale)
            .collect();
        delta[usize::from(*label)] -= scale;
        for (index, layer) in network.layers().iter().enumerate().rev() {
            let input = if index == 0 { x } else { &outputs[index - 1] };
            let mut below = vec![0.0; layer.inputs];
            for (i, value) in input.iter().enumerate() {
                for (j, delta) in delta.iter().enumerate() {
                    let at = layer.weight.start + i * layer.outputs + j;
                    gradient[at] += value * delta;
                    below[i] += row[at] * delta;
                }
            }
            for (gradient, delta) in gradient[layer.bias.clone()].iter_mut().zip(&delta) {
                *gradient += delta;
            }
            // The slope of ReLU at zero is taken as zero.
            delta = below
                .iter()
                .zip(input)
                .map(|(delta, value)| if *value > 0.0 { *delta } else { 0.0 })
                .collect();
        }
    }
    (loss, gradient)
}

/// Output of every layer for one example, after ReLU but for the last.
fn forward(network: &Network, row: &[f64], x: &[f64]) -> Vec<Vec<f64>> {
    let mut outputs: Vec<Vec<f64>> = Vec::new();
    for (index, layer) in network.layers().iter().enumerate() {
        let input = outputs.last().map_or(x, Vec::as_slice);
        let mut output = row[layer.bias.clone()].to_vec();
        for (i, value) in input.iter().enumerate() {
            let weights = &row[layer.weight.clone()][i * layer.outputs..][..layer.outputs];
            for (output, weight) in output.iter_mut().zip(weights) {
                *output += value * weight;
            }
        }
        if index + 1 < network.layers().len() {
            output.iter_mut().for_each(|value| *value = value.max(0.0));
        }
        outputs.push(output);
    }
    outputs
}

/// The same as [`plain`] in f32 by burn's automatic differentiation on the processor.
pub fn autodiff(network: &Network, row: &[f32], x: &[f32], labels: &[u16]) -> (f32, Vec<f32>) {
    let device = Device::flex().autodiff();
    let batch = labels.len();
    let float = |values: &[f32], shape: [usize; 2]| {
        Tensor::<2>::from_data(TensorData::new(values.to_vec(), shape), &device)
    };
    let mut hidden = float(x, [batch, network.inputs()]);
    let mut parameters = Vec::new();
    for (index, layer) in network.layers().iter().enumerate() {
        let weight =
            float(&row[layer.weight.clone()], [layer.inputs, layer.outputs]).require_grad();
        let bias = float(&row[layer.bias.clone()], [1, layer.outputs]).require_grad();
        hidden = hidden.matmul(weight.clone()) + bias.clone();
        if index + 1 < network.layers().len() {
            hidden = activation::relu(hidden);
        }
        parameters.extend([(layer.weight.clone(), weight), (layer.bias.clone(), bias)]);
    }
    let chosen: Vec<i64> = labels.iter().map(|label| i64::from(*label)).collect();
    let chosen = Tensor::<2, Int>::from_data(TensorData::new(chosen, [batch, 1]), &device);
    let loss = activation::log_softmax(hidden, 1)
        .gather(1, chosen)
        .sum()
        .neg()
        / batch as f64;
    let mut gradients = loss.backward();
    let mut gradient = vec![0.0; row.len()];
    for (range, parameter) in parameters {
        let values = parameter
            .grad_remove(&mut gradients)
            .expect("every parameter takes part in the loss");
        let values = values
            .into_data()
            .try_to_vec::<f32>()
            .expect("gradients are f32");
        gradient[range].copy_from_slice(&values);
    }
    (loss.into_scalar::<f32>(), gradient)
}
