//! Judging every row's model: one product over many rows where the model is narrow.

use super::passes::Passes;
use super::scratch::Scratch;
use super::{Blocked, gather};
use crate::kernels::{Affine, Outcome, Start};
use crate::learner::{Context, Score, Split};
use crate::network::Network;
use crate::stack::Stack;
use meshfold_data::Examples;
use rayon::prelude::*;

/// Examples that go through a network at once.
const CHUNK: usize = 96;
/// Examples of one task: enough that packing and scheduling do not show.
const TASK: usize = 24 * CHUNK;
/// Rows of a model with a single layer that share one product: 32 rows of 10 outputs fill 20 vectors of 16.
const GROUP: usize = 32;

impl Blocked {
    /// Loss and accuracy of every row on `split`, or on its examples `subset`.
    pub(crate) fn evaluate(
        &mut self,
        context: Context<'_>,
        stack: &Stack,
        split: Split<'_>,
        subset: Option<&[u32]>,
    ) -> Vec<Score> {
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
        let labels: Vec<u16> = indices
            .iter()
            .map(|index| examples.labels()[*index as usize])
            .collect();
        let whole_test = matches!(split, Split::Test) && subset.is_none();
        let x = match self.tests.take().filter(|_| whole_test) {
            Some(tests) => tests,
            None => self.normalise(examples, indices),
        };
        let scores = self.judge(context.network, stack, &x, &labels);
        if whole_test {
            self.tests = Some(x);
        }
        scores
    }

    fn normalise(&self, examples: &Examples, indices: &[u32]) -> Vec<f32> {
        let width = examples.width();
        let mut x = vec![0.0; indices.len() * width];
        self.cpu.install(|| {
            x.par_chunks_mut(CHUNK * width)
                .zip(indices.par_chunks(CHUNK))
                .for_each(|(x, indices)| {
                    self.cpu.instructions().vectorize(
                        #[inline(always)]
                        || gather(examples, indices, x),
                    );
                });
        });
        x
    }

    /// Every row on the examples `x` `[M, D]` with `labels` `[M]`.
    fn judge(&self, network: &Network, stack: &Stack, x: &[f32], labels: &[u16]) -> Vec<Score> {
        let width = network.layout().width();
        let models = stack.host().unwrap_or_default();
        let group = if network.layers().len() == 1 {
            GROUP
        } else {
            1
        };
        let parts = labels.len().div_ceil(TASK);
        let groups: Vec<&[f32]> = models.chunks(group * width).collect();
        let outcomes: Vec<Vec<Outcome>> = self.cpu.install(|| {
            (0..groups.len() * parts)
                .into_par_iter()
                .with_max_len(1)
                .map(|task| {
                    let (rows, part) = (groups[task / parts], task % parts);
                    let labels = &labels[part * TASK..labels.len().min((part + 1) * TASK)];
                    let x = &x[part * TASK * network.inputs()..][..labels.len() * network.inputs()];
                    let mut scratch = self.scratches.take();
                    let outcomes = if group > 1 {
                        self.judge_group(network, rows, x, labels, &mut scratch)
                    } else {
                        vec![self.judge_row(network, rows, x, labels, &mut scratch)]
                    };
                    self.scratches.put(scratch);
                    outcomes
                })
                .collect()
        });
        (0..stack.rows())
            .map(|row| {
                let tasks = &outcomes[row / group * parts..][..parts];
                Score::of(
                    tasks.iter().map(|outcomes| outcomes[row % group]),
                    labels.len(),
                )
            })
            .collect()
    }

    /// Rows of a model with one layer, `rows` `[G, P_pad]`, in one product with a column for each of their outputs.
    fn judge_group(
        &self,
        network: &Network,
        rows: &[f32],
        x: &[f32],
        labels: &[u16],
        scratch: &mut Scratch,
    ) -> Vec<Outcome> {
        let (layer, width, outputs) = (
            &network.layers()[0],
            network.layout().width(),
            network.outputs(),
        );
        let count = rows.len() / width;
        let columns = count * outputs;
        let mut panel = vec![0.0; (layer.inputs + 1) * columns];
        for (index, row) in rows.chunks_exact(width).enumerate() {
            let sources = row[layer.weight.clone()]
                .chunks_exact(outputs)
                .chain(layer.bias_of(row));
            for (source, target) in sources.zip(panel.chunks_exact_mut(columns)) {
                target[index * outputs..][..outputs].copy_from_slice(source);
            }
        }
        let (w, bias) = panel.split_at(layer.inputs * columns);
        let results = &mut scratch.transposed;
        results.resize(results.len().max(CHUNK * columns), 0.0);
        let mut outcomes = vec![Outcome::default(); count];
        for (x, labels) in x.chunks(CHUNK * layer.inputs).zip(labels.chunks(CHUNK)) {
            let y = &mut results[..labels.len() * columns];
            self.cpu.instructions().run(Affine {
                x,
                x_stride: layer.inputs,
                w,
                start: Start::Bias(bias),
                y,
                y_stride: columns,
                rows: labels.len(),
                inner: layer.inputs,
                columns,
                relu: false,
            });
            self.cpu.instructions().vectorize(
                #[inline(always)]
                || {
                    for (rows, label) in y.chunks_exact_mut(columns).zip(labels) {
                        let label = std::slice::from_ref(label);
                        for (row, outcome) in rows.chunks_exact_mut(outputs).zip(&mut outcomes) {
                            outcome.add(network.loss().judge(row, label, outputs, None));
                        }
                    }
                },
            );
        }
        outcomes
    }

    /// One row of any model.
    fn judge_row(
        &self,
        network: &Network,
        row: &[f32],
        x: &[f32],
        labels: &[u16],
        scratch: &mut Scratch,
    ) -> Outcome {
        let width = network.outputs();
        let passes = Passes {
            cpu: &self.cpu,
            network,
            share: false,
        };
        let mut outcome = Outcome::default();
        scratch.fit(network, CHUNK.min(labels.len()));
        for (x, labels) in x.chunks(CHUNK * network.inputs()).zip(labels.chunks(CHUNK)) {
            passes.forward(row, x, &mut scratch.outputs, None);
            let outputs = &mut scratch.outputs[network.layers().len() - 1][..labels.len() * width];
            outcome.add(self.cpu.instructions().vectorize(
                #[inline(always)]
                || network.loss().judge(outputs, labels, width, None),
            ));
        }
        outcome
    }

    /// Row `i` on the training shard of client `clients[i]`.
    fn evaluate_shards(&self, context: Context<'_>, stack: &Stack, clients: &[u32]) -> Vec<Score> {
        let width = context.network.layout().width();
        let models = stack.host().unwrap_or_default();
        self.cpu.install(|| {
            models
                .par_chunks_exact(width)
                .zip(clients)
                .map(|(row, client)| {
                    let shard = context.partition.shard(*client as usize);
                    let mut scratch = self.scratches.take();
                    let parts = shard.chunks(CHUNK).map(|part| {
                        let labels: Vec<u16> = part
                            .iter()
                            .map(|index| context.train.labels()[*index as usize])
                            .collect();
                        let mut x = vec![0.0; part.len() * context.network.inputs()];
                        gather(context.train, part, &mut x);
                        self.judge_row(context.network, row, &x, &labels, &mut scratch)
                    });
                    let score = Score::of(parts, shard.len());
                    self.scratches.put(scratch);
                    score
                })
                .collect()
        })
    }
}
