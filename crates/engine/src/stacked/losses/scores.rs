//! Sums of what examples were judged to be, per row.

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

/// Sums `losses` and `hits` `[rows, table, positions]` into the sums `[chunks, R]`, whose chunk begins at `first`.
pub(crate) fn scores(
    (losses, hits, counts): (&CubeTensor, &CubeTensor, &CubeTensor),
    (loss_sums, hit_sums): (&CubeTensor, &CubeTensor),
    part: &Part,
    (first, positions): (usize, usize),
) {
    let (count, dim) = line(&losses.client, part.rows);
    moves(2 * part.places() * positions, 2 * part.rows);
    scores_kernel::launch(
        &losses.client,
        count,
        dim,
        losses.clone().into_buffer_arg(),
        hits.clone().into_buffer_arg(),
        counts.clone().into_buffer_arg(),
        loss_sums.clone().into_buffer_arg(),
        hit_sums.clone().into_buffer_arg(),
        part.argument(),
        first,
        positions,
    );
}
