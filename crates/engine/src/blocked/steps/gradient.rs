//! The gradient of one row's batch.

use super::forward::Batch;
use crate::blocked::layers::Masks;
use crate::blocked::pass::inputs::Goal;
use crate::blocked::pass::passes::Passes;
use crate::blocked::pass::scratch::Scratch;
use crate::blocked::pass::sink::Sink;
use crate::blocked::pass::target::Target;
use crate::error::EngineError;
use crate::network::dropout::Dropout;
use meshfold_data::Examples;
use std::ops::Range;

/// Gradients of one network on the training examples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gradients<'a> {
    pub(crate) passes: Passes<'a>,
    pub(crate) examples: &'a Examples,
}

/// Some of the examples that `scratch.indices` names.
#[derive(Debug, Clone)]
pub(crate) struct BatchPiece<'a> {
    pub(crate) part: Range<usize>,
    /// Examples of the whole batch, whose mean is taken.
    pub(crate) count: usize,
    pub(crate) dropout: Option<&'a Dropout>,
    /// The examples are there, and what the first layer makes of them.
    pub(crate) begun: bool,
}

impl Gradients<'_> {
    /// Forward pass and loss of a piece; leaves the gradient of the batch's mean loss by the outputs. Returns the sum
    /// of the examples' losses, each the mean over its judged positions.
    pub(crate) fn forward(
        &self,
        weights: &[f32],
        scratch: &mut Scratch,
        piece: &BatchPiece<'_>,
    ) -> f64 {
        let network = self.passes.network;
        let batch = piece.part.len();
        self.read(scratch, piece);
        let masks = piece.dropout.map(|dropout| Masks {
            dropout,
            first: piece.part.start,
        });
        let examples = Batch {
            input: self.passes.examples_entry(&scratch.input),
            count: batch,
            masks,
            begun: piece.begun,
        };
        let (memory, buffers) = (&mut scratch.stages, &mut scratch.buffers);
        let pairs = &mut scratch.weight_pairs;
        let weights = self.passes.row_weights(weights, pairs, piece.begun);
        self.passes.forward(weights, &examples, memory, buffers);
        let (width, positions) = (network.outputs(), network.positions());
        let last = scratch.stages.len() - 1;
        let outputs = &mut scratch.stages[last].outputs[..batch * positions * width];
        self.judge(outputs, &scratch.labels, piece.count)
    }

    /// Makes room for a piece, and reads its examples and what they are to be.
    pub(crate) fn read(&self, scratch: &mut Scratch, piece: &BatchPiece<'_>) {
        let (network, batch) = (self.passes.network, piece.part.len());
        scratch.fit(network, self.passes.stages, batch, true);
        let indices = &scratch.indices[piece.part.clone()];
        self.passes
            .targets(self.examples, indices, &mut scratch.labels);
        if !piece.begun {
            self.passes
                .gather(self.examples, indices, Goal::Training, &mut scratch.input);
        }
    }

    /// Reads the examples of the next batch.
    pub(crate) fn read_next(&self, scratch: &mut Scratch) {
        let (network, batch) = (self.passes.network, scratch.next.0.len());
        scratch.fit(network, self.passes.stages, batch, true);
        let (indices, input) = &mut scratch.next;
        self.passes
            .gather(self.examples, indices, Goal::Training, input);
    }

    /// Turns outputs into the gradient of the mean loss of a batch of `count` examples. Returns the sum of the losses of
    /// those that the outputs are of, each the mean over its judged positions.
    pub(crate) fn judge(&self, outputs: &mut [f32], labels: &[u16], count: usize) -> f64 {
        let Passes { cpu, network, .. } = self.passes;
        let (width, positions) = (network.outputs(), network.positions());
        let scale = 1.0 / (count * positions) as f32;
        let outcome = cpu.instructions().vectorize(
            #[inline(always)]
            || network.loss().judge(outputs, labels, width, Some(scale)),
        );
        outcome.loss / positions as f64
    }

    /// The mean gradient over all of `scratch.indices` into `scratch.gradient`; returns the sum of the losses.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn accumulate(
        &self,
        weights: &[f32],
        scratch: &mut Scratch,
        dropout: Option<&Dropout>,
    ) -> Result<f64, EngineError> {
        let count = scratch.indices.len();
        let mut gradient = std::mem::take(&mut scratch.gradient);
        gradient.resize(weights.len(), 0.0);
        let mut loss = 0.0;
        let most = self.passes.stages.piece;
        for first in (0..count).step_by(most) {
            let piece = BatchPiece {
                part: first..(first + most).min(count),
                count,
                dropout,
                begun: false,
            };
            let add = first > 0;
            if let Some(own) = self.passes.network.own_model() {
                let target = Target {
                    gradient: &mut gradient,
                    add,
                };
                loss += self.of_own(own, weights, scratch, &piece, target)?;
                continue;
            }
            loss += self.forward(weights, scratch, &piece);
            let mut sink = Sink::Gradient {
                weights,
                gradient: &mut gradient,
                add,
            };
            self.passes
                .backward(scratch, piece.part.len(), &mut sink, dropout, false);
        }
        scratch.gradient = gradient;
        Ok(loss)
    }
}
