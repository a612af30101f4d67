//! Embeddings: a vector for every token of all rows.

use super::embedding_gradient::{EmbeddingGradient, strings};
use super::{Backward, Forward, Stackable, StackedLayer};
use crate::network::layer::Embedding;
use crate::stacked::batches::block_shape::BlockShape;
use crate::stacked::batches::part::{Part, Slot, has};
use crate::stacked::device::launch::{line, vector_size};
use crate::stacked::device::memory::Memory;
use crate::stacked::device::trace::moves;
use crate::stacked::layers::stack_arena::StackArena;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// An embedding in the arena, in vectors.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct EmbeddingAt {
    /// Vectors per row of the arena.
    pub(crate) width: usize,
    /// First vector of the weight `[symbols, columns]`.
    pub(crate) weight: usize,
    /// Vectors of a token.
    pub(crate) columns: usize,
    /// Tokens of an example.
    pub(crate) positions: usize,
}

/// The argument of a launch over vectors of `vector` floats; `width` floats make a row of the arena.
pub(crate) fn argument(embedding: &Embedding, width: usize, vector: usize) -> EmbeddingAtLaunch {
    EmbeddingAtLaunch::new(
        width / vector,
        embedding.weight.start / vector,
        embedding.width / vector,
        embedding.positions,
    )
}

/// Each unit copies one vector.
#[cube(launch)]
fn embedding_kernel<N: Size>(
    models: &[Vector<f32, N>],
    tokens: &[u32],
    counts: &[u32],
    outputs: &mut [Vector<f32, N>],
    slot: Slot,
    embedding: EmbeddingAt,
    token_rows: usize,
) {
    let position = ABSOLUTE_POS / embedding.columns;
    let example = position / embedding.positions;
    if !has(&slot, counts, example) {
        terminate!();
    }
    let row = example / slot.examples;
    let given = row * token_rows * slot.examples + example % slot.examples;
    let token = tokens[given * embedding.positions + position % embedding.positions] as usize;
    let model = (slot.first_row + row) * embedding.width + embedding.weight;
    let column = ABSOLUTE_POS % embedding.columns;
    outputs[ABSOLUTE_POS] = models[model + token * embedding.columns + column];
}

impl Stackable for Embedding {
    fn kept(&self) -> Vec<usize> {
        vec![2 * self.positions]
    }

    fn stack(&self, memory: &Memory, shape: BlockShape) -> Box<dyn StackedLayer> {
        Box::new(StackedEmbedding {
            embedding: self.clone(),
            strings: strings(memory, self, shape),
        })
    }
}

/// An embedding, and the linked lists of the positions of each token.
#[derive(Debug)]
struct StackedEmbedding {
    embedding: Embedding,
    strings: CubeTensor,
}

impl StackedLayer for StackedEmbedding {
    fn forward(&self, forward: &Forward<'_>) {
        let embed = Embed {
            arena: forward.flow.arena(),
            embedding: &self.embedding,
            tokens: forward.inputs,
            shared: forward.shared,
        };
        embed.launch(forward.flow.part, forward.outputs);
    }

    fn backward(&self, backward: &Backward<'_>) {
        let gradient = EmbeddingGradient {
            embedding: &self.embedding,
            tokens: backward.inputs,
            deltas: backward.above,
            strings: &self.strings,
        };
        gradient.launch(backward.sink, backward.flow.part);
    }
}

/// Vectors of tokens to launch.
pub(crate) struct Embed<'a> {
    pub(crate) arena: StackArena<'a>,
    pub(crate) embedding: &'a Embedding,
    /// `[rows, examples, positions]`, or `[examples, positions]` if `shared`.
    pub(crate) tokens: &'a CubeTensor,
    pub(crate) shared: bool,
}

impl Embed<'_> {
    /// Writes `[rows, examples, positions, width]`.
    pub(crate) fn launch(&self, part: &Part<'_>, outputs: &CubeTensor) {
        let (embedding, StackArena { models, width }) = (self.embedding, self.arena);
        let n = vector_size(embedding.width);
        let positions = part.rows * part.examples * embedding.positions;
        let (count, dim) = line(&models.client, positions * (embedding.width / n));
        moves(
            positions * (1 + embedding.width),
            positions * embedding.width,
        );
        embedding_kernel::launch(
            &models.client,
            count,
            dim,
            n,
            models.clone().into_buffer_arg(),
            self.tokens.clone().into_buffer_arg(),
            part.counts.clone().into_buffer_arg(),
            outputs.clone().into_buffer_arg(),
            part.argument(),
            argument(embedding, width, n),
            usize::from(!self.shared),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::memory::{cube, download};
    use crate::stacked::device::test_device::{
        UnevenBatch, embeddings, gpu, numbers, stacked, tokens,
    };

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn every_token_has_its_vector() {
        let gpu = gpu();
        for (embedding, width) in embeddings() {
            for shared in [false, true] {
                let mut batch = UnevenBatch::uneven(3, 1);
                if shared {
                    batch.counts = vec![3; 3];
                }
                let all = 1 + batch.rows();
                let models = numbers(all * width, 1);
                let tokens = tokens(9 * embedding.positions, embedding.symbols);
                let mut host = vec![0.0; tokens.len() * embedding.width];
                for (row, count) in batch.counts.iter().enumerate() {
                    let from = if shared {
                        0
                    } else {
                        row * 3 * embedding.positions
                    };
                    for at in 0..*count as usize * embedding.positions {
                        let vector = tokens[from + at] as usize * embedding.width;
                        let model = &models[(1 + row) * width + embedding.weight.start..];
                        let to = (row * 3 * embedding.positions + at) * embedding.width;
                        host[to..][..embedding.width]
                            .copy_from_slice(&model[vector..][..embedding.width]);
                    }
                }
                let memory = gpu.memory();
                let out = memory.upload_floats(&vec![0.0; host.len()]);
                let arena = cube(stacked(&gpu, &models, all));
                let [tokens, counts] =
                    [&tokens, &batch.counts].map(|words| memory.upload_words(words));
                let own = !shared;
                let part = Part {
                    own,
                    ..batch.part(&counts)
                };
                let embed = Embed {
                    arena: StackArena {
                        models: &arena,
                        width,
                    },
                    embedding: &embedding,
                    tokens: &tokens,
                    shared,
                };
                embed.launch(&part, &out);
                assert_eq!(download::<f32>(out), host);
            }
        }
    }
}
