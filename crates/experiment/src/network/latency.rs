//! Phases that take the same time whichever clients take part.

use meshfold_algorithms::Exchange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::NetworkError;
use super::load::is_silent;

/// An epoch of computing and an exchange each have their price, whatever the model's size.
///
/// A phase of computing lasts `epoch` times the most epochs of a client; every exchange lasts `message`.
///
/// # Source
/// DFedRW (Wang et al.), section VI-F and Table IV: T_p = `epoch`, T_c = `message`.
///
/// # Interpretation
/// Epochs are local steps over the steps of one epoch of that client's shard: two walks that meet at a client take it two.
/// An exchange without messages lasts no time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Seconds of an epoch.
    #[schemars(extend("unit" = "seconds"))]
    pub epoch: f64,
    /// Seconds of an exchange.
    #[schemars(extend("unit" = "seconds"))]
    pub message: f64,
}

impl Latency {
    pub(super) fn check(&self) -> Result<(), NetworkError> {
        NetworkError::if_negative("links.latency.epoch", self.epoch)?;
        NetworkError::if_negative("links.latency.message", self.message)
    }

    /// Seconds of one exchange.
    pub(super) fn seconds(&self, exchange: &Exchange) -> f64 {
        if is_silent(exchange) {
            0.0
        } else {
            self.message
        }
    }

    /// Seconds that a local step of each client takes, `[N]`, given the steps that make an epoch of each.
    pub(super) fn seconds_per_step(&self, steps_per_epoch: &[u32]) -> Vec<f64> {
        let seconds = |steps: &u32| self.epoch / f64::from((*steps).max(1));
        steps_per_epoch.iter().map(seconds).collect()
    }
}
