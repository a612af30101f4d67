//! Every edge with the same probability.

use super::overlay_spec::{DRAWS, FixedOverlay, OverlaySpec, first_connected, usual};
use super::size::{OverlaySize, Paths, pairs};
use crate::{Nodes, Overlay, TopologyError};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::Geometric;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Every two nodes are linked with probability `p`, independently, given that the overlay is connected.
///
/// # Source
/// Hua et al., Section 5.1, with p = ln N / N; DeceFL (Yuan et al.), with p = 0.3 and 0.5.
///
/// # Interpretation
/// Draws are repeated until one is connected, at most 1,000 times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErdosRenyi {
    /// Probability of each edge.
    pub p: Probability,
}

/// An edge probability: a number, or `log` for ln N / N.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Probability {
    /// This probability.
    Fixed(f64),
    /// ln N / N, at which draws begin to be connected.
    Log,
}

impl OverlaySpec for ErdosRenyi {
    usual!(fixed, plain);

    fn label(&self) -> String {
        format!("erdos_renyi p={}", self.p)
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, self.p.of(nodes) * pairs(nodes), Paths::Short)
    }
}

impl FixedOverlay for ErdosRenyi {
    /// Draws until connected.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] if `p` is no probability, or too small to connect the nodes.
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        if let Probability::Fixed(found) = self.p {
            TopologyError::expect_probability("erdos_renyi.p", found)?;
        }
        let p = self.p.of(nodes);
        if let Some(overlay) = first_connected(nodes, || draw(nodes, p, rng))? {
            return Ok(overlay);
        }
        let found = format!("{p}, and none of {DRAWS} draws connected {nodes} nodes");
        let threshold = Probability::Log.of(nodes);
        let needed = format!("more than ln N / N = {threshold:.4}");
        Err(TopologyError::setting("erdos_renyi.p", found, needed))
    }
}

impl Probability {
    /// The probability among `nodes` nodes.
    pub(super) fn of(self, nodes: usize) -> f64 {
        match self {
            Self::Fixed(p) => p,
            Self::Log => (nodes as f64).ln() / nodes as f64,
        }
    }
}

/// One G(n, p), by skipping from edge to edge: the pairs between two edges are geometrically many.
///
/// # Source
/// Batagelj and Brandes, *Efficient generation of large random networks* (2005); O(n + edges).
pub(super) fn draw(nodes: usize, p: f64, rng: &mut ChaCha8Rng) -> Vec<(u32, u32)> {
    let gaps = Geometric::new(p).expect("p was checked to be a probability");
    let mut edges = Vec::new();
    let (mut row, mut column) = (1_u64, rng.sample(gaps));
    while row < nodes as u64 {
        if column < row {
            edges.push((column as u32, row as u32));
            column = column.saturating_add(rng.sample(gaps)).saturating_add(1);
        } else {
            column -= row;
            row += 1;
        }
    }
    edges
}

impl fmt::Display for Probability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(p) => p.fmt(formatter),
            Self::Log => formatter.write_str("log"),
        }
    }
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fixed(p) => serializer.serialize_f64(*p),
            Self::Log => serializer.serialize_str("log"),
        }
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrLog)
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number, or `log` for ln N / N.",
            "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "const": "log" }],
        })
    }
}

/// Reads a number or the word `log`, without the buffering by which an untagged enum would lose the place in the file.
struct NumberOrLog;

impl Visitor<'_> for NumberOrLog {
    type Value = Probability;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a probability in 0..=1 or `log` for ln N / N")
    }

    fn visit_f64<E: Error>(self, p: f64) -> Result<Probability, E> {
        Ok(Probability::Fixed(p))
    }

    fn visit_u64<E: Error>(self, p: u64) -> Result<Probability, E> {
        Ok(Probability::Fixed(p as f64))
    }

    fn visit_i64<E: Error>(self, p: i64) -> Result<Probability, E> {
        Ok(Probability::Fixed(p as f64))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Probability, E> {
        match word {
            "log" => Ok(Probability::Log),
            _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn certain_and_impossible_edges_are_the_extremes() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        assert_eq!(draw(20, 1.0, &mut rng).len(), 190);
        assert!(draw(20, 0.0, &mut rng).is_empty());
        let single = ErdosRenyi {
            p: Probability::Log,
        }
        .build(1.into(), &mut rng)
        .unwrap();
        assert_eq!(single.edge_count(), 0);
    }

    #[test]
    fn an_unreachable_connection_names_the_threshold() {
        let error = ErdosRenyi {
            p: Probability::Fixed(0.01),
        }
        .build(50.into(), &mut ChaCha8Rng::seed_from_u64(1))
        .unwrap_err();
        let expected = "erdos_renyi.p: found 0.01, and none of 1000 draws connected 50 nodes, needed more than ln N / N = 0.0782";
        assert_eq!(error.to_string(), expected);
        let error = ErdosRenyi {
            p: Probability::Fixed(1.5),
        }
        .build(50.into(), &mut ChaCha8Rng::seed_from_u64(1))
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "erdos_renyi.p: found 1.5, needed a probability, from 0 to 1"
        );
    }

    #[test]
    fn every_pair_is_linked_equally_often() {
        let (mut rng, nodes, p, draws) = (ChaCha8Rng::seed_from_u64(2), 10, 0.3, 4000);
        let mut counts = [0; 45];
        for _ in 0..draws {
            for (a, b) in draw(nodes, p, &mut rng) {
                counts[(b * (b - 1) / 2 + a) as usize] += 1;
            }
        }
        let expected = p * draws as f64;
        let chi_squared: f64 = counts
            .iter()
            .map(|&count| (count as f64 - expected).powi(2) / (expected * (1.0 - p)))
            .sum();
        // 45 degrees of freedom: a fair draw stays below 80.1 in 999 of 1,000 cases.
        assert!(chi_squared < 80.1, "{chi_squared}");
    }
}
