//! Judging every row's model: one product over many rows where the model is narrow.

use super::Blocked;
use super::distinct::{Distinct, block};
use super::scratch::Scratch;
use super::workers::Deal;
use crate::device::Cpu;
use crate::error::EngineError;
use crate::kernels::{Affine, MODELS, Outcome, Packing, Start, transpose};
use crate::layer::{Dense, Layer};
use crate::learner::Context;
use crate::network::Network;
use crate::score::{Score, Split};
use crate::stack::Stack;
use meshfold_data::Examples;
use rayon::prelude::*;
use std::ops::Range;

/// Examples that go through a network at once.
pub(super) const CHUNK: usize = 96;
/// Examples of one task: enough that packing and scheduling do not show.
const TASK: usize = 24 * CHUNK;
/// Rows of a model with a single layer that share one product: 32 rows of 10 outputs fill 20 vectors of 16.
const GROUP: usize = MODELS;

impl Blocked {
    /// Loss and accuracy of every row on `split`, or on its examples `subset`.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn evaluate(
        &mut self,
        context: Context<'_>,
        stack: &Stack,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Result<Vec<Score>, EngineError> {
        if let Split::Shards(clients) = split {
            return self.evaluate_shards(context, stack, clients);
        }
        let examples = if matches!(split, Split::Test) {
            context.test
        } else {
            context.train
        };
        let all: Vec<u32>;
        let indices = match subset {
            Some(subset) => subset,
            None => {
                all = (0..examples.len() as u32).collect();
                &all
            }
        };
        let x = match self.tests.take().filter(|_| whole_test(split, subset)) {
            Some(tests) => tests,
            None => self.normalise(context.network, examples, indices),
        };
        let scores = self.judge(context.network, stack, &x, (examples, indices))?;
        if whole_test(split, subset) {
            self.tests = Some(x);
        }
        Ok(scores)
    }

    fn normalise(&self, network: &Network, examples: &Examples, indices: &[u32]) -> Vec<f32> {
        let (width, passes) = (examples.width(), self.passes(network, false));
        let mut x = vec![0.0; indices.len() * width];
        self.cpu.install(|| {
            x.par_chunks_mut(CHUNK * width)
                .zip(indices.par_chunks(CHUNK))
                .for_each(|(x, indices)| passes.gather(examples, indices, x));
        });
        x
    }

    /// Every row on the examples `x` `[M, D]`, which are `indices` of `examples`; rows that are the same once.
    fn judge(
        &self,
        network: &Network,
        stack: &Stack,
        x: &[f32],
        (examples, indices): (&Examples, &[u32]),
    ) -> Result<Vec<Score>, EngineError> {
        let width = network.layout().width();
        let models = stack.host().unwrap_or_default();
        let distinct = self.cpu.install(|| Distinct::of(models, width));
        let single = single(network);
        let group = if single.is_some() { GROUP } else { 1 };
        let parts = indices.len().div_ceil(TASK);
        let groups: Vec<&[usize]> = distinct.rows.chunks(group).collect();
        let judge = |task: usize| {
            let (rows, part) = (block(models, width, groups[task / parts]), task % parts);
            let indices = &indices[part * TASK..indices.len().min((part + 1) * TASK)];
            let x = &x[part * TASK * network.inputs()..][..indices.len() * network.inputs()];
            let mut scratch = self.scratches.take();
            let outcomes = match single {
                Some(layer) => {
                    let labels = labels(examples, indices);
                    let (layer, x) = ((network, layer), (x, &labels[..]));
                    judge_group(&self.cpu, layer, &rows, x, &mut scratch)
                }
                None => {
                    let examples = (examples, indices);
                    vec![self.judge_row(network, &rows, x, examples, &mut scratch)?]
                }
            };
            self.scratches.put(scratch);
            Ok(outcomes)
        };
        let tasks = (0..groups.len() * parts).collect();
        let outcomes = self.workers.map(tasks, Deal::Grains(1), judge)?;
        let scores = distinct.which.iter().map(|row| {
            let tasks = &outcomes[row / group * parts..][..parts];
            let outcomes = tasks
                .iter()
                .map(|outcomes: &Vec<Outcome>| outcomes[row % group]);
            Score::of(outcomes, indices.len() * network.positions())
        });
        Ok(scores.collect())
    }

    /// One row of any model on the examples `x`, which are `indices` of `examples`.
    fn judge_row(
        &self,
        network: &Network,
        row: &[f32],
        x: &[f32],
        (examples, indices): (&Examples, &[u32]),
        scratch: &mut Scratch,
    ) -> Result<Outcome, EngineError> {
        let (width, passes) = (network.outputs(), self.passes(network, false));
        let mut outcome = Outcome::default();
        let chunk = CHUNK.min(self.stages.piece);
        scratch.fit(network, &self.stages, chunk.min(indices.len()), false);
        for (x, indices) in x
            .chunks(chunk * network.inputs())
            .zip(indices.chunks(chunk))
        {
            passes.targets(examples, indices, &mut scratch.labels);
            let mut by_burn: Vec<f32>;
            let outputs = match network.own_model() {
                Some(own) => {
                    by_burn = own.outputs(row, x, indices.len())?;
                    &mut by_burn[..]
                }
                None => {
                    let memory = (&mut scratch.stages[..], &mut scratch.buffers);
                    passes.forward(row, x, memory, None, false);
                    let last = scratch.stages.len() - 1;
                    &mut scratch.stages[last].outputs[..scratch.labels.len() * width]
                }
            };
            let labels = &scratch.labels;
            outcome.add(self.cpu.instructions().vectorize(
                #[inline(always)]
                || network.loss().judge(outputs, labels, width, None),
            ));
        }
        Ok(outcome)
    }

    /// Row `i` on the training shard of client `clients[i]`.
    fn evaluate_shards(
        &self,
        context: Context<'_>,
        stack: &Stack,
        clients: &[u32],
    ) -> Result<Vec<Score>, EngineError> {
        let width = context.network.layout().width();
        let models = stack.host().unwrap_or_default();
        let passes = self.passes(context.network, false);
        let judge = |(row, client): (&[f32], &u32)| {
            let shard = context.partition.shard(*client as usize);
            let mut scratch = self.scratches.take();
            let parts = shard.chunks(CHUNK).map(|part| {
                let mut x = vec![0.0; part.len() * context.network.inputs()];
                passes.gather(context.train, part, &mut x);
                let examples = (context.train, part);
                self.judge_row(context.network, row, &x, examples, &mut scratch)
            });
            let parts = parts.collect::<Result<Vec<_>, _>>()?;
            let judged = shard.len() * context.network.positions();
            self.scratches.put(scratch);
            Ok(Score::of(parts.into_iter(), judged))
        };
        let rows = models.chunks_exact(width).zip(clients).collect();
        self.workers.map(rows, Deal::Grains(usize::MAX), judge)
    }
}

/// The layer of a network that has but one, a dense layer.
fn single(network: &Network) -> Option<&Dense> {
    match network.nodes() {
        [node] => match &node.layer {
            Layer::Dense(layer) => Some(layer),
            _ => None,
        },
        _ => None,
    }
}

fn whole_test(split: Split<'_>, subset: Option<&[u32]>) -> bool {
    matches!(split, Split::Test) && subset.is_none()
}

fn labels(examples: &Examples, indices: &[u32]) -> Vec<u16> {
    let label = |index: &u32| examples.labels()[*index as usize];
    indices.iter().map(label).collect()
}

/// Rows of a model with one layer, `rows` `[G, P_pad]`, in one product with a column for each of their outputs, those of the
/// first output before those of the second.
fn judge_group(
    cpu: &Cpu,
    (network, layer): (&Network, &Dense),
    rows: &[f32],
    (x, labels): (&[f32], &[u16]),
    scratch: &mut Scratch,
) -> Vec<Outcome> {
    let (width, outputs) = (network.layout().width(), network.outputs());
    let count = rows.len() / width;
    let columns = count * outputs;
    let mut panel = vec![0.0; rows.len()];
    cpu.instructions().vectorize(
        #[inline(always)]
        || transpose(rows, count, width, &mut panel),
    );
    let of = |block: &Range<usize>| &panel[block.start * count..block.end * count];
    let results = &mut scratch.buffers.transposed;
    results.resize(results.len().max(CHUNK * columns), 0.0);
    let mut outcomes = vec![Outcome::default(); count];
    for (x, labels) in x.chunks(CHUNK * layer.inputs).zip(labels.chunks(CHUNK)) {
        let y = &mut results[..labels.len() * columns];
        cpu.instructions().run(Affine {
            x,
            x_stride: layer.inputs,
            w: of(&layer.weight),
            packing: Packing::Rows,
            start: Start::of(layer.bias.as_ref().map(of)),
            y,
            y_stride: columns,
            rows: labels.len(),
            inner: layer.inputs,
            columns,
            relu: false,
        });
        cpu.instructions().vectorize(
            #[inline(always)]
            || {
                for (outputs, label) in y.chunks_exact(columns).zip(labels) {
                    network.loss().judge_models(outputs, *label, &mut outcomes);
                }
            },
        );
    }
    outcomes
}
