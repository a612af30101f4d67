//! The loss of outputs, computed by its formula.

use crate::network::loss::Loss;
use crate::network::model::Targets;

/// Summed loss of the judged positions of one example, `outputs` `[T, width]` against `targets` `[T]`, and its gradient
/// with respect to the outputs.
pub(super) fn judge(loss: Loss, outputs: &[f64], targets: &[u16]) -> (f64, Vec<f64>) {
    let (mut sum, mut slopes) = (0.0, Vec::new());
    for (outputs, target) in outputs
        .chunks_exact(outputs.len() / targets.len())
        .zip(targets)
    {
        let (cost, by_output) = judge_position(loss, outputs, *target);
        sum += cost;
        slopes.extend(by_output);
    }
    (sum, slopes)
}

/// Loss of one position and its gradient with respect to the outputs.
fn judge_position(loss: Loss, outputs: &[f64], label: u16) -> (f64, Vec<f64>) {
    match loss {
        Loss::CrossEntropy => cross_entropy(outputs, usize::from(label)),
        Loss::Sigmoid => sigmoid(outputs[0], f64::from(label)),
        Loss::SquaredError(targets) => squared_error(targets, outputs, label),
    }
}

/// `ln Σ_j exp z_j − z_class`. Its derivative by `z_j` is the softmax, less one for the class.
fn cross_entropy(outputs: &[f64], class: usize) -> (f64, Vec<f64>) {
    let largest = outputs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = outputs.iter().map(|logit| (logit - largest).exp()).sum();
    let softmax = outputs.iter().map(|logit| (logit - largest).exp() / sum);
    let mut slopes: Vec<f64> = softmax.collect();
    slopes[class] -= 1.0;
    (sum.ln() + largest - outputs[class], slopes)
}

/// `−t ln σ(z) − (1 − t) ln(1 − σ(z))`, whose derivative is `σ(z) − t`.
fn sigmoid(logit: f64, target: f64) -> (f64, Vec<f64>) {
    let sigmoid = 1.0 / (1.0 + (-logit).exp());
    let loss = -target * sigmoid.ln() - (1.0 - target) * (1.0 - sigmoid).ln();
    (loss, vec![sigmoid - target])
}

/// `½ ‖y − target‖²`, whose gradient is `y − target`.
fn squared_error(targets: Targets, outputs: &[f64], label: u16) -> (f64, Vec<f64>) {
    let target = |output: usize| match targets {
        Targets::OneHot => f64::from(u8::from(output == usize::from(label))),
        Targets::Value => f64::from(label),
    };
    let error = |(at, output): (usize, &f64)| output - target(at);
    let slopes: Vec<f64> = outputs.iter().enumerate().map(error).collect();
    let squares = slopes.iter().map(|error| error * error);
    (0.5 * squares.sum::<f64>(), slopes)
}
