//! The mean over a grid by loops.

use crate::network::layer::Grid;

/// `y_c = 1/m Σ_p x[p, c]` over the `m` places of the grid.
pub(super) fn forward(grid: &Grid, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; grid.channels];
    for x in x.chunks_exact(grid.channels) {
        super::accumulate::accumulate(&mut y, x);
    }
    y.iter_mut().for_each(|y| *y /= grid.places() as f64);
    y
}

/// `∂L/∂x[p, c] = 1/m ∂L/∂y_c`.
pub(super) fn backward(grid: &Grid, slopes: &[f64]) -> Vec<f64> {
    let share = |slope: &f64| slope / grid.places() as f64;
    let shares: Vec<f64> = slopes.iter().map(share).collect();
    shares.repeat(grid.places())
}
