//! A convolution by loops.

use super::covered::covered;
use crate::network::layer::Convolution;

/// `y[p, o] = b[o] + Σ_{q, c} x[s·p + q − padding, c] w[q, c, o]`, where `q` runs over the window, `s` is the stride,
/// and `x` is zero outside the grid.
///
/// # Source
/// Dumoulin and Visin, A guide to convolution arithmetic for deep learning (2016), relationship 6.
pub(super) fn forward(layer: &Convolution, row: &[f64], x: &[f64]) -> Vec<f64> {
    let (inputs, outputs) = (layer.input.channels, layer.output.channels);
    let mut result = Vec::new();
    for place in 0..layer.output.places() {
        let mut y = match layer.bias.clone() {
            Some(bias) => row[bias].to_vec(),
            None => vec![0.0; outputs],
        };
        for (within, at) in covered(&layer.window, &layer.input, place, layer.output.width) {
            for (channel, value) in x[at * inputs..][..inputs].iter().enumerate() {
                let first = layer.weight.start + (within * inputs + channel) * outputs;
                for (y, weight) in y.iter_mut().zip(&row[first..first + outputs]) {
                    *y += value * weight;
                }
            }
        }
        result.extend(y);
    }
    result
}

/// `∂L/∂w[q, c, o] = Σ_p x[s·p + q − padding, c] ∂L/∂y[p, o]`, and `∂L/∂x` gathers
/// `Σ_o w[q, c, o] ∂L/∂y[p, o]` from every window that covers a place.
pub(super) fn backward(
    layer: &Convolution,
    row: &[f64],
    x: &[f64],
    slopes: &[f64],
    gradient: &mut [f64],
) -> Vec<f64> {
    let (inputs, outputs) = (layer.input.channels, layer.output.channels);
    let mut by_input = vec![0.0; x.len()];
    for (place, slopes) in slopes.chunks_exact(outputs).enumerate() {
        for (within, at) in covered(&layer.window, &layer.input, place, layer.output.width) {
            for channel in 0..inputs {
                let value = at * inputs + channel;
                let first = layer.weight.start + (within * inputs + channel) * outputs;
                for (weight, slope) in (first..first + outputs).zip(slopes) {
                    gradient[weight] += x[value] * slope;
                    by_input[value] += row[weight] * slope;
                }
            }
        }
    }
    by_input
}
