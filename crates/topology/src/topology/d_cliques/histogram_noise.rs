//! Noise that keeps label histograms private.

use super::LabelDistributions;
use crate::TopologyError;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::Exp1;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;

/// Independent centred Laplace noise on every entry of the label distribution of every node that Greedy-Swap sees.
///
/// # Source
/// D-Cliques (Bellet et al.), Remark 2; Dwork and Roth, *The algorithmic foundations of differential privacy* (2014),
/// Definition 3.3, for the Laplace mechanism.
///
/// # Interpretation
/// The paper calls 1/(m_i ε) the standard deviation, which the mechanism has as the scale of the distribution, √2 times
/// less than its deviation: see [`scale`](NoiseScale). Noisy histograms are neither clipped nor normalised, as they must
/// stay unbiased, and the distribution over all nodes is the mean of the noisy ones, for no others are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistogramNoise {
    /// Privacy level ε, more private the smaller it is.
    pub epsilon: f64,
    /// What 1/(m_i ε) is of the noise.
    #[serde(default)]
    pub scale: NoiseScale,
}

/// What 1/(m_i ε) is of the Laplace noise of a node with m_i examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoiseScale {
    /// Its standard deviation, as the paper has it.
    #[default]
    Deviation,
    /// The scale b of the density exp(−|x|/b) / 2b, as the Laplace mechanism has it; the deviation is √2 b.
    Mechanism,
}

impl HistogramNoise {
    /// Checks the privacy level.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] unless ε is positive and finite.
    pub(super) fn check(&self) -> Result<(), TopologyError> {
        if self.epsilon > 0.0 && self.epsilon.is_finite() {
            Ok(())
        } else {
            let needed = "a finite number above 0";
            Err(TopologyError::setting(
                "d_cliques.noise.epsilon",
                self.epsilon,
                needed,
            ))
        }
    }

    /// Adds noise to the distribution of each node.
    pub(super) fn add_to(&self, labels: &mut LabelDistributions, rng: &mut ChaCha8Rng) {
        for (examples, shares) in labels.each_mut() {
            let scale = self.scale(examples);
            for share in shares {
                *share += scale * standard_laplace(rng);
            }
        }
    }

    /// The scale b of the noise of a node with so many examples.
    fn scale(&self, examples: f64) -> f64 {
        let sigma = 1.0 / (examples * self.epsilon);
        match self.scale {
            NoiseScale::Deviation => sigma / SQRT_2,
            NoiseScale::Mechanism => sigma,
        }
    }

    /// Its parameters that are not the default.
    pub(super) fn label(&self) -> String {
        match self.scale {
            NoiseScale::Deviation => format!("epsilon={}", self.epsilon),
            NoiseScale::Mechanism => format!("epsilon={} scale=mechanism", self.epsilon),
        }
    }
}

/// A draw from Laplace(0, 1), the difference of two standard exponentials.
fn standard_laplace(rng: &mut ChaCha8Rng) -> f64 {
    let [up, down]: [f64; 2] = [rng.sample(Exp1), rng.sample(Exp1)];
    up - down
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nodes;
    use rand::SeedableRng;

    /// The noise on 20,000 nodes with `examples` examples of 10 labels.
    fn noise(epsilon: f64, scale: NoiseScale, examples: u64) -> Vec<f64> {
        let label_counts = vec![vec![examples / 10; 10]; 20_000];
        let mut labels = LabelDistributions::new(Nodes {
            count: label_counts.len(),
            label_counts: &label_counts,
        })
        .unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        HistogramNoise { epsilon, scale }.add_to(&mut labels, &mut rng);
        let noisy = labels.each_mut().flat_map(|(_, shares)| shares);
        noisy.map(|share| *share - 0.1).collect()
    }

    fn mean(noise: &[f64], of: impl Fn(f64) -> f64) -> f64 {
        noise.iter().map(|&x| of(x)).sum::<f64>() / noise.len() as f64
    }

    #[test]
    fn the_deviation_is_that_of_the_paper() {
        // Of 200,000 draws the mean errs by .0022 deviations, their deviation by .25 % and E|x| by .22 %: 4.5 times that
        // is allowed. ε = 1 and 500 examples give 0.002 in Remark 2.
        for (epsilon, scale, examples, deviation) in [
            (1.0, NoiseScale::Deviation, 500, 0.002),
            (0.1, NoiseScale::Deviation, 50, 0.2),
            (1.0, NoiseScale::Mechanism, 500, 0.002 * SQRT_2),
        ] {
            let noise = noise(epsilon, scale, examples);
            assert!(mean(&noise, |x| x).abs() < 0.01 * deviation);
            let found = mean(&noise, |x| x * x).sqrt();
            assert!((found / deviation - 1.0).abs() < 0.0113, "{found}");
            let scale = mean(&noise, f64::abs);
            let laplace = deviation / SQRT_2;
            assert!((scale / laplace - 1.0).abs() < 0.01, "{scale}");
        }
    }

    #[test]
    fn entries_are_independent() {
        let noise = noise(1.0, NoiseScale::Deviation, 500);
        let products: f64 = noise.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let correlation = products / noise.iter().map(|x| x * x).sum::<f64>();
        // Its deviation is 1 / sqrt(200,000) = .0022.
        assert!(correlation.abs() < 0.01, "{correlation}");
    }

    #[test]
    fn privacy_levels_are_positive() {
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let noise = HistogramNoise {
                epsilon,
                scale: NoiseScale::Deviation,
            };
            let said = noise.check().unwrap_err().to_string();
            assert!(
                said.starts_with("d_cliques.noise.epsilon: found")
                    && said.ends_with("needed a finite number above 0"),
                "{said}"
            );
        }
    }
}
