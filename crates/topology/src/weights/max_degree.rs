//! Maximum-degree weights.

use super::equal;
use super::weights_spec::{AfterFailures, WeightsSpec, usual};
use crate::{MixingMatrix, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `W = I - L / (d_max + 1)`: every edge weighs `1 / (d_max + 1)`, the rest of each row stays on the diagonal.
///
/// On sparse overlays whose degrees are alike the smallest eigenvalue is below zero.
///
/// # Source
/// Hua et al., Section 2, after Definition 2.1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaxDegree {}

impl WeightsSpec for MaxDegree {
    usual!(
        symmetric,
        mean_when_complete,
        not_drawn,
        ignore_examples,
        no_list
    );

    fn label(&self) -> String {
        "max_degree".to_owned()
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
        let largest = (0..overlay.nodes())
            .map(|node| overlay.degree(node))
            .max()
            .unwrap_or(0);
        let weight = 1.0 / (largest + 1) as f64;
        let own = |node, _| 1.0 - overlay.degree(node) as f64 * weight;
        Ok(MixingMatrix::over_neighbours(overlay, |_, _| weight, own))
    }

    fn after_failures(&self) -> AfterFailures {
        AfterFailures::FromDegrees
    }
}
