//! The gradient with respect to the vectors of tokens: the sum over a token's positions, in order.
//!
//! The positions of each token are first linked into a list, along which one unit walks: no two units add to the same
//! number, and tokens that do not occur only cost writing zeros.
// Conditions in kernels do not short-circuit: bounds are checked first, in a branch of their own.
#![allow(clippy::if_same_then_else)]

use super::embedding::{EmbeddingAt, argument};
use crate::network::layer::Embedding;
use crate::stacked::batches::block_shape::BlockShape;
use crate::stacked::batches::part::{Part, Slot, examples_of};
use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::memory::Memory;
use crate::stacked::device::trace::moves;
use crate::stacked::gradients::sink::{GradientAction, GradientSink};
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Each unit finds, for one position of a row's batch, the next position with the same token, or the number of positions
/// if there is none; and whether one is before it.
#[cube(launch)]
fn string_kernel(
    tokens: &[u32],
    counts: &[u32],
    strings: &mut [u32],
    slot: Slot,
    positions: usize,
) {
    let slots = slot.examples * positions;
    let row = ABSOLUTE_POS / slots;
    let position = ABSOLUTE_POS % slots;
    if row >= slot.rows {
        terminate!();
    }
    let count = examples_of(&slot, counts, row) * positions;
    if position >= count {
        terminate!();
    }
    let first = row * slots;
    let token = tokens[ABSOLUTE_POS];
    let mut next = position + 1;
    let mut searching = true;
    while searching {
        if next >= count {
            searching = false;
        } else if tokens[first + next] == token {
            searching = false;
        } else {
            next += 1;
        }
    }
    let mut earlier = position;
    searching = true;
    while searching {
        if earlier == 0 {
            searching = false;
        } else if tokens[first + earlier - 1] == token {
            searching = false;
        } else {
            earlier -= 1;
        }
    }
    strings[2 * ABSOLUTE_POS] = next as u32;
    strings[2 * ABSOLUTE_POS + 1] = select(earlier > 0, 1u32, 0u32);
}

/// Each unit clears one vector of a row that has examples.
#[cube(launch)]
fn clear_kernel<N: Size>(
    counts: &[u32],
    gradients: &mut [Vector<f32, N>],
    slot: Slot,
    embedding: EmbeddingAt,
    size: usize,
) {
    let row = ABSOLUTE_POS / size;
    if row >= slot.rows {
        terminate!();
    }
    if examples_of(&slot, counts, row) == 0 {
        terminate!();
    }
    let model = (slot.first_row + row) * embedding.width + embedding.weight;
    gradients[model + ABSOLUTE_POS % size] = Vector::new(0.0f32);
}

/// Each unit at the first position of a token adds one vector of all its positions to what is there.
#[cube(launch)]
fn gradient_kernel<N: Size>(
    tokens: &[u32],
    strings: &[u32],
    deltas: &[Vector<f32, N>],
    counts: &[u32],
    gradients: &mut [Vector<f32, N>],
    slot: Slot,
    embedding: EmbeddingAt,
) {
    let slots = slot.examples * embedding.positions;
    let column = ABSOLUTE_POS % embedding.columns;
    let at = ABSOLUTE_POS / embedding.columns;
    let row = at / slots;
    if row >= slot.rows {
        terminate!();
    }
    let count = examples_of(&slot, counts, row) * embedding.positions;
    if at % slots >= count {
        terminate!();
    }
    if strings[2 * at + 1] == 1 {
        terminate!();
    }
    let model = (slot.first_row + row) * embedding.width + embedding.weight;
    let place = model + tokens[at] as usize * embedding.columns + column;
    let mut sum = gradients[place];
    let mut position = at % slots;
    while position < count {
        let here = row * slots + position;
        sum += deltas[here * embedding.columns + column];
        position = strings[2 * here] as usize;
    }
    gradients[place] = sum;
}

/// The gradient of an embedding to launch.
pub(crate) struct EmbeddingGradient<'a> {
    pub(crate) embedding: &'a Embedding,
    /// `[rows, examples, positions]`.
    pub(crate) tokens: &'a CubeTensor,
    /// The gradient with respect to the vectors, `[rows, examples, positions, width]`.
    pub(crate) deltas: &'a CubeTensor,
    /// `[rows, examples, positions, 2]`, written over.
    pub(crate) strings: &'a CubeTensor,
}

/// Memory for [`EmbeddingGradient::strings`].
pub(crate) fn strings(memory: &Memory, embedding: &Embedding, shape: BlockShape) -> CubeTensor {
    let BlockShape { rows, examples } = shape;
    memory.words(&[rows, examples, embedding.positions, 2])
}

impl EmbeddingGradient<'_> {
    /// Writes the gradient of the layer to `sink`. A step also changes the vectors of tokens that are not in the batch,
    /// so that it is made last, for the whole block.
    pub(crate) fn launch(&self, sink: &GradientSink, part: &Part<'_>) {
        let (gradients, width, embedding) = (&sink.gradients, sink.width, self.embedding);
        let client = &gradients.client;
        let n = vector_size(embedding.width);
        let positions = part.rows * part.examples * embedding.positions;
        let (count, dim) = line(client, positions);
        moves(positions, 2 * positions);
        string_kernel::launch(
            client,
            count,
            dim,
            self.tokens.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            self.strings.clone().into_buffer_arg(),
            part.argument(),
            embedding.positions,
        );
        if sink.action != GradientAction::Add {
            self.clear(gradients, width, part);
        }
        let (count, dim) = line(client, positions * (embedding.width / n));
        moves(
            positions * (3 + embedding.width),
            positions * embedding.width,
        );
        gradient_kernel::launch(
            client,
            count,
            dim,
            n,
            self.tokens.clone().into_buffer_arg(),
            self.strings.clone().into_buffer_arg(),
            self.deltas.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            gradients.clone().into_buffer_arg(),
            part.argument(),
            argument(embedding, width, n),
        );
        sink.catch_up(embedding.weight.clone(), part);
    }

    fn clear(&self, gradients: &CubeTensor, width: usize, part: &Part<'_>) {
        let (client, embedding) = (&gradients.client, self.embedding);
        let n = vector_size(embedding.width);
        let size = embedding.symbols * embedding.width / n;
        let (count, dim) = line(client, part.rows * size);
        moves(0, part.rows * embedding.symbols * embedding.width);
        clear_kernel::launch(
            client,
            count,
            dim,
            n,
            part.counts.clone().into_buffer_arg(),
            gradients.clone().into_buffer_arg(),
            part.argument(),
            argument(embedding, width, n),
            size,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{
        UnevenBatch, embeddings, expect_close, gpu, numbers, stacked,
    };

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn the_gradient_is_that_of_a_plain_loop() {
        let gpu = gpu();
        for (embedding, width) in embeddings() {
            for add in [false, true] {
                let batch = UnevenBatch::uneven(3, 1);
                let (all, positions) = (1 + batch.rows(), embedding.positions);
                let before = numbers(all * width, 8);
                let tokens =
                    crate::stacked::device::test_device::tokens(9 * positions, embedding.symbols);
                let deltas = numbers(tokens.len() * embedding.width, 3);
                let mut oracle = before.clone();
                let busy = batch
                    .counts
                    .iter()
                    .enumerate()
                    .filter(|(_, count)| **count > 0);
                for (row, count) in busy {
                    let model = &mut oracle[(1 + row) * width..][embedding.weight.clone()];
                    if !add {
                        model.fill(0.0);
                    }
                    for at in (0..*count as usize * positions).map(|at| row * 3 * positions + at) {
                        let vector = tokens[at] as usize * embedding.width;
                        let deltas = &deltas[at * embedding.width..][..embedding.width];
                        for (gradient, delta) in model[vector..].iter_mut().zip(deltas) {
                            *gradient += delta;
                        }
                    }
                }
                let memory = gpu.memory();
                let gradients = cube(stacked(&gpu, &before, all));
                let deltas = memory.upload_floats(&deltas);
                let [tokens, counts] =
                    [&tokens, &batch.counts].map(|words| memory.upload_words(words));
                let gradient = EmbeddingGradient {
                    embedding: &embedding,
                    tokens: &tokens,
                    deltas: &deltas,
                    strings: &strings(memory, &embedding, batch.shape()),
                };
                let sink = GradientSink::writing(&gradients, width);
                gradient.launch(&sink.piece(!add), &batch.part(&counts));
                expect_close(&download::<f32>(gradients), &oracle, 1e-6);
            }
        }
    }
}
