//! A vector for every token.

use super::{BatchBackward, BatchContext, BatchForward, BatchLayer};
use crate::blocked::pass::entry::Entry;
use crate::network::layer::Embedding;

/// Token `position` of example `index`; the example holds its tokens by their numbers.
fn token(entry: &Entry<'_>, index: usize, position: usize) -> usize {
    entry.example(index)[position] as usize
}

impl BatchLayer for Embedding {
    /// Writes the vectors of all tokens to `outputs` `[T, B, width]`.
    fn forward(&self, _: BatchContext<'_>, forward: BatchForward<'_>) {
        let outputs = forward.outputs;
        let batch = outputs.len() / (self.positions * self.width);
        let vectors = &forward.weights.values[self.weight.clone()];
        for (at, output) in outputs.chunks_exact_mut(self.width).enumerate() {
            let token = token(&forward.entry, at % batch, at / batch);
            output.copy_from_slice(&vectors[token * self.width..][..self.width]);
        }
    }

    /// Adds up the gradients `[T, B, width]` of each token's vector, in the order of the positions. Tokens that do not occur have none, and
    /// are left alone where nothing else moves them.
    fn backward(&self, on: BatchContext<'_>, backward: BatchBackward<'_, '_>) {
        let BatchBackward {
            memory, io, sink, ..
        } = backward;
        let (cpu, width, d) = (on.products.cpu, self.width, memory.gradient(&io));
        let mut places: Vec<(usize, usize)> = (0..self.positions * io.batch)
            .map(|at| (token(&io.entry, at % io.batch, at / io.batch), at))
            .collect();
        places.sort_unstable();
        let begin = self.weight.start;
        let mut sum = vec![0.0; width];
        let mut next = 0;
        for occurrences in places.chunk_by(|(first, _), (second, _)| first == second) {
            let symbol = occurrences[0].0;
            sink.settle_zero(cpu, begin + next * width..begin + symbol * width);
            sum.fill(0.0);
            for (_, at) in occurrences {
                for (sum, delta) in sum.iter_mut().zip(&d[at * width..][..width]) {
                    *sum += delta;
                }
            }
            next = symbol + 1;
            sink.settle(cpu, begin + symbol * width..begin + next * width, &sum);
        }
        sink.settle_zero(cpu, begin + next * width..self.weight.end);
    }
}
