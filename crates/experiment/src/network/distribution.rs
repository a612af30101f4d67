//! Numbers that differ from node to node, such as capacities, slowdowns and delays.

use std::fmt;

use meshfold_theory::Delay;
use rand::{Rng, RngExt};
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use schemars::{JsonSchema, Schema, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::error::NetworkError;

/// A positive number for each node: written as a number if it is the same for all, else as a distribution or a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[schemars(rename = "Distribution", transform = fixed_is_a_number)]
pub enum Distribution {
    /// The same for all.
    Fixed(f64),
    /// Uniform between two numbers.
    Uniform([f64; 2]),
    /// Exponential.
    Exponential(Exponential),
    /// Its logarithm is normal.
    Lognormal(Lognormal),
    /// One number per node, in their order; where no nodes are numbered, these numbers in turn.
    List(Vec<f64>),
}

/// The first choice of a [`Distribution`] is written as a number alone.
fn fixed_is_a_number(schema: &mut Schema) {
    let choices = schema.get_mut("oneOf").and_then(|all| all.as_array_mut());
    let fixed = choices.and_then(|all| all.first_mut());
    *fixed.expect("Distribution has choices") =
        json_schema!({ "type": "number", "description": "The same for all." }).into();
}

/// Parameters of [`Distribution::Exponential`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ExponentialNumbers")]
pub struct Exponential {
    /// The mean.
    pub mean: f64,
}

/// Parameters of [`Distribution::Lognormal`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lognormal {
    /// The median; 1 by default, but a capacity has no default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// Standard deviation of the natural logarithm.
    pub sigma: f64,
}

impl Lognormal {
    fn median(&self) -> f64 {
        self.median.unwrap_or(1.0)
    }
}

impl Distribution {
    /// The number of node `index`, drawn from `rng` if it is random.
    ///
    /// # Panics
    /// If a list is empty, which checks refuse.
    pub(super) fn draw(&self, index: usize, rng: &mut impl Rng) -> f64 {
        match self {
            Self::Fixed(value) => *value,
            Self::Uniform([low, high]) => low + (high - low) * rng.random::<f64>(),
            Self::Exponential(Exponential { mean }) => {
                let one: f64 = Exp1.sample(rng);
                mean * one
            }
            Self::Lognormal(lognormal) => {
                let normal: f64 = StandardNormal.sample(rng);
                lognormal.median() * (lognormal.sigma * normal).exp()
            }
            Self::List(values) => values[index % values.len()],
        }
    }

    /// The mean; that of a list counts its numbers alike.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(value) => *value,
            Self::Uniform([low, high]) => 0.5 * (low + high),
            Self::Exponential(Exponential { mean }) => *mean,
            Self::Lognormal(lognormal) => {
                lognormal.median() * (0.5 * lognormal.sigma * lognormal.sigma).exp()
            }
            Self::List(values) => values.iter().sum::<f64>() / values.len() as f64,
        }
    }

    /// Checks that every number is above 0, and that a list has one for each of `nodes` nodes, if they are numbered.
    pub(super) fn check(&self, key: &str, nodes: Option<usize>) -> Result<(), NetworkError> {
        match self {
            Self::Fixed(value) => NetworkError::unless_positive(key, *value),
            Self::Uniform([low, high]) => match *low > 0.0 && low <= high && high.is_finite() {
                true => Ok(()),
                false => Err(NetworkError::setting(
                    format!("{key}.uniform"),
                    format!("{low} to {high}"),
                    "two numbers above 0, the larger one last",
                )),
            },
            Self::Exponential(Exponential { mean }) => {
                NetworkError::unless_positive(&format!("{key}.exponential.mean"), *mean)
            }
            Self::Lognormal(lognormal) => {
                NetworkError::unless_positive(
                    &format!("{key}.lognormal.median"),
                    lognormal.median(),
                )?;
                NetworkError::if_negative(&format!("{key}.lognormal.sigma"), lognormal.sigma)
            }
            Self::List(values) => check_list(values, &format!("{key}.list"), nodes),
        }
    }

    /// [`Distribution::check`] of capacities in bytes per second, which have no natural median.
    pub(super) fn check_capacity(&self, key: &str, nodes: usize) -> Result<(), NetworkError> {
        if let Self::Lognormal(Lognormal { median: None, .. }) = self {
            let needed = "the median capacity in bytes per second";
            return Err(NetworkError::setting(
                format!("{key}.lognormal.median"),
                "none",
                needed,
            ));
        }
        self.check(key, Some(nodes))
    }
}

impl Delay for Distribution {
    fn mean(&self) -> f64 {
        self.mean()
    }

    fn draw(&self, index: usize, rng: &mut impl Rng) -> f64 {
        self.draw(index, rng)
    }
}

fn check_list(values: &[f64], key: &str, nodes: Option<usize>) -> Result<(), NetworkError> {
    for (index, value) in values.iter().enumerate() {
        NetworkError::unless_positive(&format!("{key}.{index}"), *value)?;
    }
    let needed = match nodes {
        Some(nodes) if values.len() != nodes => format!("{nodes}, one per node"),
        None if values.is_empty() => "at least one".to_owned(),
        _ => return Ok(()),
    };
    let found = format!("{} numbers", values.len());
    Err(NetworkError::setting(key, found, needed))
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(value) => serializer.serialize_f64(*value),
            other => Self::serialize(other, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Distribution;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, {uniform: [low, high]}, {exponential: ..}, {lognormal: ..} or {list: [..]}")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Distribution, E> {
                Ok(Distribution::Fixed(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Distribution, E> {
                Ok(Distribution::Fixed(value as f64))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Distribution, E> {
                Ok(Distribution::Fixed(value as f64))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Distribution, A::Error> {
                Distribution::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// The mean of 40,000 draws lies within five of its standard errors, at most 1.31/200 for these distributions.
    #[test]
    fn draws_have_the_mean_that_is_stated() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for distribution in [
            Distribution::Uniform([1.0, 4.0]),
            Distribution::Exponential(Exponential { mean: 1.0 }),
            Distribution::Lognormal(Lognormal {
                median: Some(2.0),
                sigma: 0.5,
            }),
            Distribution::Lognormal(Lognormal {
                median: None,
                sigma: 0.5,
            }),
            Distribution::List(vec![1.0, 2.0, 6.0, 3.0]),
        ] {
            let sum: f64 = (0..40_000)
                .map(|index| distribution.draw(index, &mut rng))
                .sum();
            let mean = sum / 40_000.0;
            assert!(
                (mean - distribution.mean()).abs() < 0.033,
                "{distribution:?}: {mean}"
            );
        }
    }

    #[test]
    fn a_number_is_the_same_for_all() {
        for yaml in ["3", "3.0", "{fixed: 3}"] {
            let read: Distribution = serde_yaml::from_str(yaml).unwrap();
            assert_eq!(read, Distribution::Fixed(3.0));
        }
    }
}
