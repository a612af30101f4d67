//! The computing speeds of the clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::error::NetworkError;
use super::moment::{Drawn, draw};

/// Slack on a deadline, relative, so that three steps of 0.2 s fit into 0.6 s.
const SLACK: f64 = 1e-9;

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

/// How many local steps of each client fit into `deadline_seconds`, given the seconds of one step of each.
pub(super) fn steps_within(seconds_per_step: &[f64], deadline_seconds: f64) -> Vec<u32> {
    let steps = |seconds: &f64| match *seconds > 0.0 {
        true => (deadline_seconds / seconds * (1.0 + SLACK)) as u32,
        false => u32::MAX,
    };
    seconds_per_step.iter().map(steps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_ends_with_the_deadline_is_within_it() {
        assert_eq!(0.6 / 0.2, 2.999_999_999_999_999_6, "the slack is needed");
        assert_eq!(
            steps_within(&[0.2, 0.25, 0.7, 0.0], 0.6),
            [3, 2, 0, u32::MAX]
        );
        assert_eq!(steps_within(&[0.2], -1.0), [0]);
    }

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
