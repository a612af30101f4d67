//! Metropolis-Hastings weights.

use super::equal;
use super::weights_spec::{AfterFailures, WeightsSpec, usual};
use crate::{MixingMatrix, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `w_ij = 1 / (max(d_i, d_j) + 1)` for neighbours, the rest of each row on the diagonal: symmetric and doubly
/// stochastic, each node needing only its neighbours' degrees.
///
/// # Source
/// D-Cliques (Bellet et al.), (2); P-FedAvg (Liu et al.), Section VI-B; DFedRW (Wang et al.), (7), whose degrees count
/// the node itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetropolisHastings {}

impl MetropolisHastings {
    /// The weight of neighbours `i` and `j`.
    #[must_use]
    pub fn weight(overlay: &Overlay, i: usize, j: usize) -> f64 {
        1.0 / (overlay.degree(i).max(overlay.degree(j)) + 1) as f64
    }
}

impl WeightsSpec for MetropolisHastings {
    usual!(
        symmetric,
        mean_when_complete,
        not_drawn,
        ignore_examples,
        no_list
    );

    fn label(&self) -> String {
        "metropolis_hastings".to_owned()
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
        Ok(MixingMatrix::over_neighbours(
            overlay,
            |i, j| Self::weight(overlay, i, j),
            |_, neighbours| 1.0 - neighbours,
        ))
    }

    fn after_failures(&self) -> AfterFailures {
        AfterFailures::FromDegrees
    }
}
