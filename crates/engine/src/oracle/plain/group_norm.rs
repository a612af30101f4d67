//! Group normalisation by loops.

use crate::network::layer::{GroupNorm, NORM_EPSILON};

/// `x̂_i = (x_i − μ) / σ` with `μ = 1/m Σ_{k ∈ S} x_k`, `σ² = 1/m Σ_{k ∈ S} (x_k − μ)² + ε`, where `S` is the group of
/// `i` with `m` numbers; `y_i = γ_c x̂_i + β_c`, where `c` is the channel of `i`.
///
/// # Source
/// Wu and He, Group normalization (2018), (1)-(2), (6) and (7).
pub(super) fn forward(layer: &GroupNorm, row: &[f64], x: &[f64]) -> Vec<f64> {
    let (factors, offsets) = (&row[layer.weight.clone()], &row[layer.bias.clone()]);
    let mut y = vec![0.0; x.len()];
    for group in 0..layer.groups {
        let (normal, _) = normalised(layer, x, group);
        for (at, normal) in members(layer, group).zip(normal) {
            let channel = at % layer.grid.channels;
            y[at] = factors[channel] * normal + offsets[channel];
        }
    }
    y
}

/// `∂L/∂γ_c = Σ x̂_i ∂L/∂y_i`, `∂L/∂β_c = Σ ∂L/∂y_i`; with `g_i = γ_c ∂L/∂y_i` and means over the group,
/// `∂L/∂x_i = (g_i − mean g − x̂_i mean (g x̂)) / σ`.
///
/// # Source
/// Ioffe and Szegedy, Batch normalization (2015), section 3, whose six derivatives give this over any set of numbers.
pub(super) fn backward(
    layer: &GroupNorm,
    row: &[f64],
    x: &[f64],
    slopes: &[f64],
    gradient: &mut [f64],
) -> Vec<f64> {
    let mut by_input = vec![0.0; x.len()];
    for group in 0..layer.groups {
        let (normal, deviation) = normalised(layer, x, group);
        let mut by_normal = Vec::new();
        for (at, normal) in members(layer, group).zip(&normal) {
            let channel = at % layer.grid.channels;
            gradient[layer.weight.start + channel] += normal * slopes[at];
            gradient[layer.bias.start + channel] += slopes[at];
            by_normal.push(row[layer.weight.start + channel] * slopes[at]);
        }
        let plain = mean(by_normal.iter().copied());
        let weighted = mean(by_normal.iter().zip(&normal).map(|(g, normal)| g * normal));
        for ((at, normal), slope) in members(layer, group).zip(normal).zip(by_normal) {
            by_input[at] = (slope - plain - normal * weighted) / deviation;
        }
    }
    by_input
}

/// Where the numbers of `group` lie in a grid, place by place.
fn members(layer: &GroupNorm, group: usize) -> impl Iterator<Item = usize> {
    let (channels, each) = (layer.grid.channels, layer.grid.channels / layer.groups);
    let places = 0..layer.grid.places();
    places.flat_map(move |place| (0..each).map(move |of| place * channels + group * each + of))
}

/// The numbers of `group`, scaled to mean 0 and variance 1, and the deviation `σ` that they were divided by.
fn normalised(layer: &GroupNorm, x: &[f64], group: usize) -> (Vec<f64>, f64) {
    let values: Vec<f64> = members(layer, group).map(|at| x[at]).collect();
    let mean_value = mean(values.iter().copied());
    let variance = mean(values.iter().map(|value| (value - mean_value).powi(2)));
    let deviation = (variance + NORM_EPSILON).sqrt();
    let normal = values.iter().map(|value| (value - mean_value) / deviation);
    (normal.collect(), deviation)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}
