//! Softmax with cross-entropy over many classes, as [`super::cross_entropy`], but several units share an example's
//! classes.

use super::loss_kernels::LossKernels;
use crate::stacked::batches::labels::label_of;
use crate::stacked::batches::part::{Part, Slot, has, loss_of};
use crate::stacked::device::launch::{SHARES, line};
use crate::stacked::device::memory::Memory;
use crate::stacked::device::trace::moves;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// From so many classes on, one unit per example would have too much to do.
pub(crate) const MANY: usize = 512;

/// Each unit takes every 64th logit of one position: it finds the largest, the first class that has it, and
/// `Σ exp(z − largest)`.
#[cube(launch)]
fn shares_kernel(
    logits: &[f32],
    counts: &[u32],
    found: &mut [f32],
    slot: Slot,
    classes: usize,
    positions: usize,
    #[comptime] shares: usize,
) {
    let at = ABSOLUTE_POS / shares;
    if !has(&slot, counts, at / positions) {
        terminate!();
    }
    let first = at * classes;
    let mut largest = f32::min_value();
    let mut chosen = classes;
    let mut class = ABSOLUTE_POS % shares;
    while class < classes {
        let value = logits[first + class];
        if value > largest {
            largest = value;
            chosen = class;
        }
        class += shares;
    }
    let mut sum = 0.0f32;
    class = ABSOLUTE_POS % shares;
    while class < classes {
        sum += (logits[first + class] - largest).exp();
        class += shares;
    }
    found[3 * ABSOLUTE_POS] = largest;
    found[3 * ABSOLUTE_POS + 1] = sum;
    found[3 * ABSOLUTE_POS + 2] = f32::cast_from(chosen as u32);
}

/// Each unit judges one position from the results of its shares. It stores the largest logit and `Σ exp(z − largest)`
/// in the place of the first share.
#[cube(launch)]
fn judge_kernel(
    logits: &[f32],
    words: &[u32],
    starts: &[u32],
    indices: &[u32],
    counts: &[u32],
    found: &mut [f32],
    losses: &mut [f32],
    hits: &mut [u32],
    slot: Slot,
    examples: usize,
    classes: usize,
    positions: usize,
    #[comptime] shares: usize,
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
    );
    let first = 3 * ABSOLUTE_POS * shares;
    let mut largest = found[first];
    let mut chosen = found[first + 2];
    for share in 1..shares {
        let (value, class) = (found[first + 3 * share], found[first + 3 * share + 2]);
        if value > largest || (value == largest && class < chosen) {
            largest = value;
            chosen = class;
        }
    }
    let mut sum = 0.0f32;
    for share in 0..shares {
        sum += found[first + 3 * share + 1] * (found[first + 3 * share] - largest).exp();
    }
    let place = loss_of(&slot, row, example) * positions + position;
    losses[place] = sum.ln() + largest - logits[ABSOLUTE_POS * classes + label as usize];
    if comptime!(backward) {
        found[first] = largest;
        found[first + 1] = sum;
    } else {
        hits[place] = select(chosen == f32::cast_from(label), 1u32, 0u32);
    }
}

/// Each unit turns one logit into `(softmax − onehot) / count`.
#[cube(launch)]
fn slopes_kernel(
    logits: &mut [f32],
    words: &[u32],
    starts: &[u32],
    indices: &[u32],
    counts: &[u32],
    found: &[f32],
    slot: Slot,
    examples: usize,
    classes: usize,
    positions: usize,
    #[comptime] shares: usize,
    #[comptime] windowed: bool,
) {
    let class = ABSOLUTE_POS % classes;
    let here = ABSOLUTE_POS / classes;
    let (position, at) = (here % positions, here / positions);
    if !has(&slot, counts, at) {
        terminate!();
    }
    let (row, example) = (at / slot.examples, at % slot.examples);
    let label = label_of(
        words, starts, indices, examples, &slot, row, example, position, windowed,
    );
    let scale = 1.0f32 / f32::cast_from(counts[slot.entry + row * slot.own] * positions as u32);
    let first = 3 * here * shares;
    let mut slope = (logits[ABSOLUTE_POS] - found[first]).exp() * (scale / found[first + 1]);
    if class == label as usize {
        slope -= scale;
    }
    logits[ABSOLUTE_POS] = slope;
}

/// Judges `logits` `[rows, examples, positions, classes]`.
pub(crate) fn cross_entropy_of_many(
    kernels: &LossKernels<'_>,
    logits: &CubeTensor,
    classes: usize,
    part: &Part<'_>,
) {
    let positions = part.rows * part.examples * kernels.positions;
    let found = Memory::of(logits).floats(&[positions, SHARES, 3]);
    let (count, dim) = line(&logits.client, positions * SHARES);
    moves(positions * classes, 3 * SHARES * positions);
    shares_kernel::launch(
        &logits.client,
        count,
        dim,
        logits.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        found.clone().into_buffer_arg(),
        part.argument(),
        classes,
        kernels.positions,
        SHARES,
    );
    let (count, dim) = line(&logits.client, positions);
    moves(3 * SHARES * positions, positions);
    judge_kernel::launch(
        &logits.client,
        count,
        dim,
        logits.clone().into_buffer_arg(),
        kernels.labels.words.clone().into_buffer_arg(),
        kernels.labels.starts.clone().into_buffer_arg(),
        kernels.indices.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        found.clone().into_buffer_arg(),
        kernels.losses.clone().into_buffer_arg(),
        kernels.hits.clone().into_buffer_arg(),
        part.argument(),
        kernels.labels.examples,
        classes,
        kernels.positions,
        SHARES,
        kernels.labels.windowed,
        kernels.backward,
    );
    if kernels.backward {
        slopes(kernels, logits, classes, &found, part);
    }
}

/// Turns `logits` into the gradient, from what judging left in `found`.
fn slopes(
    kernels: &LossKernels<'_>,
    logits: &CubeTensor,
    classes: usize,
    found: &CubeTensor,
    part: &Part<'_>,
) {
    let positions = part.rows * part.examples * kernels.positions;
    let (count, dim) = line(&logits.client, positions * classes);
    moves(positions * (classes + 2), positions * classes);
    slopes_kernel::launch(
        &logits.client,
        count,
        dim,
        logits.clone().into_buffer_arg(),
        kernels.labels.words.clone().into_buffer_arg(),
        kernels.labels.starts.clone().into_buffer_arg(),
        kernels.indices.clone().into_buffer_arg(),
        part.counts.clone().into_buffer_arg(),
        found.clone().into_buffer_arg(),
        part.argument(),
        kernels.labels.examples,
        classes,
        kernels.positions,
        SHARES,
        kernels.labels.windowed,
    );
}
