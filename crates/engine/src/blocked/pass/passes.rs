//! What the forward and the backward pass of a row have in common.

use super::inputs::{Goal, Inputs};
use super::products::{Products, RowWeights};
use super::scratch::reserve;
use super::stages::Stages;
use crate::blocked::layers::BatchContext;
use crate::cpu::Cpu;
use crate::kernels::prefetch;
use crate::network::Network;
use crate::network::precision::Precision;
use meshfold_data::{Examples, Features, Input};

/// The passes of one network on one processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passes<'a> {
    pub(crate) cpu: &'a Cpu,
    pub(crate) network: &'a Network,
    pub(crate) stages: &'a Stages,
    /// Threads share the products of a row.
    pub(crate) share: bool,
}

/// Examples of a batch on their way from memory while one is read: they lie anywhere in it.
const AHEAD: usize = 8;

/// Asks for the features of example `index`.
#[inline(always)]
fn fetch(examples: &Examples, index: usize) {
    let (width, index) = (examples.width(), examples.example_of(index));
    match examples.features() {
        Features::Bytes { values, .. } => prefetch(&values[index * width..][..width]),
        Features::Numbers(values) => prefetch(&values[index * width..][..width]),
        Features::Tokens(windows) => prefetch(windows.window(index)),
    }
}

/// The labels of `examples` at `indices`, which may be those of variants.
pub(crate) fn labels_of<'a>(
    examples: &'a Examples,
    indices: impl IntoIterator<Item = &'a u32>,
) -> impl Iterator<Item = u16> {
    let labels = examples.labels();
    let label = |index: &u32| labels[examples.example_of(*index as usize)];
    indices.into_iter().map(label)
}

impl Passes<'_> {
    /// The products of the network.
    pub(crate) fn products(&self) -> Products<'_> {
        Products {
            cpu: self.cpu,
            precision: self.network.precision(),
        }
    }

    /// What layers compute a batch with.
    pub(crate) fn batch(&self) -> BatchContext<'_> {
        BatchContext {
            products: self.products(),
            share: self.share,
        }
    }

    /// The weights `values` of a row as operands, for which there is room in `pairs`; not that of the first layer if its product is
    /// there, `begun`.
    pub(crate) fn row_weights<'b>(
        &self,
        values: &'b [f32],
        pairs: &'b mut Vec<f32>,
        begun: bool,
    ) -> RowWeights<'b> {
        if self.network.precision() == Precision::Bf16 {
            reserve(pairs, values.len());
            let nodes = self.network.nodes().iter().skip(usize::from(begun));
            for weight in nodes.flat_map(|node| node.layer.facts().weights()) {
                let from = &values[weight.range.clone()];
                let to = &mut pairs[weight.range];
                self.pair_weight(from, weight.matrices, weight.columns, to);
            }
        }
        RowWeights::new(self.network.precision(), values, pairs)
    }

    /// Writes a weight, `matrices` of `columns` columns, in pairs of rows.
    fn pair_weight(&self, weight: &[f32], matrices: usize, columns: usize, pairs: &mut [f32]) {
        let rows = weight.len() / matrices / columns;
        // Matrices of an even number of rows are one.
        let matrices = if rows.is_multiple_of(2) { 1 } else { matrices };
        let rows = weight.len() / matrices / columns;
        let size = rows.div_ceil(2) * columns;
        let from = weight.chunks_exact(rows * columns);
        for (from, to) in from.zip(pairs.chunks_exact_mut(size)) {
            let products = self.products();
            products.pair_rows(from, columns, [rows, columns], to);
        }
    }

    /// Reads examples `indices` as the first layer wants them: numbers scaled, channels innermost where they are convolved;
    /// tokens by their numbers.
    pub(crate) fn gather(
        &self,
        examples: &Examples,
        indices: &[u32],
        goal: Goal,
        inputs: &mut Inputs,
    ) {
        let width = examples.width();
        reserve(&mut inputs.x, indices.len() * width);
        let x = &mut inputs.x[..indices.len() * width];
        let planes = match examples.input() {
            Input::Numbers(shape) if self.network.reads_channels_last() => shape.channels,
            Input::Numbers(_) | Input::Tokens { .. } => 1,
        };
        self.cpu.instructions().vectorize(
            #[inline(always)]
            || {
                let mut stored = vec![0.0; if planes > 1 { width } else { 0 }];
                let ahead = |index: &u32| fetch(examples, *index as usize);
                indices.iter().take(AHEAD).for_each(ahead);
                for (place, (to, index)) in x.chunks_exact_mut(width).zip(indices).enumerate() {
                    indices.get(place + AHEAD).into_iter().for_each(ahead);
                    if planes == 1 {
                        examples.read(*index as usize, to);
                        continue;
                    }
                    examples.read(*index as usize, &mut stored);
                    for (channel, plane) in stored.chunks_exact(width / planes).enumerate() {
                        for (to, value) in to[channel..].iter_mut().step_by(planes).zip(plane) {
                            *to = *value;
                        }
                    }
                }
            },
        );
        match goal.parts(self.network) {
            true => inputs.part(self.cpu, indices.len(), width),
            false => inputs.whole(),
        }
        if self.network.begins_with_pairs() {
            inputs.pair(self.cpu, indices.len(), width);
        }
    }

    /// What the judged positions of examples `indices` are to be, `[positions, indices]`.
    pub(crate) fn targets(&self, examples: &Examples, indices: &[u32], labels: &mut Vec<u16>) {
        labels.clear();
        match examples.features() {
            Features::Tokens(windows) if self.network.positions() > 1 => {
                for position in 0..self.network.positions() {
                    let token = |index: &u32| windows.window(*index as usize)[position + 1];
                    labels.extend(indices.iter().map(token));
                }
            }
            Features::Bytes { .. } | Features::Numbers(_) | Features::Tokens(_) => {
                labels.extend(labels_of(examples, indices));
            }
        }
    }
}
