//! The weights that an overlay brings.

use super::weights_spec::{AfterFailures, WeightsSpec, usual};
use crate::{MixingMatrix, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The weights that are part of the definition of `base_graph`, `equi_static`, `equi_dyn` and `matcha`, those of each round. They hold
/// on these overlays where no weights are named; any others replace them.
///
/// A `periodic` or `phases` schedule of which some overlays bring weights has on the others `metropolis_hastings`, and `uniform`
/// if these are directed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prescribed {}

impl WeightsSpec for Prescribed {
    usual!(each_held, not_drawn, ignore_examples, no_list);

    fn label(&self) -> String {
        "prescribed".to_owned()
    }

    /// The weights of an overlay.
    ///
    /// # Errors
    /// [`TopologyError::NotPrescribed`] if it brings none.
    fn matrix(
        &self,
        overlay: &Overlay,
        _rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        let weights = overlay.weights().ok_or(TopologyError::NotPrescribed)?;
        Ok(weights.clone())
    }

    /// Equal shares: the plain mean is kept by all weights that are symmetric or doubly stochastic.
    fn stationary(&self, overlay: &Overlay) -> Vec<f64> {
        vec![1.0 / overlay.nodes() as f64; overlay.nodes()]
    }

    fn suit_directed(&self) -> bool {
        true
    }

    fn after_failures(&self) -> AfterFailures {
        AfterFailures::ToDiagonal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weights::weights_spec::matrix_of;

    #[test]
    fn an_overlay_without_weights_has_none() {
        let path = Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let found = matrix_of(&Prescribed {}, &path);
        assert_eq!(found, Err(TopologyError::NotPrescribed));
    }
}
