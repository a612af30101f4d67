//! Vectors of tokens by loops.

use crate::network::layer::Embedding;

/// `y_t = w[x_t]`: the row of the token at each position.
pub(super) fn forward(layer: &Embedding, row: &[f64], x: &[f64]) -> Vec<f64> {
    let vector = |token: &f64| &row[vector_of(layer, *token)];
    x.iter().flat_map(vector).copied().collect()
}

/// `∂L/∂w[v] = Σ_{t: x_t = v} ∂L/∂y_t`. Tokens have no gradient, so that with respect to the input is zero.
pub(super) fn backward(
    layer: &Embedding,
    x: &[f64],
    slopes: &[f64],
    gradient: &mut [f64],
) -> Vec<f64> {
    for (token, slopes) in x.iter().zip(slopes.chunks_exact(layer.width)) {
        super::accumulate::accumulate(&mut gradient[vector_of(layer, *token)], slopes);
    }
    vec![0.0; x.len()]
}

/// Where the vector of `token` lies in a row.
fn vector_of(layer: &Embedding, token: f64) -> std::ops::Range<usize> {
    let first = layer.weight.start + token as usize * layer.width;
    first..first + layer.width
}
