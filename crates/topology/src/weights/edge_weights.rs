//! Weights read from a file.

use super::weights_spec::{AfterFailures, WeightsSpec, usual};
use crate::topology::{of_file, parse_lines};
use crate::{MixingMatrix, Overlay, TopologyError, redacted};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How far two numbers of a file may be apart that should be the same, as numbers are written with so many digits.
const TOLERANCE: f64 = 1e-6;

/// A symmetric W that is given weight by weight: `w_ij = w_ji` for each edge, and on the diagonal what a row lacks to one.
///
/// This crate reads no files: whoever has read the configuration reads `file`, checks it against `sha256` if that is
/// given, and fills `entries` through [`parse_weight_list`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EdgeWeights {
    /// The weights, two node numbers and a number per line.
    pub file: PathBuf,
    /// SHA-256 of the file in lower-case hexadecimal, part of a resolved configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The weights read from the file.
    #[serde(skip)]
    pub entries: Vec<WeightEntry>,
}

/// An entry `w_ij` of a mixing matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightEntry {
    /// The row.
    pub i: u32,
    /// The column.
    pub j: u32,
    /// The weight.
    pub weight: f64,
}

impl EdgeWeights {
    /// The weight of each edge `(a, b)`, `a < b`.
    fn of_edges(&self) -> Result<BTreeMap<(u32, u32), f64>, TopologyError> {
        let mut of_edges = BTreeMap::new();
        for &WeightEntry { i, j, weight } in self.entries.iter().filter(|entry| entry.i != entry.j)
        {
            let (a, b) = (i.min(j), i.max(j));
            let first = *of_edges.entry((a, b)).or_insert(weight);
            if (first - weight).abs() > TOLERANCE {
                return Err(TopologyError::AsymmetricWeights {
                    a,
                    b,
                    weights: [first, weight],
                });
            }
        }
        Ok(of_edges)
    }
}

impl WeightsSpec for EdgeWeights {
    usual!(symmetric, each_held, not_drawn, ignore_examples);

    /// `edges` and the file's name.
    fn label(&self) -> String {
        of_file(&self.file)
    }

    /// The weights of an overlay whose edges are those of the file.
    ///
    /// # Errors
    /// [`TopologyError::MissingWeight`] for an edge without a weight, [`TopologyError::WeightOfNoEdge`] for a weight without
    /// an edge, [`TopologyError::AsymmetricWeights`] for two weights of an edge, and [`TopologyError::OwnWeight`] for an
    /// entry on the diagonal that is not what its row lacks to one.
    fn matrix(
        &self,
        overlay: &Overlay,
        _rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        let of_edges = self.of_edges()?;
        let missing = overlay.edges().find(|edge| !of_edges.contains_key(edge));
        if let Some((a, b)) = missing {
            return Err(TopologyError::MissingWeight { a, b });
        }
        let is_there = |entry: &&WeightEntry| {
            let (a, b) = (entry.i.min(entry.j), entry.i.max(entry.j));
            (b as usize) < overlay.nodes()
                && (a == b || overlay.neighbours(a as usize).contains(&b))
        };
        if let Some(entry) = self.entries.iter().find(|entry| !is_there(entry)) {
            let (a, b) = (entry.i.min(entry.j), entry.i.max(entry.j));
            return Err(TopologyError::WeightOfNoEdge { a, b });
        }
        let weight = |i: usize, j: usize| of_edges[&(i.min(j) as u32, i.max(j) as u32)];
        let matrix = MixingMatrix::over_neighbours(overlay, weight, |_, sum| 1.0 - sum);
        let needed = |node: u32| matrix.weight(node as usize, node as usize);
        let is_wrong = |entry: &&WeightEntry| {
            entry.i == entry.j && (entry.weight - needed(entry.i)).abs() > TOLERANCE
        };
        match self.entries.iter().find(is_wrong) {
            Some(entry) => Err(TopologyError::OwnWeight {
                node: entry.i,
                found: entry.weight,
                needed: needed(entry.i),
            }),
            None => Ok(matrix),
        }
    }

    fn list(&mut self) -> Option<(&'static str, &mut EdgeWeights)> {
        Some(("edges", self))
    }

    fn after_failures(&self) -> AfterFailures {
        AfterFailures::ToDiagonal
    }
}

/// Reads weights: `i j w` or `i,j,w` per line; `#` starts a comment; blank lines are skipped. An edge may stand in both
/// directions, and a node's own weight as `i i w`.
///
/// # Errors
/// [`TopologyError::WeightLine`] for any other line, with its number.
pub fn parse_weight_list(text: &str) -> Result<Vec<WeightEntry>, TopologyError> {
    parse_lines(text, |line, content| {
        parse_entry(content.trim()).ok_or_else(|| TopologyError::WeightLine {
            line,
            found: redacted(content),
        })
    })
}

fn parse_entry(content: &str) -> Option<WeightEntry> {
    let mut words = content
        .split([',', ' ', '\t'])
        .filter(|word| !word.is_empty());
    let (i, j, weight) = (words.next()?, words.next()?, words.next()?);
    let (i, j) = (i.parse().ok()?, j.parse().ok()?);
    let weight: f64 = weight.parse().ok()?;
    let is_whole = words.next().is_none() && weight.is_finite();
    is_whole.then_some(WeightEntry { i, j, weight })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weights;
    use crate::weights::weights_spec::matrix_of;

    fn weights(text: &str) -> EdgeWeights {
        EdgeWeights {
            file: "lists/w.csv".into(),
            sha256: None,
            entries: parse_weight_list(text).unwrap(),
        }
    }

    fn path() -> Overlay {
        Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap()
    }

    #[test]
    fn a_row_lacks_what_stands_on_its_diagonal() {
        // Once, twice, and with the diagonal.
        for text in [
            "0 1 0.25\n1,2,0.5\n",
            "# W\n0 1 0.25\n1 0 2.5e-1\n 1 2\t.5 # an edge\n2,1, 0.5\n",
            "1 2 0.5\n0 0 0.75\n0 1 0.25\n2 2 0.5\n1 1 0.25",
        ] {
            let matrix = matrix_of(&weights(text), &path()).unwrap();
            let row = |i| (0..3).map(|j| matrix.weight(i, j)).collect::<Vec<_>>();
            assert_eq!(row(0), [0.75, 0.25, 0.0], "{text}");
            assert_eq!(row(1), [0.25, 0.25, 0.5], "{text}");
            assert_eq!(row(2), [0.0, 0.5, 0.5], "{text}");
        }
        assert_eq!(weights("").label(), "edges w.csv");
    }

    #[test]
    fn weights_written_out_are_read_back() {
        let edges = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)];
        let overlay = Overlay::from_edges(5, edges).unwrap();
        let usual = Weights::default().matrix(&overlay).unwrap();
        let line = |i: usize| {
            let row = usual.row(i);
            row.map(|(j, weight)| format!("{i} {j} {weight}\n"))
                .collect::<String>()
        };
        let text: String = (0..5).map(line).collect();
        let read = Weights::Edges(weights(&text)).matrix(&overlay).unwrap();
        for (i, j) in (0..5).flat_map(|i| (0..5).map(move |j| (i, j))) {
            assert!((read.weight(i, j) - usual.weight(i, j)).abs() < 1e-15);
        }
    }

    #[test]
    fn what_is_no_symmetric_matrix_of_the_overlay_is_refused() {
        for (text, error) in [
            ("0 1 0.5", "edge 1-2 of the overlay has no weight"),
            (
                "0 1 .5\n1 2 .5\n0 2 .1",
                "there is a weight for 0 and 2, which the overlay does not link",
            ),
            (
                "0 1 .5\n1 2 .5\n1 3 .1",
                "there is a weight for 1 and 3, which the overlay does not link",
            ),
            (
                "0 1 .5\n1 2 .5\n2 1 .4",
                "edge 1-2 has the weights 0.5 and 0.4, needed one for both directions",
            ),
            (
                "0 1 .5\n1 2 .25\n1 1 .5",
                "node 1 gives itself the weight 0.5, needed 0.25, with which its row sums to one",
            ),
        ] {
            let found = matrix_of(&weights(text), &path()).unwrap_err();
            assert_eq!(found.to_string(), error, "{text}");
        }
    }

    #[test]
    fn a_line_that_is_no_weight_is_named() {
        for (text, found) in [
            ("0 1", "\"0 1\""),
            ("0 1 0.5 7", "\"0 1 0.5 7\""),
            ("0 1 inf", "\"0 1 inf\""),
            ("-1 1 0.5", "\"-1 1 0.5\""),
            ("a password", "text of 10 characters"),
        ] {
            let text = format!("# W\n0 1 0.5\n{text}\n");
            assert_eq!(
                parse_weight_list(&text).unwrap_err().to_string(),
                format!(
                    "line 3: expected two node numbers and a weight as \"a b w\" or \"a,b,w\", found {found}"
                )
            );
        }
    }
}
