//! A vector for every token.

use crate::blocked::pass::passes::Entry;
use crate::blocked::pass::sink::Sink;
use crate::blocked::pass::stage_io::StageIo;
use crate::cpu::Cpu;
use crate::network::layer::Embedding;

/// Token `position` of example `index`; the example holds its tokens by their numbers.
fn token(entry: &Entry<'_>, index: usize, position: usize) -> usize {
    entry.example(index)[position] as usize
}

/// Writes the vectors of all tokens to `outputs` `[T, B, width]`.
pub(crate) fn forward(layer: &Embedding, weights: &[f32], entry: Entry<'_>, outputs: &mut [f32]) {
    let batch = outputs.len() / (layer.positions * layer.width);
    let vectors = &weights[layer.weight.clone()];
    for (at, output) in outputs.chunks_exact_mut(layer.width).enumerate() {
        let token = token(&entry, at % batch, at / batch);
        output.copy_from_slice(&vectors[token * layer.width..][..layer.width]);
    }
}

/// Adds up the gradients `d` `[T, B, width]` of each token's vector, in the order of the positions. Tokens that do not
/// occur have none, and are left alone where nothing else moves them.
pub(crate) fn backward(
    cpu: &Cpu,
    layer: &Embedding,
    d: &[f32],
    io: &StageIo<'_>,
    sink: &mut Sink<'_>,
) {
    let width = layer.width;
    let mut places: Vec<(usize, usize)> = (0..layer.positions * io.batch)
        .map(|at| (token(&io.entry, at % io.batch, at / io.batch), at))
        .collect();
    places.sort_unstable();
    let begin = layer.weight.start;
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
    sink.settle_zero(cpu, begin + next * width..layer.weight.end);
}
