//! One sigmoid output with cross-entropy.

use super::exp::exp;
use super::softmax::BatchScore;

/// Judges `logits` `[rows]`, those of class 1 against class 0, against `labels` `[rows]`; with a `scale` the logits
/// become the gradient `(σ(z) − label) · scale`.
///
/// The class is 1 if the logit is above zero; a tie goes to class 0, as the lowest class wins elsewhere.
#[inline(always)]
pub(crate) fn sigmoid_cross_entropy(
    logits: &mut [f32],
    labels: &[u16],
    scale: Option<f32>,
) -> BatchScore {
    let mut outcome = BatchScore::default();
    for (logit, label) in logits.iter_mut().zip(labels) {
        let (z, positive) = (*logit, *label == 1);
        let largest = if z > 0.0 { z } else { 0.0 };
        let (first, second) = (exp(-largest), exp(z - largest));
        let sum = first + second;
        let chosen = if positive { z } else { 0.0 };
        outcome.loss += f64::from(sum.ln() + largest - chosen);
        outcome.correct += u32::from((z > 0.0) == positive);
        if let Some(scale) = scale {
            let target = if positive { 1.0 } else { 0.0 };
            *logit = (second / sum - target) * scale;
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::cross_entropy;

    #[test]
    fn it_is_the_softmax_of_zero_and_the_logit() {
        for z in [-90.0f32, -3.5, -0.1, 0.0, 0.2, 4.0, 95.0] {
            for label in [0u16, 1] {
                let (mut one, mut two) = ([z], [0.0, z]);
                let found = sigmoid_cross_entropy(&mut one, &[label], Some(0.5));
                let oracle = cross_entropy(&mut two, &[label], 2, Some(0.5));
                assert_eq!(found, oracle, "{z} {label}");
                // One subtraction in another order: an f32 rounding of numbers below one.
                assert!((one[0] - two[1]).abs() < 1e-7, "{z} {label}");
            }
        }
    }

    #[test]
    fn a_logit_that_is_not_finite_gives_a_loss_that_is_not() {
        for z in [f32::NAN, f32::INFINITY] {
            assert!(!sigmoid_cross_entropy(&mut [z], &[0], None).loss.is_finite());
        }
    }
}
