//! Weights from the Laplacian's spectrum.

use super::equal;
use super::weights_spec::{AfterFailures, WeightsSpec, usual};
use crate::spectrum::laplacian_extremes;
use crate::{MixingMatrix, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `W = I - 2 L / ((1 + θ) λ_N(L))`, with the best θ of all, `θ* = λ_2(L) / λ_N(L) = 1/κ`, unless θ is given.
///
/// Self weights may be negative, as on a star; see [`MixingMatrix::min_self_weight`].
///
/// # Source
/// Hua et al., Section 3, the equation before Fig. 2.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Laplacian {
    /// θ in 0..=1; `θ* = 1/κ` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta: Option<f64>,
}

impl WeightsSpec for Laplacian {
    usual!(symmetric, not_drawn, ignore_examples, no_list);

    /// `laplacian`, with θ if it was given.
    fn label(&self) -> String {
        match self.theta {
            None => "laplacian".to_owned(),
            Some(theta) => format!("laplacian theta={theta}"),
        }
    }

    /// The weights of an overlay.
    ///
    /// # Errors
    /// [`TopologyError::Theta`] if θ is outside `0..=1`; [`TopologyError::Eigenvalues`].
    fn matrix(
        &self,
        overlay: &Overlay,
        _rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        if let Some(theta) = self.theta.filter(|theta| !(0.0..=1.0).contains(theta)) {
            return Err(TopologyError::Theta { theta });
        }
        if overlay.edge_count() == 0 {
            return Ok(MixingMatrix::identity(overlay.nodes()));
        }
        if overlay.is_complete() && self.is_mean_when_complete() {
            return equal(overlay);
        }
        let extremes = laplacian_extremes(overlay)?;
        let theta = self.theta.unwrap_or(extremes.smallest / extremes.largest);
        let weight = 2.0 / ((1.0 + theta) * extremes.largest);
        let own = |node, _| 1.0 - overlay.degree(node) as f64 * weight;
        Ok(MixingMatrix::over_neighbours(overlay, |_, _| weight, own))
    }

    /// Whether all weights of a complete overlay are equal: θ* is 1 there.
    fn is_mean_when_complete(&self) -> bool {
        self.theta.is_none_or(|theta| theta == 1.0)
    }

    fn after_failures(&self) -> AfterFailures {
        AfterFailures::OneWeight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::weights_spec::matrix_of;

    #[test]
    fn theta_outside_the_unit_interval_is_refused() {
        let path = Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        for theta in [-0.1, 1.1, f64::NAN] {
            let error = matrix_of(&Laplacian { theta: Some(theta) }, &path).unwrap_err();
            assert!(
                error.to_string().starts_with("laplacian: theta = "),
                "{error}"
            );
        }
    }

    #[test]
    fn a_star_has_a_negative_self_weight() {
        let star = Overlay::from_edges(9, (1..9).map(|leaf| (0, leaf))).unwrap();
        let matrix = matrix_of(&Laplacian::default(), &star).unwrap();
        assert!(matrix.min_self_weight() < 0.0);
        assert!(matrix.is_doubly_stochastic(1e-12));
    }

    #[test]
    fn a_given_theta_on_the_complete_overlay_is_kept() {
        let complete = Overlay::from_edges(3, [(0, 1), (0, 2), (1, 2)]).unwrap();
        let matrix = matrix_of(&Laplacian { theta: Some(0.0) }, &complete).unwrap();
        assert!((matrix.weight(0, 1) - 2.0 / 3.0).abs() < 1e-12);
        assert!((matrix.weight(0, 0) + 1.0 / 3.0).abs() < 1e-12);
    }
}
