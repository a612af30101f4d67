//! A dense layer by loops.

use crate::network::layer::Dense;

/// `y_j = b_j + Σ_i x_i w_ij` at every place.
pub(super) fn forward(layer: &Dense, row: &[f64], x: &[f64]) -> Vec<f64> {
    let weight = &row[layer.weight.clone()];
    let zeros = || vec![0.0; layer.outputs];
    let mut outputs = Vec::new();
    for x in x.chunks_exact(layer.inputs) {
        let mut y = layer.bias_of(row).map_or_else(zeros, <[f64]>::to_vec);
        for (value, weights) in x.iter().zip(weight.chunks_exact(layer.outputs)) {
            for (y, weight) in y.iter_mut().zip(weights) {
                *y += value * weight;
            }
        }
        outputs.extend(y);
    }
    outputs
}

/// `∂L/∂w_ij = Σ x_i ∂L/∂y_j` over places; `∂L/∂x_i = Σ_j w_ij ∂L/∂y_j`; `∂L/∂b_j = Σ ∂L/∂y_j`, a sum without products.
pub(super) fn backward(
    layer: &Dense,
    row: &[f64],
    x: &[f64],
    slopes: &[f64],
    gradient: &mut [f64],
) -> Vec<f64> {
    let mut by_input = vec![0.0; x.len()];
    let places = x
        .chunks_exact(layer.inputs)
        .zip(slopes.chunks_exact(layer.outputs));
    for ((x, slopes), by_input) in places.zip(by_input.chunks_exact_mut(layer.inputs)) {
        for (i, (value, by_value)) in x.iter().zip(by_input).enumerate() {
            for (j, slope) in slopes.iter().enumerate() {
                let at = layer.weight.start + i * layer.outputs + j;
                gradient[at] += value * slope;
                *by_value += row[at] * slope;
            }
        }
    }
    by_input
}
