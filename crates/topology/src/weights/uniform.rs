//! Plain means over neighbourhoods.

use super::equal;
use super::weights_spec::{AfterFailures, WeightsSpec, usual};
use crate::{MixingMatrix, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `w_ij = 1 / (d_i + 1)` for `i` itself and its neighbours: row-stochastic, and doubly stochastic only where all
/// degrees are equal. Elsewhere mixing preserves the mean weighted by `d_i + 1`.
///
/// # Source
/// DFedRW (Wang et al.), (11), where all neighbours and the device itself aggregate equal shards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uniform {}

impl WeightsSpec for Uniform {
    usual!(mean_when_complete, not_drawn, ignore_examples, no_list);

    fn label(&self) -> String {
        "uniform".to_owned()
    }

    /// The weights of an overlay.
    fn matrix(
        &self,
        overlay: &Overlay,
        _rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        if overlay.is_complete() {
            return equal(overlay);
        }
        let weight = |node| 1.0 / (overlay.degree(node) + 1) as f64;
        Ok(MixingMatrix::over_neighbours(
            overlay,
            |node, _| weight(node),
            |node, _| weight(node),
        ))
    }

    /// `π_i = (d_i + 1) / Σ (d_j + 1)`.
    fn stationary(&self, overlay: &Overlay) -> Vec<f64> {
        let total = (2 * overlay.edge_count() + overlay.nodes()) as f64;
        (0..overlay.nodes())
            .map(|node| (overlay.degree(node) + 1) as f64 / total)
            .collect()
    }

    fn suit_directed(&self) -> bool {
        true
    }

    fn after_failures(&self) -> AfterFailures {
        AfterFailures::FromDegrees
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::weights_spec::matrix_of;

    #[test]
    fn the_stationary_mean_is_kept() {
        let overlay = Overlay::from_edges(5, [(0, 1), (1, 2), (1, 3), (3, 4)]).unwrap();
        let (matrix, stationary) = (
            matrix_of(&Uniform {}, &overlay).unwrap(),
            Uniform {}.stationary(&overlay),
        );
        let mean = |values: &[f64]| -> f64 {
            values
                .iter()
                .zip(&stationary)
                .map(|(value, share)| value * share)
                .sum()
        };
        let values = [3.0, -1.0, 4.0, 1.5, 9.0];
        assert!((mean(&values) - mean(&matrix.apply(&values))).abs() < 1e-14);
        assert!((mean(&[1.0; 5]) - 1.0).abs() < 1e-14);
    }
}
