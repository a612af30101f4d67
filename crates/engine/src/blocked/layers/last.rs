//! The last position of a sequence.

use crate::blocked::pass::passes::Entry;
use crate::blocked::pass::stage_io::StageIo;
use crate::network::layer::Grid;

/// Copies the last position of `[T, B, channels]` to `outputs` `[B, channels]`.
pub(crate) fn forward(grid: &Grid, entry: Entry<'_>, outputs: &mut [f32]) {
    let first = (grid.width - 1) * outputs.len();
    outputs.copy_from_slice(&entry.begin()[first..][..outputs.len()]);
}

/// Gives the gradient `d` to the last position and none to the others.
pub(crate) fn backward(grid: &Grid, d: &[f32], io: StageIo<'_>) {
    if let Some(below) = io.below {
        let first = (grid.width - 1) * d.len();
        below[..first].fill(0.0);
        below[first..][..d.len()].copy_from_slice(d);
    }
}
