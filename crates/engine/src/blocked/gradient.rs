//! The gradient of one row's batch.

use super::forward::Masks;
use super::passes::Passes;
use super::scratch::Scratch;
use super::sink::Sink;
use crate::dropout::Dropout;
use meshfold_data::Examples;
use std::ops::Range;

/// Gradients of one network on the training examples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gradients<'a> {
    pub(super) passes: Passes<'a>,
    pub(super) examples: &'a Examples,
}

/// Some of the examples that `scratch.indices` names.
#[derive(Debug, Clone)]
pub(super) struct Piece<'a> {
    pub(super) part: Range<usize>,
    /// Examples of the whole batch, whose mean is taken.
    pub(super) count: usize,
    pub(super) dropout: Option<&'a Dropout>,
}

impl Gradients<'_> {
    /// Forward pass and loss of a piece; leaves the gradient of the batch's mean loss by the outputs. Returns the sum
    /// of the examples' losses, each the mean over its judged positions.
    pub(super) fn forward(&self, weights: &[f32], scratch: &mut Scratch, piece: &Piece<'_>) -> f64 {
        let Passes { cpu, network, .. } = self.passes;
        let batch = piece.part.len();
        scratch.fit(network, self.passes.stages, batch, true);
        let indices = &scratch.indices[piece.part.clone()];
        self.passes
            .targets(self.examples, indices, &mut scratch.labels);
        let x = &mut scratch.input[..batch * network.inputs()];
        self.passes.gather(self.examples, indices, x);
        let masks = piece.dropout.map(|dropout| Masks {
            dropout,
            first: piece.part.start,
        });
        let memory = (&mut scratch.stages[..], &mut scratch.buffers);
        self.passes.forward(weights, x, memory, masks);
        let (width, positions) = (network.outputs(), network.positions());
        let last = scratch.stages.len() - 1;
        let outputs = &mut scratch.stages[last].outputs[..batch * positions * width];
        let judged = (piece.count * positions) as f32;
        let (labels, scale) = (&scratch.labels, 1.0 / judged);
        let outcome = cpu.instructions().vectorize(
            #[inline(always)]
            || network.loss().judge(outputs, labels, width, Some(scale)),
        );
        outcome.loss / positions as f64
    }

    /// The mean gradient over all of `scratch.indices` into `scratch.gradient`; returns the sum of the losses.
    pub(super) fn accumulate(
        &self,
        weights: &[f32],
        scratch: &mut Scratch,
        dropout: Option<&Dropout>,
    ) -> f64 {
        let count = scratch.indices.len();
        let mut gradient = std::mem::take(&mut scratch.gradient);
        gradient.resize(weights.len(), 0.0);
        let mut loss = 0.0;
        let most = self.passes.stages.piece;
        for first in (0..count).step_by(most) {
            let piece = Piece {
                part: first..(first + most).min(count),
                count,
                dropout,
            };
            loss += self.forward(weights, scratch, &piece);
            let mut sink = Sink::Gradient {
                weights,
                gradient: &mut gradient,
                add: first > 0,
            };
            self.passes
                .backward(scratch, piece.part.len(), &mut sink, dropout);
        }
        scratch.gradient = gradient;
        loss
    }
}
