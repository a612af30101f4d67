//! The computing speeds of the clients.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;
use super::error::NetworkError;
use super::moment::{Drawn, draw};

/// How long the local steps of each client take: `steps * seconds_per_step * slowdown * each_round`.
///
/// # Interpretation
/// The slowdown of a client is drawn once and stays for the whole run. The factor `each_round` is drawn for each client and round, and is
/// that of all its steps in the round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compute {
    /// Seconds of one local step on the reference device.
    #[schemars(extend("unit" = "seconds"))]
    pub seconds_per_step: f64,
    /// How many times slower each client is than that.
    #[serde(default = "none")]
    pub slowdown: Distribution,
    /// How many times slower each client is besides in a single round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each_round: Option<Distribution>,
}

fn none() -> Distribution {
    Distribution::Fixed(1.0)
}

impl Compute {
    /// Checks the values for `clients` clients.
    pub(super) fn check(&self, clients: usize) -> Result<(), NetworkError> {
        NetworkError::if_negative("compute.seconds_per_step", self.seconds_per_step)?;
        self.slowdown.check("compute.slowdown", Some(clients))?;
        match &self.each_round {
            None => Ok(()),
            Some(Distribution::List(values)) => Err(NetworkError::setting(
                "compute.each_round.list",
                format!("{} numbers", values.len()),
                "a distribution; numbers of each client that stay are `slowdown`",
            )),
            Some(each_round) => each_round.check("compute.each_round", None),
        }
    }

    /// Seconds that a local step of each client takes, `[N]`.
    pub(super) fn seconds_per_step(&self, clients: usize, seed: u64) -> Vec<f64> {
        let slowdown = |client| draw(&self.slowdown, Drawn::Slowdown, client, seed, 0);
        (0..clients)
            .map(|client| self.seconds_per_step * slowdown(client))
            .collect()
    }
}

/// The seconds of a local step of each client, `[N]`, in round `round`, where `usual` are those without the factor of the round.
pub(super) fn in_round<'a>(
    usual: &'a [f64],
    each_round: Option<&Distribution>,
    seed: u64,
    round: u64,
) -> Cow<'a, [f64]> {
    let Some(each_round) = each_round else {
        return Cow::Borrowed(usual);
    };
    let factor = |client| draw(each_round, Drawn::StepOfRound, client, seed, round);
    let clients = usual.iter().enumerate();
    let seconds = clients.map(|(client, seconds)| seconds * factor(client));
    Cow::Owned(seconds.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Exponential;

    #[test]
    fn a_round_has_factors_of_its_own() {
        let exponential = Distribution::Exponential(Exponential { mean: 2.0 });
        let round = |number| in_round(&[3.0; 2000], Some(&exponential), 5, number).into_owned();
        assert_eq!(round(4), round(4));
        let (first, second) = (round(1), round(2));
        assert!(first.iter().zip(&second).all(|(one, other)| one != other));
        let mean = first.iter().sum::<f64>() / 2000.0;
        // Three standard deviations of the mean: 3 * 6 / sqrt(2000).
        assert!((mean - 6.0).abs() < 0.41, "{mean}");
        assert_eq!(in_round(&[3.0, 4.0], None, 5, 1), [3.0, 4.0].as_slice());
    }

    #[test]
    fn slowdowns_are_drawn_once_and_belong_to_the_seed() {
        let compute = Compute {
            seconds_per_step: 0.5,
            slowdown: Distribution::Uniform([1.0, 4.0]),
            each_round: None,
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
