//! Half the squared distance from a target.

use super::softmax::{BatchScore, first_largest};
use crate::network::model::Targets;

/// Judges `outputs` `[rows, width]` against `labels` `[rows]` by `½ ‖output − target‖²`; with a `scale` the outputs
/// become the gradient `(output − target) · scale`.
///
/// An example is right if its largest output is that of its label (the lowest class wins a tie), or if the one output
/// is nearer than one half to the label.
#[inline(always)]
pub(crate) fn squared_error(
    outputs: &mut [f32],
    labels: &[u16],
    width: usize,
    targets: Targets,
    scale: Option<f32>,
) -> BatchScore {
    let mut outcome = BatchScore::default();
    for (row, label) in outputs.chunks_exact_mut(width).zip(labels) {
        let correct = match targets {
            Targets::OneHot => {
                let label = usize::from(*label);
                let correct = first_largest(row).1 == Some(label);
                row[label] -= 1.0;
                correct
            }
            Targets::Value => {
                row[0] -= f32::from(*label);
                row[0].abs() < 0.5
            }
        };
        let mut sum = 0.0;
        for value in row.iter_mut() {
            sum += *value * *value;
            if let Some(scale) = scale {
                *value *= scale;
            }
        }
        outcome.loss += 0.5 * f64::from(sum);
        outcome.correct += u32::from(correct);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_hot_targets_are_judged_by_the_formula() {
        let mut outputs = [0.5f32, 0.25, -1.0, 0.0, 2.0, 2.0];
        let outcome = squared_error(&mut outputs, &[0, 2], 3, Targets::OneHot, Some(0.5));
        let first = 0.5 * (0.25 + 0.0625 + 1.0);
        let second = 0.5 * (0.0 + 4.0 + 1.0);
        assert!((outcome.loss - (first + second)).abs() < 1e-7);
        // The second example's largest output is that of class 1, which comes before class 2.
        assert_eq!(outcome.correct, 1);
        assert_eq!(outputs, [-0.25, 0.125, -0.5, 0.0, 1.0, 0.5]);
    }

    #[test]
    fn values_are_right_within_one_half_of_the_label() {
        let mut outputs = [3.25f32, 2.5, 3.49];
        let outcome = squared_error(&mut outputs, &[3, 3, 3], 1, Targets::Value, None);
        assert_eq!(outcome.correct, 2);
        assert!((outcome.loss - 0.5 * (0.0625 + 0.25 + 0.2401)).abs() < 1e-6);
    }

    #[test]
    fn an_output_that_is_not_finite_gives_a_loss_that_is_not() {
        for targets in [Targets::OneHot, Targets::Value] {
            let outcome = squared_error(&mut [f32::NAN], &[0], 1, targets, None);
            assert!(!outcome.loss.is_finite() && outcome.correct == 0);
        }
    }
}
