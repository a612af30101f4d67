//! `quantity`: clients differ in how many examples they have, not in which labels.

use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::apportion::{apportion, lognormal};
use super::{Labelled, PartitionError, Shard, Strategy, at_random};

/// All examples, shuffled and dealt in sizes proportional to `exp(sigma * z)`, z standard normal.
///
/// # Interpretation
/// Every client gets at least one example; `sigma` 0 is `iid`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// Number of clients `N`.
    pub clients: usize,
    /// Standard deviation of the logarithm of the sizes.
    pub sigma: f64,
}

impl Strategy for Quantity {
    fn clients(&self) -> Option<usize> {
        Some(self.clients)
    }

    fn label(&self) -> String {
        format!("log-normal sizes, sigma {}", self.sigma)
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn check(&self, _examples: usize, _classes: usize) -> Result<(), PartitionError> {
        if !(0.0..=20.0).contains(&self.sigma) {
            return Err(PartitionError::setting(
                "quantity.sigma",
                self.sigma,
                "0 to 20",
            ));
        }
        Ok(())
    }

    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Shard>, PartitionError> {
        let weights = lognormal(self.clients, self.sigma, rng);
        let sizes = apportion(examples.examples, &weights, 1);
        Ok(at_random::deal(examples, sizes, rng))
    }
}
