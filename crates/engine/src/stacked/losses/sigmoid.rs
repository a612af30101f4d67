//! One sigmoid output with cross-entropy, and its gradient with respect to the logit.

use super::loss_kernels::LossKernels;
use crate::stacked::batches::labels::label_of;
use crate::stacked::batches::part::{Part, Slot, has, loss_of};
use crate::stacked::device::launch::line;
use crate::stacked::device::trace::moves;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit judges one example. With `backward` the logits become `(σ(z) − label) / count`.
#[cube(launch)]
fn sigmoid_kernel(
    logits: &mut [f32],
    words: &[u32],
    starts: &[u32],
    indices: &[u32],
    counts: &[u32],
    losses: &mut [f32],
    hits: &mut [u32],
    slot: Slot,
    examples: usize,
    #[comptime] backward: bool,
) {
    if !has(&slot, counts, ABSOLUTE_POS) {
        terminate!();
    }
    let (row, example) = (ABSOLUTE_POS / slot.examples, ABSOLUTE_POS % slot.examples);
    let label = label_of(
        words, starts, indices, examples, &slot, row, example, 0usize, false,
    );
    let positive = label == 1u32;
    let z = logits[ABSOLUTE_POS];
    let largest = select(z > 0.0f32, z, 0.0f32);
    let first = (-largest).exp();
    let second = (z - largest).exp();
    let sum = first + second;
    let place = loss_of(&slot, row, example);
    losses[place] = sum.ln() + largest - select(positive, z, 0.0f32);
    if comptime!(backward) {
        let count = f32::cast_from(counts[slot.entry + row * slot.own]);
        let slope = second / sum - select(positive, 1.0f32, 0.0f32);
        logits[ABSOLUTE_POS] = slope / count;
    } else {
        let chosen = select(z > 0.0f32, 1u32, 0u32);
        hits[place] = select(chosen == label, 1u32, 0u32);
    }
}

/// Judges `logits` `[rows, examples]`, those of class 1 against class 0.
pub(crate) fn sigmoid_cross_entropy(
    kernels: &LossKernels<'_>,
    logits: &CubeTensor,
    part: &Part<'_>,
) {
    let (count, dim) = line(&logits.client, part.rows * part.examples);
    moves(2 * part.places(), kernels.written(part.places(), 1));
    sigmoid_kernel::launch(
        &logits.client,
        count,
        dim,
        logits.clone().into_buffer_arg(),
        kernels.labels.words.clone().into_buffer_arg(),
        kernels.labels.starts.clone().into_buffer_arg(),
        kernels.indices.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        kernels.losses.clone().into_buffer_arg(),
        kernels.hits.clone().into_buffer_arg(),
        part.argument(),
        kernels.labels.examples,
        kernels.backward,
    );
}
