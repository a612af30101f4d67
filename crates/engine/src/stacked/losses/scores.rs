//! Sums of the losses and hits of examples, per row.

use crate::stacked::batches::part::{Part, Slot, examples_of};
use crate::stacked::device::launch::line;
use crate::stacked::device::trace::moves;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit sums the examples of one row, each summed over its positions first.
#[cube(launch)]
fn scores_kernel(
    losses: &[f32],
    hits: &[u32],
    counts: &[u32],
    loss_sums: &mut [f32],
    hit_sums: &mut [u32],
    slot: Slot,
    first: usize,
    positions: usize,
) {
    let row = ABSOLUTE_POS;
    if row >= slot.rows {
        terminate!();
    }
    let count = examples_of(&slot, counts, row);
    let mut loss = 0.0f32;
    let mut hit = 0u32;
    for example in 0..count {
        let first = (row * slot.table + example) * positions;
        let mut own = 0.0f32;
        for at in first..first + positions {
            own += losses[at];
            hit += hits[at];
        }
        loss += own;
    }
    loss_sums[first + slot.first_row + row] = loss;
    hit_sums[first + slot.first_row + row] = hit;
}

/// What is summed, and where the sums go.
pub(crate) struct Scores<'a> {
    /// `[rows, table, positions]`.
    pub(crate) losses: &'a CubeTensor,
    /// `[rows, table, positions]`.
    pub(crate) hits: &'a CubeTensor,
    pub(crate) positions: usize,
    /// `[chunks, R]`.
    pub(crate) loss_sums: &'a CubeTensor,
    /// `[chunks, R]`.
    pub(crate) hit_sums: &'a CubeTensor,
}

impl Scores<'_> {
    /// Sums the losses and hits of `part` into the chunk of sums that begins at `first`.
    pub(crate) fn launch(&self, part: &Part<'_>, first: usize) {
        let (losses, positions) = (self.losses, self.positions);
        let (count, dim) = line(&losses.client, part.rows);
        moves(2 * part.places() * positions, 2 * part.rows);
        scores_kernel::launch(
            &losses.client,
            count,
            dim,
            losses.clone().into_buffer_arg(),
            self.hits.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            self.loss_sums.clone().into_buffer_arg(),
            self.hit_sums.clone().into_buffer_arg(),
            part.argument(),
            first,
            positions,
        );
    }
}
