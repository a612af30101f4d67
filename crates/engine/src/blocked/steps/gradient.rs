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
use crate::training::activations::Activations;
use crate::training::row_examples::RowSlopes;
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
    /// Those of the loss of the whole batch.
    pub(crate) slopes: RowSlopes<'a>,
    /// The examples are there, and what the first layer makes of them.
    pub(crate) begun: bool,
}

impl BatchPiece<'_> {
    /// What `numbers` have of its examples, `each` numbers for one.
    pub(super) fn own<'n>(&self, numbers: &'n [f32], each: usize) -> &'n [f32] {
        &numbers[self.part.start * each..self.part.end * each]
    }
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
        self.read(scratch, piece);
        let outputs = self.pass(weights, scratch, piece);
        let last = scratch.stages.len() - 1;
        let outputs = &mut scratch.stages[last].outputs[..outputs];
        self.judge(outputs, &scratch.labels, piece)
    }

    /// The outputs of a piece whose examples are read, at the beginning of those of the last stage, `[T, B, C]`. Returns how many
    /// numbers they are.
    fn pass(&self, weights: &[f32], scratch: &mut Scratch, piece: &BatchPiece<'_>) -> usize {
        let network = self.passes.network;
        let batch = piece.part.len();
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
        batch * network.positions() * network.outputs()
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

    /// Turns the outputs of a piece into the gradient of the mean loss of its batch, or into the slopes that the piece has in its place.
    /// Returns the sum of the losses of the examples, each the mean over its judged positions.
    pub(crate) fn judge(&self, outputs: &mut [f32], labels: &[u16], piece: &BatchPiece<'_>) -> f64 {
        let Passes { cpu, network, .. } = self.passes;
        let (width, positions) = (network.outputs(), network.positions());
        let scale = 1.0 / (piece.count * positions) as f32;
        let scale = piece.slopes.outputs.is_none().then_some(scale);
        let outcome = cpu.instructions().vectorize(
            #[inline(always)]
            || network.loss().judge(outputs, labels, width, scale),
        );
        if let Some(slopes) = piece.slopes.outputs {
            let slopes = piece.own(slopes, positions * width);
            by_position(slopes, [piece.part.len(), positions, width], outputs);
        }
        outcome.loss / positions as f64
    }

    /// What is computed of all of `scratch.indices`, `[B, T, ...]`.
    ///
    /// # Errors
    /// Those of a model of the user's own; [`EngineError::Setting`] if the network has no representations.
    pub(crate) fn activations(
        &self,
        of: Activations,
        weights: &[f32],
        scratch: &mut Scratch,
        dropout: Option<&Dropout>,
    ) -> Result<Vec<f32>, EngineError> {
        let network = self.passes.network;
        let (count, positions, width) = (
            scratch.indices.len(),
            network.positions(),
            of.of_position(network)?,
        );
        let mut all = vec![0.0; count * positions * width];
        for part in self.passes.stages.pieces(count) {
            let to = &mut all[part.start * positions * width..part.end * positions * width];
            let batch = part.len();
            let piece = BatchPiece {
                part,
                count,
                dropout,
                slopes: RowSlopes::default(),
                begun: false,
            };
            self.read(scratch, &piece);
            if let Some(own) = network.own_model() {
                let x = &scratch.input.x[..batch * network.inputs()];
                to.copy_from_slice(&own.outputs(weights, x, batch)?);
                continue;
            }
            let found = self.pass(weights, scratch, &piece);
            let last = scratch.stages.len() - 1;
            match of {
                Activations::Outputs => {
                    let found = &scratch.stages[last].outputs[..found];
                    by_position(found, [positions, batch, width], to);
                }
                Activations::Representations => {
                    let places = self.passes.representations(batch);
                    for (place, to) in places.zip(to.chunks_exact_mut(width)) {
                        to.copy_from_slice(&scratch.stages[last - 1].outputs[place]);
                    }
                }
            }
        }
        Ok(all)
    }

    /// The gradient over all of `scratch.indices` into `scratch.gradient`: of the mean of the network's loss, or that which `slopes` say.
    /// Returns the sum of the network's losses.
    ///
    /// # Errors
    /// Those of a model of the user's own.
    pub(crate) fn accumulate(
        &self,
        weights: &[f32],
        scratch: &mut Scratch,
        dropout: Option<&Dropout>,
        slopes: RowSlopes<'_>,
    ) -> Result<f64, EngineError> {
        let count = scratch.indices.len();
        let mut gradient = std::mem::take(&mut scratch.gradient);
        gradient.resize(weights.len(), 0.0);
        let mut loss = 0.0;
        for part in self.passes.stages.pieces(count) {
            let add = part.start > 0;
            let piece = BatchPiece {
                part,
                count,
                dropout,
                slopes,
                begun: false,
            };
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
            self.passes.backward(scratch, &piece, &mut sink, false);
        }
        scratch.gradient = gradient;
        Ok(loss)
    }
}

/// Copies `from` `[A, B, C]` to `to` `[B, A, C]`.
fn by_position(from: &[f32], [a, b, c]: [usize; 3], to: &mut [f32]) {
    if a == 1 || b == 1 {
        to.copy_from_slice(from);
        return;
    }
    for (first, from) in from.chunks_exact(b * c).enumerate() {
        for (second, from) in from.chunks_exact(c).enumerate() {
            to[(second * a + first) * c..][..c].copy_from_slice(from);
        }
    }
}
