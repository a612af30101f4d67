//! Maxima over windows by loops.

use super::covered::covered;
use crate::network::layer::MaxPool;

/// `y[p, c] = max_q x[s·p + q − padding, c]` over the places `q` of the window that lie in the grid.
pub(super) fn forward(layer: &MaxPool, x: &[f64]) -> Vec<f64> {
    largest(layer, x).into_iter().map(|at| x[at]).collect()
}

/// Adds each `∂L/∂y` to the gradient of the input that was the largest.
pub(super) fn backward(layer: &MaxPool, x: &[f64], slopes: &[f64]) -> Vec<f64> {
    let mut by_input = vec![0.0; x.len()];
    for (at, slope) in largest(layer, x).into_iter().zip(slopes) {
        by_input[at] += slope;
    }
    by_input
}

/// The index of the largest number of each window and channel; of equal ones, the first in row-major order.
fn largest(layer: &MaxPool, x: &[f64]) -> Vec<usize> {
    let channels = layer.input.channels;
    let mut result = Vec::new();
    for place in 0..layer.output.places() {
        let places = covered(&layer.window, &layer.input, place, layer.output.width);
        for channel in 0..channels {
            let candidates = places.iter().map(|(_, at)| at * channels + channel);
            let larger = |best: usize, at: usize| if x[at] > x[best] { at } else { best };
            let best = candidates.reduce(larger);
            result.push(best.expect("a window covers a place of its grid"));
        }
    }
    result
}
