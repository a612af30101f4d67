//! Means over a grid, of one example.

use crate::blocked::pass::target::Target;
use crate::network::layer::Grid;

/// Writes the mean of every channel.
pub(crate) fn mean(grid: &Grid, x: &[f32], out: &mut [f32]) {
    out.fill(0.0);
    for place in x[..grid.size()].chunks_exact(grid.channels) {
        out.iter_mut().zip(place).for_each(|(out, x)| *out += x);
    }
    let share = 1.0 / grid.places() as f32;
    out.iter_mut().for_each(|out| *out *= share);
}

/// Gives every place its share of the gradient `d`.
pub(crate) fn mean_back(grid: &Grid, d: &[f32], below: Target<'_>) {
    let Target { gradient, add } = below;
    let share = 1.0 / grid.places() as f32;
    for place in gradient.chunks_exact_mut(grid.channels) {
        for (below, d) in place.iter_mut().zip(d) {
            *below = if add { *below + d * share } else { d * share };
        }
    }
}
