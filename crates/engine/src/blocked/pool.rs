//! Maxima and means over a grid, of one example.

use crate::layer::{Grid, MaxPool};

/// The places of the window of output place `(line, place)` that lie in the grid: their number within the window, and
/// where their channels begin.
#[inline(always)]
fn window(layer: &MaxPool, (line, place): (usize, usize), mut visit: impl FnMut(f32, usize)) {
    let (grid, window) = (&layer.input, &layer.window);
    for ky in 0..window.size.0 {
        let Some(y) = (line * window.stride.0 + ky).checked_sub(window.padding.0) else {
            continue;
        };
        for kx in 0..window.size.1 {
            let Some(x) = (place * window.stride.1 + kx).checked_sub(window.padding.1) else {
                continue;
            };
            if y < grid.height && x < grid.width {
                let number = (ky * window.size.1 + kx) as f32;
                visit(number, (y * grid.width + x) * grid.channels);
            }
        }
    }
}

/// Writes the largest number of each window, and keeps which of its places it came from.
#[inline(always)]
pub(super) fn maximum(layer: &MaxPool, x: &[f32], out: &mut [f32], kept: &mut [f32]) {
    let channels = layer.input.channels;
    let outputs = out.chunks_exact_mut(channels);
    for (at, (out, kept)) in outputs.zip(kept.chunks_exact_mut(channels)).enumerate() {
        let place = (at / layer.output.width, at % layer.output.width);
        out.fill(f32::NEG_INFINITY);
        kept.fill(-1.0);
        window(layer, place, |number, begin| {
            let x = &x[begin..][..channels];
            for ((out, kept), x) in out.iter_mut().zip(kept.iter_mut()).zip(x) {
                // The first of equal numbers stays; what is not a number wins.
                let larger = *x > *out || x.is_nan();
                *kept = if larger { number } else { *kept };
                *out = if larger { *x } else { *out };
            }
        });
    }
}

/// Gives the gradient of each maximum to the place it came from, added to what `below` holds if `add`.
#[inline(always)]
pub(super) fn maximum_back(
    layer: &MaxPool,
    kept: &[f32],
    d: &[f32],
    (below, add): (&mut [f32], bool),
) {
    let channels = layer.input.channels;
    if !add {
        below.fill(0.0);
    }
    let outputs = d.chunks_exact(channels).zip(kept.chunks_exact(channels));
    for (at, (d, kept)) in outputs.enumerate() {
        let place = (at / layer.output.width, at % layer.output.width);
        window(layer, place, |number, begin| {
            let below = &mut below[begin..][..channels];
            for ((below, d), kept) in below.iter_mut().zip(d).zip(kept) {
                *below += if *kept == number { *d } else { 0.0 };
            }
        });
    }
}

/// Writes the mean of every channel.
pub(super) fn mean(grid: &Grid, x: &[f32], out: &mut [f32]) {
    out.fill(0.0);
    for place in x[..grid.size()].chunks_exact(grid.channels) {
        out.iter_mut().zip(place).for_each(|(out, x)| *out += x);
    }
    let share = 1.0 / grid.places() as f32;
    out.iter_mut().for_each(|out| *out *= share);
}

/// Gives every place its share of the gradient, added to what `below` holds if `add`.
pub(super) fn mean_back(grid: &Grid, d: &[f32], (below, add): (&mut [f32], bool)) {
    let share = 1.0 / grid.places() as f32;
    for place in below.chunks_exact_mut(grid.channels) {
        for (below, d) in place.iter_mut().zip(d) {
            *below = if add { *below + d * share } else { d * share };
        }
    }
}
