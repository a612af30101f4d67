//! The loss of outputs, computed by burn.

use crate::network::Network;
use crate::network::loss::Loss;
use crate::network::model::Targets;
use burn::tensor::{Int, Tensor, TensorData, activation};

/// Mean loss of the outputs `[B, T · width]` of `network` against `targets` `[B, T]`.
pub(super) fn mean_loss(network: &Network, outputs: Tensor<2>, targets: &[u16]) -> Tensor<1> {
    let count = targets.len();
    let outputs = outputs.reshape([count, network.outputs()]);
    let sum = match network.loss() {
        Loss::CrossEntropy => cross_entropy(outputs, targets),
        Loss::Sigmoid => {
            // −ln σ(±z), with the sign of the label.
            let signs = values(&outputs, targets) * 2.0 - 1.0;
            activation::log_sigmoid(outputs * signs).sum().neg()
        }
        Loss::SquaredError(Targets::Value) => {
            let errors = outputs.clone() - values(&outputs, targets);
            (errors.clone() * errors).sum() * 0.5
        }
        Loss::SquaredError(Targets::OneHot) => {
            let errors = outputs.clone() - one_hot(&outputs, targets);
            (errors.clone() * errors).sum() * 0.5
        }
    };
    sum / count as f64
}

fn cross_entropy(outputs: Tensor<2>, targets: &[u16]) -> Tensor<1> {
    let chosen: Vec<i64> = targets.iter().map(|target| i64::from(*target)).collect();
    let chosen = TensorData::new(chosen, [targets.len(), 1]);
    let chosen = Tensor::<2, Int>::from_data(chosen, &outputs.device());
    activation::log_softmax(outputs, 1)
        .gather(1, chosen)
        .sum()
        .neg()
}

/// The targets as numbers, `[B · T, 1]`.
fn values(outputs: &Tensor<2>, targets: &[u16]) -> Tensor<2> {
    let values: Vec<f32> = targets.iter().map(|target| f32::from(*target)).collect();
    Tensor::from_data(
        TensorData::new(values, [targets.len(), 1]),
        &outputs.device(),
    )
}

/// One for the target and zero for the other outputs, `[B · T, width]`.
fn one_hot(outputs: &Tensor<2>, targets: &[u16]) -> Tensor<2> {
    let [count, width] = outputs.dims();
    let mut values = vec![0.0f32; count * width];
    for (row, target) in values.chunks_exact_mut(width).zip(targets) {
        row[usize::from(*target)] = 1.0;
    }
    Tensor::from_data(TensorData::new(values, [count, width]), &outputs.device())
}
