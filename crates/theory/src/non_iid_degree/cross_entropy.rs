//! The cross-entropy of softmax regression with weight decay, and its gradient.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::inputs::{Chosen, Coordinates, Inputs};
use super::lanes::{LANES, dot};
use super::minimum::{Minimum, StronglyConvex, minimum};
use super::tile::{TILE, Tile};
use super::{Features, Labelled};

/// Examples whose losses and gradients are added up one after another: threads take such blocks.
const BLOCK: usize = 512;

/// `Σ_k w_k CE(softmax(W x_k), y_k) + λ/2 ‖W‖²`, a constant feature standing for the biases.
///
/// A model `W` is `[C][d]`, class by class, every class padded to whole [`LANES`] with zeros.
#[derive(Debug)]
pub(super) struct CrossEntropy<'a, I> {
    /// `x`, `[n][d]`.
    pub(super) inputs: I,
    /// `y`, `[n]`.
    pub(super) labels: Vec<u16>,
    /// `w`, `[n]`.
    pub(super) weights: Vec<f64>,
    /// Classes, `C`.
    pub(super) classes: usize,
    /// Weight decay, `λ`.
    pub(super) decay: f64,
    /// Becomes true when nobody waits for the least loss any more.
    pub(super) stop: &'a AtomicBool,
}

impl<'a, F: Features> CrossEntropy<'a, Chosen<'a, F>> {
    /// The loss on these examples of `train`, with the `weights`, `[n]`.
    pub(super) fn of(
        train: &Labelled<'a, F>,
        examples: &[u32],
        weights: Vec<f64>,
        decay: f64,
        stop: &'a AtomicBool,
    ) -> Self {
        let label = |example: &u32| train.labels[*example as usize];
        Self {
            inputs: Chosen::new(train.features, examples.to_vec()),
            labels: examples.iter().map(label).collect(),
            weights,
            classes: train.classes,
            decay,
            stop,
        }
    }
}

impl<I: Inputs> CrossEntropy<'_, I> {
    /// The least loss, found to within `tolerance`.
    ///
    /// The model is `[C][d]` if there are at least as many examples as features. Otherwise it is in the [`Coordinates`]
    /// of the examples.
    pub(super) fn least(self, tolerance: f64) -> Minimum {
        if self.inputs.count() >= self.inputs.width() {
            return minimum(&self, tolerance);
        }
        let few = CrossEntropy {
            inputs: Coordinates::of(&self.inputs),
            labels: self.labels,
            weights: self.weights,
            classes: self.classes,
            decay: self.decay,
            stop: self.stop,
        };
        minimum(&few, tolerance)
    }

    /// Features of a class, padded to whole lanes.
    pub(super) fn padded(&self) -> usize {
        self.inputs.width().next_multiple_of(LANES)
    }

    /// Cross-entropy and gradient over the block of examples that begins with `first`.
    fn block(&self, first: usize, model: &[f64]) -> (f64, Vec<f64>) {
        let padded = self.padded();
        let (mut loss, mut gradient) = (0.0, vec![0.0; model.len()]);
        let mut tile = Tile::new(padded, self.classes);
        let last = (first + BLOCK).min(self.inputs.count());
        for start in (first..last).step_by(TILE) {
            let examples = start..(start + TILE).min(last);
            for (example, row) in examples.clone().zip(tile.inputs.chunks_exact_mut(padded)) {
                self.inputs.read(example, &mut row[..self.inputs.width()]);
            }
            tile.forward(model);
            tile.outputs[examples.len() * self.classes..].fill(0.0);
            for (example, outputs) in examples.zip(tile.outputs.chunks_exact_mut(self.classes)) {
                let label = usize::from(self.labels[example]);
                loss += judge(outputs, label, self.weights[example]);
            }
            tile.backward(&mut gradient);
        }
        (loss, gradient)
    }
}

impl<I: Inputs> StronglyConvex for CrossEntropy<'_, I> {
    fn parameters(&self) -> usize {
        self.classes * self.padded()
    }

    fn convexity(&self) -> f64 {
        self.decay
    }

    fn is_called_off(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// O(n C d), shared by the threads; the sums of the blocks are added in one order.
    fn at(&self, model: &[f64], gradient: &mut [f64]) -> f64 {
        let blocks: Vec<(f64, Vec<f64>)> = (0..self.inputs.count().div_ceil(BLOCK))
            .into_par_iter()
            .map(|block| self.block(block * BLOCK, model))
            .collect();
        for (gradient, weight) in gradient.iter_mut().zip(model) {
            *gradient = self.decay * weight;
        }
        let mut loss = 0.5 * self.decay * dot(model, model);
        for (block_loss, block_gradient) in blocks {
            loss += block_loss;
            for (gradient, block) in gradient.iter_mut().zip(block_gradient) {
                *gradient += block;
            }
        }
        loss
    }
}

/// The weighted cross-entropy of `logits`, `[C]`. Overwrites them with the gradient with respect to them.
fn judge(logits: &mut [f64], label: usize, weight: f64) -> f64 {
    let most = logits.iter().copied().fold(f64::MIN, f64::max);
    let of_label = logits[label] - most;
    let mut sum = 0.0;
    for logit in logits.iter_mut() {
        *logit = (*logit - most).exp();
        sum += *logit;
    }
    for probability in logits.iter_mut() {
        *probability *= weight / sum;
    }
    logits[label] -= weight;
    weight * (sum.ln() - of_label)
}
