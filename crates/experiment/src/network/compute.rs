//! The computing speeds of the clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::error::NetworkError;
use super::moment::{Drawn, draw};

/// How long the local steps of each client take: `steps * seconds_per_step * slowdown`.
///
/// # Interpretation
/// The slowdown of a client is drawn once and stays for the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compute {
    /// Seconds of one local step on the reference device.
    #[schemars(extend("unit" = "seconds"))]
    pub seconds_per_step: f64,
    /// How many times slower each client is than that.
    #[serde(default = "none")]
    pub slowdown: Distribution,
}

fn none() -> Distribution {
    Distribution::Fixed(1.0)
}

impl Compute {
    /// Checks the values for `clients` clients.
    pub(super) fn check(&self, clients: usize) -> Result<(), NetworkError> {
        NetworkError::if_negative("compute.seconds_per_step", self.seconds_per_step)?;
        self.slowdown.check("compute.slowdown", Some(clients))
    }

    /// Seconds that a local step of each client takes, `[N]`.
    pub(super) fn seconds_per_step(&self, clients: usize, seed: u64) -> Vec<f64> {
        let slowdown = |client| draw(&self.slowdown, Drawn::Slowdown, client, seed, 0);
        (0..clients)
            .map(|client| self.seconds_per_step * slowdown(client))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowdowns_are_drawn_once_and_belong_to_the_seed() {
        let compute = Compute {
            seconds_per_step: 0.5,
            slowdown: Distribution::Uniform([1.0, 4.0]),
        };
        let seconds = compute.seconds_per_step(50, 3);
        assert_eq!(seconds, compute.seconds_per_step(50, 3));
        assert_ne!(seconds, compute.seconds_per_step(50, 4));
        assert_eq!(
            seconds[..20],
            compute.seconds_per_step(20, 3),
            "more clients move no draw"
        );
        assert!(seconds.iter().all(|seconds| (0.5..=2.0).contains(seconds)));
        assert!(seconds.iter().any(|other| *other != seconds[0]));
    }
}
