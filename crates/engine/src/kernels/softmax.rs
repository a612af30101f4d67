//! Softmax with cross-entropy.

use super::exp::exp;

/// What a batch of logits amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Outcome {
    /// Sum of the examples' losses, in nats.
    pub(crate) loss: f64,
    /// Examples whose largest logit is that of their label; the lowest class wins a tie.
    pub(crate) correct: u32,
}

impl Outcome {
    /// Adds the outcome of further examples.
    #[inline(always)]
    pub(crate) fn add(&mut self, other: Self) {
        self.loss += other.loss;
        self.correct += other.correct;
    }
}

/// Judges `logits` `[rows, classes]` against `labels` `[rows]`; with a `scale` the logits become the gradient
/// `(softmax − onehot) · scale`.
#[inline(always)]
pub(crate) fn cross_entropy(
    logits: &mut [f32],
    labels: &[u16],
    classes: usize,
    scale: Option<f32>,
) -> Outcome {
    let mut outcome = Outcome::default();
    for (row, label) in logits.chunks_exact_mut(classes).zip(labels) {
        let label = usize::from(*label);
        let chosen = row[label];
        let mut largest = f32::NEG_INFINITY;
        for value in row.iter() {
            largest = if *value > largest { *value } else { largest };
        }
        let correct = row.iter().position(|value| *value == largest) == Some(label);
        outcome.correct += u32::from(correct);
        for value in row.iter_mut() {
            *value = exp(*value - largest);
        }
        let sum: f32 = row.iter().sum();
        outcome.loss += f64::from(sum.ln() + largest - chosen);
        if let Some(scale) = scale {
            let factor = scale / sum;
            for value in row.iter_mut() {
                *value *= factor;
            }
            row[label] -= scale;
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_the_slope_of_the_loss() {
        let logits = [0.3f32, -1.2, 2.0, 0.1, 0.0, -0.5];
        let labels = [2u16, 0];
        let mut gradient = logits;
        let outcome = cross_entropy(&mut gradient, &labels, 3, Some(1.0));
        for at in 0..logits.len() {
            let loss = |shift: f32| {
                let mut moved = logits;
                moved[at] += shift;
                cross_entropy(&mut moved, &labels, 3, None).loss
            };
            let slope = (loss(1e-2) - loss(-1e-2)) / 2e-2;
            // Central differences of an f32 loss.
            assert!((slope - f64::from(gradient[at])).abs() < 1e-4);
        }
        assert_eq!(outcome.correct, 2);
    }

    #[test]
    fn a_logit_that_is_not_finite_gives_a_loss_that_is_not() {
        let mut logits = [f32::NAN, 0.0];
        assert!(!cross_entropy(&mut logits, &[1], 2, None).loss.is_finite());
        let mut logits = [f32::INFINITY, 0.0];
        assert!(!cross_entropy(&mut logits, &[1], 2, None).loss.is_finite());
    }
}
