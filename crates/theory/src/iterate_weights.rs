//! The weighted averages of iterates that the convergence theorems speak about.

use crate::bound_error::{BoundError, finite, not_negative, require};
use serde::{Deserialize, Serialize};

/// The weights of a running average `w̄_k = Σ_{i≤k} s_i w_i / Σ_{i≤k} s_i`, kept as their sum alone.
///
/// The average itself lives where the models are: after each iterate it is moved by
/// `w̄ <- (1 − a_k) w̄ + a_k w_k` with the factor `a_k = s_k / (s_1 + … + s_k)` from [`IterateWeights::mixing_factor`].
///
/// # Source
/// DFedRW (Wang et al.), below (15): `s_k = η^k`. P-FedAvg (Liu et al.), below (10): `s_t = (a + t)²`, see
/// [`PFedavg::iterate_weight`](super::PFedavg::iterate_weight).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct IterateWeights {
    total: f64,
}

impl IterateWeights {
    /// An average of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The factor `a_k` with which the next iterate, of weight `s_k`, enters the average; 1 for the first.
    ///
    /// # Errors
    /// [`BoundError`] if the weight is negative or not finite, if it is zero before any other, or if the sum of the
    /// weights is no longer finite. The sum is then left as it was.
    pub fn mixing_factor(&mut self, weight: f64) -> Result<f64, BoundError> {
        not_negative("the weight of an iterate", weight)?;
        let total = finite("the sum of the weights of iterates", self.total + weight)?;
        require(
            "the sum of the weights of iterates",
            total,
            total > 0.0,
            "must be above 0: the first iterate needs a weight",
        )?;
        self.total = total;
        Ok(weight / total)
    }

    /// `S_k`, the sum of the weights so far.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running_average(weights: &[f64], iterates: &[f64]) -> f64 {
        let mut kept = IterateWeights::new();
        weights
            .iter()
            .zip(iterates)
            .fold(f64::NAN, |average, (&weight, &iterate)| {
                let factor = kept.mixing_factor(weight).unwrap();
                if factor == 1.0 {
                    iterate
                } else {
                    (1.0 - factor) * average + factor * iterate
                }
            })
    }

    #[test]
    fn the_running_average_is_the_weighted_mean() {
        let weights: Vec<f64> = (1..=50).map(|k| 1.0 / f64::from(k).powf(0.6)).collect();
        let iterates: Vec<f64> = (1..=50).map(|k| (f64::from(k) * 0.37).sin()).collect();
        let weighted: f64 = weights.iter().zip(&iterates).map(|(s, w)| s * w).sum();
        let mean = weighted / weights.iter().sum::<f64>();
        assert!((running_average(&weights, &iterates) - mean).abs() < 1e-14);
    }

    #[test]
    fn equal_weights_give_the_plain_mean() {
        assert!((running_average(&[3.0; 4], &[1.0, 2.0, 3.0, 6.0]) - 3.0).abs() < 1e-15);
    }

    #[test]
    fn the_factors_of_squares_have_their_closed_form() {
        // 1 + 4 + ... + k² = k(k+1)(2k+1)/6, so a_k = 6k / ((k+1)(2k+1)).
        let mut kept = IterateWeights::new();
        for k in 1..=100 {
            let k = f64::from(k);
            let factor = kept.mixing_factor(k * k).unwrap();
            assert!((factor - 6.0 * k / ((k + 1.0) * (2.0 * k + 1.0))).abs() < 1e-14);
        }
        assert_eq!(kept.total(), 338_350.0);
    }

    #[test]
    fn a_refused_weight_leaves_the_sum_alone() {
        let mut kept = IterateWeights::new();
        assert_eq!(
            kept.mixing_factor(0.0).unwrap_err().to_string(),
            "the sum of the weights of iterates is 0, but must be above 0: the first iterate needs a weight"
        );
        assert_eq!(kept.mixing_factor(2.0).unwrap(), 1.0);
        for weight in [-1.0, f64::NAN, f64::INFINITY] {
            let said = kept.mixing_factor(weight).unwrap_err().to_string();
            assert!(
                said.starts_with("the weight of an iterate is")
                    && said.ends_with(", but must be finite and at least 0"),
                "{said}"
            );
        }
        assert_eq!(kept.total(), 2.0);
        assert_eq!(kept.mixing_factor(0.0).unwrap(), 0.0);
    }
}
