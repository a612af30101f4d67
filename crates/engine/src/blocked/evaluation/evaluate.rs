//! Judging every row's model: one product over many rows where the model is narrow.

use super::distinct::{Distinct, block};
use super::judged::{JudgedExamples, SHARED_CHUNK};
use crate::blocked::Blocked;
use crate::blocked::layers::dense::DenseNode;
use crate::blocked::pass::entry::Entry;
use crate::blocked::pass::inputs::{Goal, Inputs};
use crate::blocked::pass::memory_size::CHUNK;
use crate::blocked::pass::passes::{Passes, labels_of};
use crate::blocked::pass::products::RowWeights;
use crate::blocked::pass::scratch::{Scratch, reserve};
use crate::blocked::steps::forward::Batch;
use crate::blocked::workers::Deal;
use crate::error::EngineError;
use crate::kernels::{BatchScore, MODELS, transpose};
use crate::network::Network;
use crate::network::layer::{Dense, Layer, Node};
use crate::network::precision::Precision;
use crate::training::score::Score;
use meshfold_data::Examples;
use rayon::prelude::*;
use std::ops::Range;

/// Rows of a model with a single layer that share one product: 32 rows of 10 outputs fill 20 vectors of 16.
const GROUP: usize = MODELS;

/// Examples that go through a network at once.
#[derive(Debug, Clone, Copy)]
struct Sample<'a> {
    examples: &'a Examples,
    /// Which of the examples they are.
    indices: &'a [u32],
    /// What the first layer reads of them.
    inputs: &'a Inputs,
}

/// A set that models are judged on again and again.
pub(in crate::blocked) struct HeldOut<'a> {
    pub(in crate::blocked) examples: &'a Examples,
    /// Where the trainer keeps what the first layer reads of the whole set.
    pub(in crate::blocked) kept: fn(&mut Blocked) -> &mut Option<JudgedExamples>,
}

/// Examples as the first layer reads them, and their labels.
struct Labelled<'a> {
    labels: Vec<u16>,
    entry: Entry<'a>,
}

impl Blocked {
    /// Loss and accuracy of every row of `models` on a held-out set, or on its examples `subset`. A whole set is read once.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(in crate::blocked) fn held_out_scores(
        &mut self,
        network: &Network,
        models: &[f32],
        HeldOut { examples, kept }: HeldOut<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        if subset.is_some() {
            return self.scores(network, models, examples, subset);
        }
        let judged = kept(self).take();
        let judged = judged.unwrap_or_else(|| self.judged(network, examples, None));
        let scores = self.judge(network, models, examples, &judged)?;
        *kept(self) = Some(judged);
        Ok(scores)
    }

    /// Loss and accuracy of every row of `models` on `examples`, or on those of `subset`.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(in crate::blocked) fn scores(
        &self,
        network: &Network,
        models: &[f32],
        examples: &Examples,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        let judged = self.judged(network, examples, subset);
        self.judge(network, models, examples, &judged)
    }

    /// Reads `subset` of `examples`, or all of them.
    fn judged(
        &self,
        network: &Network,
        examples: &Examples,
        subset: Option<&[u32]>,
    ) -> JudgedExamples {
        let all = || (0..examples.len() as u32).collect();
        let mut indices: Vec<u32> = subset.map_or_else(all, <[u32]>::to_vec);
        let chunk = self.arrange(network, examples, &mut indices);
        let passes = self.passes(network, false);
        let read = |indices: &[u32]| {
            let mut inputs = Inputs::default();
            passes.gather(examples, indices, Goal::Judging, &mut inputs);
            inputs
        };
        let chunks = indices.par_chunks(chunk).map(read);
        let inputs = self.cpu.install(|| chunks.collect());
        JudgedExamples {
            indices,
            chunk,
            inputs,
        }
    }

    /// Puts examples into the order in which they are judged; returns how many go through a network at once.
    fn arrange(&self, network: &Network, examples: &Examples, indices: &mut [u32]) -> usize {
        let chunk = CHUNK.min(self.stages.piece);
        if !Goal::Judging.parts(network) {
            return chunk;
        }
        // Images of one class are dark in the same places.
        indices.sort_by_key(|index| examples.labels()[*index as usize]);
        chunk.min(SHARED_CHUNK)
    }

    /// Judges every row on the examples `judged`; equal rows are judged once.
    fn judge(
        &self,
        network: &Network,
        models: &[f32],
        examples: &Examples,
        judged: &JudgedExamples,
    ) -> Result<Vec<Score>, EngineError> {
        let width = network.layout().width();
        let distinct = self.cpu.install(|| Distinct::of(models, width));
        let single = single(network);
        let group = if single.is_some() { GROUP } else { 1 };
        let tasks: Vec<_> = judged.tasks().collect();
        let parts = tasks.len();
        let groups: Vec<&[usize]> = distinct.rows.chunks(group).collect();
        let judge = |task: usize| {
            let rows = block(models, width, groups[task / parts]);
            let mut scratch = self.scratches.take();
            let chunks = tasks[task % parts].clone();
            let outcomes = match single {
                Some(layer) => {
                    let passes = self.passes(network, false);
                    let entries = chunks.map(|(indices, inputs)| {
                        let labels = labels_of(examples, indices).collect();
                        let entry = passes.examples_entry(inputs);
                        Labelled { labels, entry }
                    });
                    passes.judge_group(layer, &rows, entries, &mut scratch)
                }
                None => {
                    let mut outcome = BatchScore::default();
                    let passes = self.passes(network, false);
                    let mut pairs = std::mem::take(&mut scratch.weight_pairs);
                    let row = passes.row_weights(&rows, &mut pairs, false);
                    for (indices, inputs) in chunks {
                        let sample = Sample {
                            examples,
                            indices,
                            inputs,
                        };
                        outcome.add(self.judge_row(network, row, sample, &mut scratch)?);
                    }
                    scratch.weight_pairs = pairs;
                    vec![outcome]
                }
            };
            self.scratches.put(scratch);
            Ok(outcomes)
        };
        let all = (0..groups.len() * parts).collect();
        let outcomes = self.workers.map(all, Deal::Grains(1), judge)?;
        let scores = distinct.which.iter().map(|row| {
            let tasks = &outcomes[row / group * parts..][..parts];
            let outcomes = tasks
                .iter()
                .map(|outcomes: &Vec<BatchScore>| outcomes[row % group]);
            Score::of(outcomes, judged.indices.len() * network.positions())
        });
        Ok(scores.collect())
    }

    /// One row of any model on the examples of `sample`.
    fn judge_row(
        &self,
        network: &Network,
        row: RowWeights<'_>,
        sample: Sample<'_>,
        scratch: &mut Scratch,
    ) -> Result<BatchScore, EngineError> {
        let count = sample.indices.len();
        let (width, passes) = (network.outputs(), self.passes(network, false));
        scratch.fit(network, &self.stages, count, false);
        passes.targets(sample.examples, sample.indices, &mut scratch.labels);
        let mut by_model: Vec<f32>;
        let outputs = match network.own_model() {
            Some(own) => {
                let x = &sample.inputs.x[..count * network.inputs()];
                by_model = own.outputs(row.values, x, count)?;
                &mut by_model[..]
            }
            None => {
                let batch = Batch {
                    input: passes.examples_entry(sample.inputs),
                    count,
                    masks: None,
                    begun: false,
                };
                passes.forward(row, &batch, &mut scratch.stages, &mut scratch.buffers);
                let last = scratch.stages.len() - 1;
                &mut scratch.stages[last].outputs[..scratch.labels.len() * width]
            }
        };
        let labels = &scratch.labels;
        Ok(self.cpu.instructions().vectorize(
            #[inline(always)]
            || network.loss().judge(outputs, labels, width, None),
        ))
    }

    /// Loss and accuracy of row `i` of `models` on the examples `own[i]` of `examples`.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(in crate::blocked) fn scores_on_own(
        &self,
        network: &Network,
        models: &[f32],
        examples: &Examples,
        own: &[&[u32]],
    ) -> Result<Vec<Score>, EngineError> {
        let width = network.layout().width();
        let passes = self.passes(network, false);
        let judge = |(row, own): (&[f32], &&[u32])| {
            let mut own = own.to_vec();
            let chunk = self.arrange(network, examples, &mut own);
            let mut scratch = self.scratches.take();
            let mut inputs = Inputs::default();
            let mut pairs = std::mem::take(&mut scratch.weight_pairs);
            let row = passes.row_weights(row, &mut pairs, false);
            let parts = own.chunks(chunk).map(|part| {
                passes.gather(examples, part, Goal::Judging, &mut inputs);
                let sample = Sample {
                    examples,
                    indices: part,
                    inputs: &inputs,
                };
                self.judge_row(network, row, sample, &mut scratch)
            });
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            let judged = own.len() * network.positions();
            scratch.weight_pairs = pairs;
            self.scratches.put(scratch);
            Ok(Score::of(parts.into_iter(), judged))
        };
        let rows = models.chunks_exact(width).zip(own).collect();
        self.workers.map(rows, Deal::Grains(usize::MAX), judge)
    }
}

/// The layer of a network that has but one, a dense layer.
fn single(network: &Network) -> Option<&Dense> {
    match network.nodes() {
        [
            Node {
                layer: Layer::Dense(layer),
                ..
            },
        ] => Some(layer),
        _ => None,
    }
}

impl Passes<'_> {
    /// Rows of a model with one layer, `rows` `[G, P_pad]`, in one product with a column for each of their outputs, those of
    /// the first output before those of the second.
    fn judge_group<'a>(
        &self,
        layer: &Dense,
        rows: &[f32],
        examples: impl Iterator<Item = Labelled<'a>>,
        scratch: &mut Scratch,
    ) -> Vec<BatchScore> {
        let (width, loss) = (self.network.layout().width(), self.network.loss());
        let count = rows.len() / width;
        let mut panel = vec![0.0; rows.len()];
        self.cpu.instructions().vectorize(
            #[inline(always)]
            || transpose(rows, count, width, &mut panel),
        );
        let many = |block: &Range<usize>| block.start * count..block.end * count;
        let layer = Dense {
            inputs: layer.inputs,
            outputs: layer.outputs * count,
            places: 1,
            weight: many(&layer.weight),
            bias: layer.bias.as_ref().map(many),
        };
        let columns = layer.outputs;
        let node = DenseNode {
            layer: &layer,
            relu: false,
            dropout: None,
        };
        let weight = &panel[layer.weight.clone()];
        let shape = [layer.inputs, columns];
        let mut pairs = vec![0.0; panel.len()];
        if self.network.precision() == Precision::Bf16 {
            let to = &mut pairs[layer.weight.start..][..layer.inputs.div_ceil(2) * columns];
            self.products().pair_rows(weight, columns, shape, to);
        }
        let weights = RowWeights::new(self.network.precision(), &panel, &pairs);
        let results = &mut scratch.buffers.transposed;
        let [x_pairs, _] = &mut scratch.buffers.pairs;
        let mut outcomes = vec![BatchScore::default(); count];
        for Labelled { labels, entry } in examples {
            reserve(results, labels.len() * columns);
            let y = &mut results[..labels.len() * columns];
            let shape = [labels.len(), layer.inputs];
            let entry = self.products().along_columns(entry, shape, x_pairs);
            self.batch().product(node, weights, entry, y);
            self.cpu.instructions().vectorize(
                #[inline(always)]
                || {
                    for (outputs, label) in y.chunks_exact(columns).zip(&labels) {
                        loss.judge_models(outputs, *label, &mut outcomes);
                    }
                },
            );
        }
        outcomes
    }
}
