//! Softmax with cross-entropy.

use super::exp::exp;

/// The summed loss and the hits of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct BatchScore {
    /// Sum of the examples' losses, in nats.
    pub(crate) loss: f64,
    /// Examples whose largest logit is that of their label; the lowest class wins a tie.
    pub(crate) correct: u32,
}

impl BatchScore {
    /// Adds the outcome of further examples.
    #[inline(always)]
    pub(crate) fn add(&mut self, other: Self) {
        self.loss += other.loss;
        self.correct += other.correct;
    }
}

/// The largest number of `row` and its first index; no index if all are NaN.
#[inline(always)]
pub(super) fn first_largest(row: &[f32]) -> (f32, Option<usize>) {
    let mut largest = f32::NEG_INFINITY;
    for value in row {
        largest = if *value > largest { *value } else { largest };
    }
    let first = row.iter().position(|value| *value == largest);
    (largest, first)
}

/// Judges `logits` `[rows, classes]` against `labels` `[rows]`; with a `scale` the logits become the gradient
/// `(softmax − onehot) · scale`.
#[inline(always)]
pub(crate) fn cross_entropy(
    logits: &mut [f32],
    labels: &[u16],
    classes: usize,
    scale: Option<f32>,
) -> BatchScore {
    let mut outcome = BatchScore::default();
    for (row, label) in logits.chunks_exact_mut(classes).zip(labels) {
        let label = usize::from(*label);
        let chosen = row[label];
        let (largest, first) = first_largest(row);
        outcome.correct += u32::from(first == Some(label));
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

/// Most models of [`cross_entropy_of_models`].
pub(crate) const MODELS: usize = 32;

/// As [`cross_entropy`], for the logits `[classes, models]` of several models on one example; adds to `outcomes`
/// `[models]`. The bits are the same, but here the models fill the vectors, which few classes would not.
#[inline(always)]
pub(crate) fn cross_entropy_of_models(logits: &[f32], label: u16, outcomes: &mut [BatchScore]) {
    let (models, label) = (outcomes.len(), usize::from(label));
    let mut largest = [f32::NEG_INFINITY; MODELS];
    let largest = &mut largest[..models];
    for class in logits.chunks_exact(models) {
        for (largest, value) in largest.iter_mut().zip(class) {
            *largest = if *value > *largest { *value } else { *largest };
        }
    }
    let mut best = [u32::MAX; MODELS];
    let mut sums = [0f32; MODELS];
    for (class, logits) in (0u32..).zip(logits.chunks_exact(models)) {
        let places = best.iter_mut().zip(&mut sums).zip(&*largest);
        for (((best, sum), largest), value) in places.zip(logits) {
            let found = if *value == *largest { class } else { u32::MAX };
            *best = found.min(*best);
            *sum += exp(*value - *largest);
        }
    }
    let chosen = &logits[label * models..][..models];
    let judged = best.iter().zip(&sums).zip(&*largest).zip(chosen);
    for ((((best, sum), largest), chosen), outcome) in judged.zip(outcomes) {
        outcome.add(BatchScore {
            loss: f64::from(sum.ln() + largest - chosen),
            correct: u32::from(*best as usize == label),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Instructions;
    use crate::kernels::test_numbers::numbers;

    #[test]
    fn several_models_are_judged_with_the_bits_of_each_alone() {
        for (models, classes) in [(1, 2), (3, 10), (32, 10), (17, 62)] {
            let mut logits = numbers(models * classes, 5);
            // Ties, and numbers that are not finite.
            logits.copy_within(..models, models);
            logits[0] = f32::NAN;
            logits[models * classes - 1] = f32::INFINITY;
            for label in 0..classes as u16 {
                for set in Instructions::every() {
                    let mut outcomes = vec![BatchScore::default(); models];
                    set.vectorize(
                        #[inline(always)]
                        || cross_entropy_of_models(&logits, label, &mut outcomes),
                    );
                    for (model, outcome) in outcomes.iter().enumerate() {
                        let of_model = logits[model..].iter().step_by(models);
                        let mut alone: Vec<f32> = of_model.copied().collect();
                        let expected = set.vectorize(
                            #[inline(always)]
                            || cross_entropy(&mut alone, &[label], classes, None),
                        );
                        assert_eq!(outcome.correct, expected.correct, "{models} {classes}");
                        let same = outcome.loss == expected.loss
                            || (outcome.loss.is_nan() && expected.loss.is_nan());
                        assert!(same, "{} {}", outcome.loss, expected.loss);
                    }
                }
            }
        }
    }

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
