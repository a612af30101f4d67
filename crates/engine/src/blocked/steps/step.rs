//! The local steps of one row.

use super::gradient::{BatchPiece, Gradients};
use super::terms::{AnchorTerm, GradientTerms};
use crate::blocked::pass::scratch::Scratch;
use crate::blocked::pass::sink::Sink;
use crate::error::EngineError;
use crate::kernels::{HeavyBallUpdate, MomentumKind, norm};
use crate::network::dropout::Dropout;
use crate::training::batches::Batches;
use crate::training::row_examples::RowSlopes;
use crate::training::tally::LossSum;
use crate::training::trained_layers::TrainedLayers;
use crate::training::work::Sgd;
use std::slice;

/// What the rows of one call have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowTrainer<'a> {
    pub(crate) gradients: Gradients<'a>,
    pub(crate) sgd: &'a Sgd,
    /// The layers that move; all if absent.
    pub(crate) layers: Option<&'a TrainedLayers>,
}

/// A step on given examples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepOn<'a> {
    pub(crate) terms: GradientTerms<'a>,
    pub(crate) rate: f32,
    pub(crate) dropout: Option<&'a Dropout>,
    pub(crate) slopes: RowSlopes<'a>,
}

/// One step of a row.
struct RowStep<'a> {
    weights: &'a mut [f32],
    velocity: &'a mut [f32],
    terms: GradientTerms<'a>,
    rate: f32,
    /// Whether the velocity begins at zero.
    fresh: bool,
    dropout: Option<&'a Dropout>,
    slopes: RowSlopes<'a>,
    /// Whether the examples are read, and what the first layer makes of them is there.
    begun: bool,
}

impl RowTrainer<'_> {
    /// Takes all steps that `batches` holds; returns the losses seen.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn train(
        &self,
        weights: &mut [f32],
        kept: Option<&mut [f32]>,
        terms: GradientTerms<'_>,
        batches: &mut Batches<'_>,
        scratch: &mut Scratch,
    ) -> Result<LossSum, EngineError> {
        let (mut losses, mut fresh) = (LossSum::default(), kept.is_none());
        let mut own = std::mem::take(&mut scratch.velocity);
        let velocity = self.velocity(weights.len(), kept, &mut own);
        let (mut next, mut begun) = (batches.next(&mut scratch.indices), false);
        while let Some(plan) = next {
            let count = scratch.indices.len();
            next = batches.next(&mut scratch.next.0);
            let dropout = plan.dropout(self.gradients.passes.network);
            let step = RowStep {
                weights,
                velocity,
                terms,
                rate: plan.rate,
                fresh,
                dropout: dropout.as_ref(),
                slopes: RowSlopes::default(),
                begun,
            };
            let loss;
            (loss, begun) = self.step(step, scratch, next.is_some())?;
            fresh = false;
            losses.add(loss / count as f64, count);
            std::mem::swap(&mut scratch.indices, &mut scratch.next.0);
            if begun {
                std::mem::swap(&mut scratch.input, &mut scratch.next.1);
            }
        }
        scratch.velocity = own;
        Ok(losses)
    }

    /// Takes one step on `scratch.indices`; returns the losses seen.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn step_on(
        &self,
        weights: &mut [f32],
        kept: Option<&mut [f32]>,
        on: StepOn<'_>,
        scratch: &mut Scratch,
    ) -> Result<LossSum, EngineError> {
        let (mut losses, fresh) = (LossSum::default(), kept.is_none());
        let mut own = std::mem::take(&mut scratch.velocity);
        let count = scratch.indices.len();
        let step = RowStep {
            velocity: self.velocity(weights.len(), kept, &mut own),
            weights,
            terms: on.terms,
            rate: on.rate,
            fresh,
            dropout: on.dropout,
            slopes: on.slopes,
            begun: false,
        };
        let (loss, _) = self.step(step, scratch, false)?;
        losses.add(loss / count as f64, count);
        scratch.velocity = own;
        Ok(losses)
    }

    /// The velocity of a row of `width` floats: `kept`, or one in `own`; none without momentum.
    fn velocity<'b>(
        &self,
        width: usize,
        kept: Option<&'b mut [f32]>,
        own: &'b mut Vec<f32>,
    ) -> &'b mut [f32] {
        match kept {
            Some(kept) => kept,
            None if self.sgd.momentum == 0.0 => &mut [],
            None => {
                own.resize(width, 0.0);
                own
            }
        }
    }

    /// Takes a step on `scratch.indices`. If there `is_next` a batch, may begin it. Returns the sum of the losses, and whether it has.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    #[inline]
    fn step(
        &self,
        step: RowStep<'_>,
        scratch: &mut Scratch,
        is_next: bool,
    ) -> Result<(f64, bool), EngineError> {
        let RowStep {
            weights,
            velocity,
            terms,
            rate,
            fresh,
            dropout,
            slopes,
            begun,
        } = step;
        let passes = &self.gradients.passes;
        let (count, adds) = (
            scratch.indices.len(),
            terms.correction.is_some() || terms.anchor.is_some(),
        );
        let (momentum, decay) = (self.sgd.momentum, self.sgd.weight_decay);
        let kind = MomentumKind::new(fresh, self.sgd.nesterov);
        let needs_whole = passes
            .network
            .needs_whole_gradient(self.sgd.clip_norm, adds);
        if self.layers.is_some() || needs_whole || count > passes.stages.piece {
            let loss = self
                .gradients
                .accumulate(weights, scratch, dropout, slopes)?;
            self.freeze(&mut scratch.gradient);
            let step = HeavyBallUpdate {
                weights,
                velocity,
                rate,
                momentum,
                decay,
                kind,
            };
            self.apply(step, terms, &scratch.gradient);
            return Ok((loss, false));
        }
        let whole = BatchPiece {
            part: 0..count,
            count,
            dropout,
            slopes,
            begun,
        };
        let begins = is_next && self.begins_ahead(scratch);
        let loss = self.gradients.forward(weights, scratch, &whole);
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
                kind,
            }
        };
        passes.backward(scratch, &whole, &mut sink, begins);
        Ok((loss, begins))
    }

    /// Reads the examples of the next batch if its first product is to be taken behind this step's update.
    fn begins_ahead(&self, scratch: &mut Scratch) -> bool {
        let passes = &self.gradients.passes;
        let fits = scratch.next.0.len() <= passes.stages.piece && passes.steps_ahead();
        if fits {
            self.gradients.read_next(scratch);
        }
        fits
    }

    /// Leaves the mean gradient of the next batch, clipped, in `scratch.gradient`.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn gradient(
        &self,
        weights: &[f32],
        batches: &mut Batches<'_>,
        scratch: &mut Scratch,
    ) -> Result<LossSum, EngineError> {
        let mut losses = LossSum::default();
        if let Some(plan) = batches.next(&mut scratch.indices) {
            let count = scratch.indices.len();
            let dropout = plan.dropout(self.gradients.passes.network);
            let loss = self.gradients.accumulate(
                weights,
                scratch,
                dropout.as_ref(),
                RowSlopes::default(),
            )?;
            self.clip(&mut scratch.gradient);
            losses.add(loss / count as f64, count);
        }
        Ok(losses)
    }

    /// Brings the norm of a gradient down to `clip_norm`.
    pub(crate) fn clip(&self, gradient: &mut [f32]) {
        let scale = self.clip_scale(gradient);
        if scale < 1.0 {
            gradient.iter_mut().for_each(|g| *g *= scale);
        }
    }

    /// What a gradient is multiplied by for that.
    fn clip_scale(&self, gradient: &[f32]) -> f32 {
        let Some(largest) = self.sgd.clip_norm else {
            return 1.0;
        };
        let instructions = self.gradients.passes.cpu.instructions();
        let norm = instructions.vectorize(
            #[inline(always)]
            || norm(gradient),
        );
        if norm > largest { largest / norm } else { 1.0 }
    }

    /// Sets the gradient of layers that do not move to zero.
    pub(crate) fn freeze(&self, gradient: &mut [f32]) {
        let frozen = self.layers.map_or(&[][..], TrainedLayers::frozen);
        for range in frozen {
            gradient[range.clone()].fill(0.0);
        }
    }

    /// Clip, weight decay, correction, anchor, momentum, step: one pass over the row, block after block.
    /// Without momentum there is no velocity. Layers that do not move are left out; their gradient is [zero](Self::freeze).
    pub(crate) fn apply(
        &self,
        step: HeavyBallUpdate<'_>,
        terms: GradientTerms<'_>,
        gradient: &[f32],
    ) {
        let scale = self.clip_scale(gradient);
        let whole = 0..gradient.len();
        let moving = self
            .layers
            .map_or(slice::from_ref(&whole), TrainedLayers::trained);
        let HeavyBallUpdate {
            weights,
            velocity,
            rate,
            momentum,
            decay,
            kind,
        } = step;
        self.gradients.passes.cpu.instructions().vectorize(
            #[inline(always)]
            || {
                let mut moves = [0.0; BLOCK];
                let blocks = moving.iter().flat_map(|layer| {
                    let firsts = layer.clone().step_by(BLOCK);
                    firsts.map(|first| first..layer.end.min(first + BLOCK))
                });
                for range in blocks {
                    let (w, g) = (&mut weights[range.clone()], &mut moves[..range.len()]);
                    let gradient = &gradient[range.clone()];
                    for ((g, gradient), w) in g.iter_mut().zip(gradient).zip(&*w) {
                        *g = scale * gradient + decay * w;
                    }
                    if let Some(correction) = terms.correction {
                        let correction = &correction[range.clone()];
                        g.iter_mut().zip(correction).for_each(|(g, c)| *g += c);
                    }
                    if let Some(AnchorTerm { row: anchor, mu }) = terms.anchor {
                        let anchor = &anchor[range.clone()];
                        for ((g, anchor), w) in g.iter_mut().zip(anchor).zip(&*w) {
                            *g += mu * (w - anchor);
                        }
                    }
                    if momentum != 0.0 {
                        add_momentum(g, &mut velocity[range.clone()], momentum, kind);
                    }
                    w.iter_mut().zip(&*g).for_each(|(w, g)| *w -= rate * g);
                }
            },
        );
    }
}

/// Moves the velocity by the gradient `g`, and turns `g` into what the weights go along: the velocity, or Nesterov's `g + momentum · v`.
#[inline(always)]
fn add_momentum(g: &mut [f32], velocity: &mut [f32], momentum: f32, kind: MomentumKind) {
    if !kind.is_nesterov() {
        if !kind.is_fresh() {
            for (g, v) in g.iter_mut().zip(&*velocity) {
                *g += momentum * v;
            }
        }
        velocity.copy_from_slice(g);
        return;
    }
    if kind.is_fresh() {
        velocity.copy_from_slice(g);
    } else {
        for (v, g) in velocity.iter_mut().zip(&*g) {
            *v = momentum * *v + g;
        }
    }
    for (g, v) in g.iter_mut().zip(&*velocity) {
        *g += momentum * v;
    }
}

/// Floats that a step goes through at once: what it adds up stays in the first-level cache.
const BLOCK: usize = 1024;
