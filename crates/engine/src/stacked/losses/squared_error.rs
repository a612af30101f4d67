//! Half the squared distance from a target, and its gradient with respect to the outputs.

use super::loss_kernels::LossKernels;
use crate::network::model::Targets;
use crate::stacked::batches::labels::label_of;
use crate::stacked::batches::part::{Part, Slot, has, loss_of};
use crate::stacked::device::launch::line;
use crate::stacked::device::trace::moves;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit judges one example. With `backward` the outputs become `(output − target) / count`.
#[cube(launch)]
fn squared_error_kernel(
    outputs: &mut [f32],
    words: &[u32],
    starts: &[u32],
    indices: &[u32],
    counts: &[u32],
    losses: &mut [f32],
    hits: &mut [u32],
    slot: Slot,
    examples: usize,
    width: usize,
    #[comptime] one_hot: bool,
    #[comptime] backward: bool,
) {
    if !has(&slot, counts, ABSOLUTE_POS) {
        terminate!();
    }
    let (row, example) = (ABSOLUTE_POS / slot.examples, ABSOLUTE_POS % slot.examples);
    let label = label_of(
        words, starts, indices, examples, &slot, row, example, 0usize, false,
    );
    let first = ABSOLUTE_POS * width;
    let count = f32::cast_from(counts[slot.entry + row * slot.own]);
    let mut largest = f32::min_value();
    let mut chosen = width;
    let mut sum = 0.0f32;
    for at in 0..width {
        let value = outputs[first + at];
        if value > largest {
            largest = value;
            chosen = at;
        }
        let mut error = value;
        if comptime!(one_hot) {
            if at == label as usize {
                error = value - 1.0f32;
            }
        } else {
            error = value - f32::cast_from(label);
        }
        sum += error * error;
        if comptime!(backward) {
            outputs[first + at] = error / count;
        }
    }
    let place = loss_of(&slot, row, example);
    losses[place] = 0.5f32 * sum;
    if comptime!(!backward) {
        // A distance below one half has a square below one quarter.
        let mut hit = select(sum < 0.25f32, 1u32, 0u32);
        if comptime!(one_hot) {
            hit = select(chosen == label as usize, 1u32, 0u32);
        }
        hits[place] = hit;
    }
}

/// Judges `outputs` `[rows, examples, width]`.
pub(crate) fn squared_error(
    kernels: &LossKernels<'_>,
    outputs: &CubeTensor,
    width: usize,
    targets: Targets,
    part: &Part<'_>,
) {
    let (count, dim) = line(&outputs.client, part.rows * part.examples);
    moves(
        part.places() * (width + 1),
        kernels.written(part.places(), width),
    );
    squared_error_kernel::launch(
        &outputs.client,
        count,
        dim,
        outputs.clone().into_buffer_arg(),
        kernels.labels.words.clone().into_buffer_arg(),
        kernels.labels.starts.clone().into_buffer_arg(),
        kernels.indices.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        kernels.losses.clone().into_buffer_arg(),
        kernels.hits.clone().into_buffer_arg(),
        part.argument(),
        kernels.labels.examples,
        width,
        targets == Targets::OneHot,
        kernels.backward,
    );
}
