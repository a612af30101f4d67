//! Softmax with cross-entropy, and its gradient with respect to the logits.

use super::loss_kernels::LossKernels;
use crate::stacked::batches::labels::label_of;
use crate::stacked::batches::part::{Part, Slot, has, loss_of};
use crate::stacked::device::launch::line;
use crate::stacked::device::trace::moves;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit judges one position of one example. With `backward` the logits become `(softmax − onehot) / count`.
#[cube(launch)]
fn cross_entropy_kernel(
    logits: &mut [f32],
    words: &[u32],
    starts: &[u32],
    indices: &[u32],
    counts: &[u32],
    losses: &mut [f32],
    hits: &mut [u32],
    slot: Slot,
    examples: usize,
    classes: usize,
    positions: usize,
    #[comptime] windowed: bool,
    #[comptime] backward: bool,
) {
    let position = ABSOLUTE_POS % positions;
    let at = ABSOLUTE_POS / positions;
    if !has(&slot, counts, at) {
        terminate!();
    }
    let (row, example) = (at / slot.examples, at % slot.examples);
    let label = label_of(
        words, starts, indices, examples, &slot, row, example, position, windowed,
    ) as usize;
    let first = ABSOLUTE_POS * classes;
    let mut largest = f32::min_value();
    let mut chosen = classes;
    for class in 0..classes {
        let value = logits[first + class];
        if value > largest {
            largest = value;
            chosen = class;
        }
    }
    let mut sum = 0.0f32;
    for class in 0..classes {
        sum += (logits[first + class] - largest).exp();
    }
    let place = loss_of(&slot, row, example) * positions + position;
    losses[place] = sum.ln() + largest - logits[first + label];
    if comptime!(backward) {
        let scale = 1.0f32 / f32::cast_from(counts[slot.entry + row * slot.own] * positions as u32);
        let factor = scale / sum;
        for class in 0..classes {
            let mut slope = (logits[first + class] - largest).exp() * factor;
            if class == label {
                slope -= scale;
            }
            logits[first + class] = slope;
        }
    } else {
        hits[place] = select(chosen == label, 1u32, 0u32);
    }
}

/// Judges `logits` `[rows, examples, positions, classes]`.
pub(crate) fn cross_entropy(
    kernels: &LossKernels<'_>,
    logits: &CubeTensor,
    classes: usize,
    part: &Part<'_>,
) {
    let judged = part.places() * kernels.positions;
    let (count, dim) = line(&logits.client, judged);
    moves(judged * (classes + 1), kernels.written(judged, classes));
    cross_entropy_kernel::launch(
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
        classes,
        kernels.positions,
        kernels.labels.windowed,
        kernels.backward,
    );
}
