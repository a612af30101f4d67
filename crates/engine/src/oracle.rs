//! Gradients the slow and certain way: what both trainers are held against.
//!
//! [`plain`] is a loop over examples in double precision, transcribed from the formulas; [`autodiff`] asks burn's
//! automatic differentiation over views of a row, laid out as in a stack. Both can leave out what a training step does.

use crate::dropout::Dropout;
use crate::loss::Loss;
use crate::model::Targets;
use crate::network::Network;
use burn::tensor::{Device, Int, Tensor, TensorData, activation};

/// Mean loss and its gradient `[P_pad]` for one model `row` `[P_pad]` on examples `x` `[B, D]` with `labels` `[B]`.
///
/// Loops in f64; the padding of the gradient is zero.
pub fn plain(network: &Network, row: &[f64], x: &[f64], labels: &[u16]) -> (f64, Vec<f64>) {
    plain_with_dropout(network, row, (x, labels), None)
}

/// As [`plain`] for a training step that leaves out what `dropout` says.
pub fn plain_with_dropout(
    network: &Network,
    row: &[f64],
    (x, labels): (&[f64], &[u16]),
    dropout: Option<&Dropout>,
) -> (f64, Vec<f64>) {
    let mut gradient = vec![0.0; row.len()];
    let mut loss = 0.0;
    let scale = 1.0 / labels.len() as f64;
    for (example, (x, label)) in x.chunks_exact(network.inputs()).zip(labels).enumerate() {
        let factor = |layer: usize, unit: usize| {
            let units = network.layers()[layer].outputs;
            dropout.map_or(1.0, |dropout| {
                f64::from(dropout.factor(layer as u32, (example * units + unit) as u32))
            })
        };
        let outputs = forward(network, row, x, &factor);
        let (cost, mut delta) = judge(network.loss(), &outputs[outputs.len() - 1], *label);
        loss += cost * scale;
        delta.iter_mut().for_each(|delta| *delta *= scale);
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
            let bias = layer.bias.clone().unwrap_or_default();
            for (gradient, delta) in gradient[bias].iter_mut().zip(&delta) {
                *gradient += delta;
            }
            if index == 0 {
                break;
            }
            // The slope of ReLU at zero is taken as zero.
            for (unit, (delta, value)) in below.iter_mut().zip(input).enumerate() {
                let slope = if *value > 0.0 { 1.0 } else { 0.0 };
                *delta *= slope * factor(index - 1, unit);
            }
            delta = below;
        }
    }
    (loss, gradient)
}

/// Output of every layer for one example; after ReLU and dropout but for the last.
fn forward(
    network: &Network,
    row: &[f64],
    x: &[f64],
    factor: &dyn Fn(usize, usize) -> f64,
) -> Vec<Vec<f64>> {
    let mut outputs: Vec<Vec<f64>> = Vec::new();
    for (index, layer) in network.layers().iter().enumerate() {
        let input = outputs.last().map_or(x, Vec::as_slice);
        let zeros = || vec![0.0; layer.outputs];
        let mut output = layer.bias_of(row).map_or_else(zeros, <[f64]>::to_vec);
        for (i, value) in input.iter().enumerate() {
            let weights = &row[layer.weight.clone()][i * layer.outputs..][..layer.outputs];
            for (output, weight) in output.iter_mut().zip(weights) {
                *output += value * weight;
            }
        }
        if index + 1 < network.layers().len() {
            for (unit, value) in output.iter_mut().enumerate() {
                *value = value.max(0.0) * factor(index, unit);
            }
        }
        outputs.push(output);
    }
    outputs
}

/// Loss of one example and its gradient by the outputs.
fn judge(loss: Loss, outputs: &[f64], label: u16) -> (f64, Vec<f64>) {
    let class = usize::from(label);
    match loss {
        Loss::CrossEntropy => {
            let largest = outputs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = outputs.iter().map(|logit| (logit - largest).exp()).sum();
            let softmax = outputs.iter().map(|logit| (logit - largest).exp() / sum);
            let mut delta: Vec<f64> = softmax.collect();
            delta[class] -= 1.0;
            (sum.ln() + largest - outputs[class], delta)
        }
        Loss::Sigmoid => {
            let (z, target) = (outputs[0], f64::from(label));
            let sigmoid = 1.0 / (1.0 + (-z).exp());
            let loss = -target * sigmoid.ln() - (1.0 - target) * (1.0 - sigmoid).ln();
            (loss, vec![sigmoid - target])
        }
        Loss::SquaredError(targets) => {
            let target = |output: usize| match targets {
                Targets::OneHot => f64::from(u8::from(output == class)),
                Targets::Value => f64::from(label),
            };
            let error = |(at, output): (usize, &f64)| output - target(at);
            let delta: Vec<f64> = outputs.iter().enumerate().map(error).collect();
            (
                0.5 * delta.iter().map(|error| error * error).sum::<f64>(),
                delta,
            )
        }
    }
}

/// The same as [`plain`] in f32 by burn's automatic differentiation on the processor.
pub fn autodiff(network: &Network, row: &[f32], x: &[f32], labels: &[u16]) -> (f32, Vec<f32>) {
    autodiff_with_dropout(network, row, (x, labels), None)
}

/// The same as [`plain_with_dropout`] in f32 by burn's automatic differentiation on the processor.
pub fn autodiff_with_dropout(
    network: &Network,
    row: &[f32],
    (x, labels): (&[f32], &[u16]),
    dropout: Option<&Dropout>,
) -> (f32, Vec<f32>) {
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
        hidden = hidden.matmul(weight.clone());
        parameters.push((layer.weight.clone(), weight));
        if let Some(range) = layer.bias.clone() {
            let bias = float(&row[range.clone()], [1, layer.outputs]).require_grad();
            hidden = hidden + bias.clone();
            parameters.push((range, bias));
        }
        if index + 1 < network.layers().len() {
            hidden = activation::relu(hidden);
            if let Some(dropout) = dropout {
                let factors: Vec<f32> = (0..(batch * layer.outputs) as u32)
                    .map(|element| dropout.factor(index as u32, element))
                    .collect();
                hidden = hidden * float(&factors, [batch, layer.outputs]);
            }
        }
    }
    let loss = loss_of(network, hidden, labels);
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

/// Mean loss of `outputs` `[B, outputs]`.
fn loss_of(network: &Network, outputs: Tensor<2>, labels: &[u16]) -> Tensor<1> {
    let (device, batch) = (outputs.device(), labels.len());
    let numbers = || {
        let values: Vec<f32> = labels.iter().map(|label| f32::from(*label)).collect();
        Tensor::<2>::from_data(TensorData::new(values, [batch, 1]), &device)
    };
    let sum = match network.loss() {
        Loss::CrossEntropy => {
            let chosen: Vec<i64> = labels.iter().map(|label| i64::from(*label)).collect();
            let chosen = Tensor::<2, Int>::from_data(TensorData::new(chosen, [batch, 1]), &device);
            activation::log_softmax(outputs, 1)
                .gather(1, chosen)
                .sum()
                .neg()
        }
        Loss::Sigmoid => {
            // −ln σ(±z), the sign being that of the label.
            let signs = numbers() * 2.0 - 1.0;
            activation::log_sigmoid(outputs * signs).sum().neg()
        }
        Loss::SquaredError(Targets::Value) => {
            let errors = outputs - numbers();
            (errors.clone() * errors).sum() * 0.5
        }
        Loss::SquaredError(Targets::OneHot) => {
            let classes = network.classes();
            let mut targets = vec![0.0f32; batch * classes];
            for (row, label) in targets.chunks_exact_mut(classes).zip(labels) {
                row[usize::from(*label)] = 1.0;
            }
            let targets = TensorData::new(targets, [batch, classes]);
            let errors = outputs - Tensor::from_data(targets, &device);
            (errors.clone() * errors).sum() * 0.5
        }
    };
    sum / batch as f64
}
