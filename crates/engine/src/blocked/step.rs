//! The local steps of one row.

use super::backward::{Sink, backward};
use super::forward::forward;
use super::gather;
use super::scratch::Scratch;
use crate::batches::Batches;
use crate::device::Cpu;
use crate::kernels::cross_entropy;
use crate::learner::LossSum;
use crate::model::Network;
use crate::work::Sgd;
use meshfold_data::Examples;

/// Larger batches are cut into pieces of so many examples, their gradients added in order.
const PIECE: usize = 512;

/// Terms added to a row's gradients.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extras<'a> {
    pub(super) correction: Option<&'a [f32]>,
    pub(super) anchor: Option<(&'a [f32], f32)>,
}

/// What the rows of one call have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trainer<'a> {
    pub(super) cpu: &'a Cpu,
    pub(super) network: &'a Network,
    pub(super) examples: &'a Examples,
    pub(super) sgd: &'a Sgd,
    /// Threads share the products of a row.
    pub(super) share_rows: bool,
}

impl Trainer<'_> {
    /// Takes all steps that `batches` holds; returns the losses seen.
    pub(super) fn train(
        &self,
        weights: &mut [f32],
        kept: Option<&mut [f32]>,
        extras: Extras<'_>,
        batches: &mut Batches<'_>,
        scratch: &mut Scratch,
    ) -> LossSum {
        let (mut losses, mut fresh) = (LossSum::default(), kept.is_none());
        let mut own = std::mem::take(&mut scratch.velocity);
        let velocity = match kept {
            Some(kept) => kept,
            None => {
                own.resize(weights.len(), 0.0);
                &mut own[..]
            }
        };
        let fused =
            self.sgd.clip_norm.is_none() && extras.correction.is_none() && extras.anchor.is_none();
        while let Some(plan) = batches.next(&mut scratch.indices) {
            let count = scratch.indices.len();
            let (rate, momentum, decay) = (plan.rate, self.sgd.momentum, self.sgd.weight_decay);
            let loss = if fused && count <= PIECE {
                let loss = self.forward(weights, scratch, 0..count, count);
                let mut sink = if momentum == 0.0 {
                    Sink::Plain {
                        weights,
                        rate,
                        decay,
                    }
                } else {
                    Sink::HeavyBall {
                        weights,
                        velocity,
                        rate,
                        momentum,
                        decay,
                        fresh,
                    }
                };
                backward(
                    self.cpu,
                    self.network,
                    scratch,
                    count,
                    &mut sink,
                    self.share_rows,
                );
                loss
            } else {
                let loss = self.accumulate(weights, scratch);
                self.apply(weights, velocity, extras, scratch, (rate, fresh));
                loss
            };
            fresh = false;
            losses.add(loss / count as f64, count);
        }
        scratch.velocity = own;
        losses
    }

    /// Leaves the mean gradient of the next batch, clipped, in `scratch.gradient`.
    pub(super) fn gradient(
        &self,
        weights: &[f32],
        batches: &mut Batches<'_>,
        scratch: &mut Scratch,
    ) -> LossSum {
        let mut losses = LossSum::default();
        if batches.next(&mut scratch.indices).is_some() {
            let count = scratch.indices.len();
            let loss = self.accumulate(weights, scratch);
            let scale = self.clip_scale(&scratch.gradient);
            if scale < 1.0 {
                scratch.gradient.iter_mut().for_each(|g| *g *= scale);
            }
            losses.add(loss / count as f64, count);
        }
        losses
    }

    /// Forward pass and loss of `part` of the batch; leaves the gradient by the logits, of a mean over `count`.
    fn forward(
        &self,
        weights: &[f32],
        scratch: &mut Scratch,
        part: std::ops::Range<usize>,
        count: usize,
    ) -> f64 {
        let (cpu, network, batch) = (self.cpu, self.network, part.len());
        scratch.fit(network, batch);
        let indices = &scratch.indices[part];
        let labels = self.examples.labels();
        scratch.labels.clear();
        scratch
            .labels
            .extend(indices.iter().map(|index| labels[*index as usize]));
        let x = &mut scratch.input[..batch * network.inputs()];
        cpu.instructions().vectorize(
            #[inline(always)]
            || gather(self.examples, indices, x),
        );
        forward(
            cpu,
            network,
            weights,
            x,
            &mut scratch.outputs,
            self.share_rows,
        );
        let classes = network.classes();
        let logits = &mut scratch.outputs[network.layers().len() - 1][..batch * classes];
        let labels = &scratch.labels;
        let outcome = cpu.instructions().vectorize(
            #[inline(always)]
            || cross_entropy(logits, labels, classes, Some(1.0 / count as f32)),
        );
        outcome.loss
    }

    /// The mean gradient over the whole batch into `scratch.gradient`; returns the sum of the losses.
    fn accumulate(&self, weights: &[f32], scratch: &mut Scratch) -> f64 {
        let count = scratch.indices.len();
        let mut gradient = std::mem::take(&mut scratch.gradient);
        gradient.resize(weights.len(), 0.0);
        let mut loss = 0.0;
        for first in (0..count).step_by(PIECE) {
            let part = first..(first + PIECE).min(count);
            loss += self.forward(weights, scratch, part.clone(), count);
            let mut sink = Sink::Gradient {
                weights,
                gradient: &mut gradient,
                add: first > 0,
            };
            backward(
                self.cpu,
                self.network,
                scratch,
                part.len(),
                &mut sink,
                self.share_rows,
            );
        }
        scratch.gradient = gradient;
        loss
    }

    /// What a gradient is multiplied by to bring its norm down to `clip_norm`.
    fn clip_scale(&self, gradient: &[f32]) -> f32 {
        let Some(largest) = self.sgd.clip_norm else {
            return 1.0;
        };
        let norm = gradient
            .iter()
            .map(|g| f64::from(*g) * f64::from(*g))
            .sum::<f64>()
            .sqrt() as f32;
        if norm > largest { largest / norm } else { 1.0 }
    }

    /// Clip, weight decay, correction, anchor, momentum, step: one pass over the row.
    fn apply(
        &self,
        weights: &mut [f32],
        velocity: &mut [f32],
        extras: Extras<'_>,
        scratch: &Scratch,
        (rate, fresh): (f32, bool),
    ) {
        let scale = self.clip_scale(&scratch.gradient);
        let (decay, momentum) = (
            self.sgd.weight_decay,
            if fresh { 0.0 } else { self.sgd.momentum },
        );
        self.cpu.instructions().vectorize(
            #[inline(always)]
            || {
                for at in 0..weights.len() {
                    let w = weights[at];
                    let mut g = scale * scratch.gradient[at] + decay * w;
                    if let Some(correction) = extras.correction {
                        g += correction[at];
                    }
                    if let Some((anchor, mu)) = extras.anchor {
                        g += mu * (w - anchor[at]);
                    }
                    if momentum != 0.0 {
                        g += momentum * velocity[at];
                    }
                    velocity[at] = g;
                    weights[at] = w - rate * g;
                }
            },
        );
    }
}
