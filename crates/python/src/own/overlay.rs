//! Overlays that Python has made.

use meshfold_topology::{MixingMatrix, Nodes, Overlay, OverlayChange, OwnOverlay, TopologyError};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::gate;

use super::traceback::raised;
use super::weights::{Entries, Rows, rows};

/// The overlay of `edges`, with the weights that it brings, if it does. Both ends of an edge send to each other, or if it is `directed`,
/// the first end sends to the second one.
fn overlay(
    directed: bool,
    nodes: usize,
    edges: impl IntoIterator<Item = (u32, u32)>,
    weights: Option<Rows>,
) -> Result<Overlay, TopologyError> {
    let overlay = match directed {
        true => Overlay::directed(nodes, edges),
        false => Overlay::from_edges(nodes, edges),
    }?;
    match weights {
        Some(rows) => overlay.with_weights(MixingMatrix::from_rows(nodes, rows)?),
        None => Ok(overlay),
    }
}

/// Pairs of nodes.
type Edges = Vec<(u32, u32)>;

/// The same graph in all rounds.
pub(super) struct Graph {
    pub(super) nodes: usize,
    pub(super) edges: Edges,
    pub(super) directed: bool,
    /// The weights that it brings.
    pub(super) weights: Option<Rows>,
}

impl OwnOverlay for Graph {
    fn overlay(
        &self,
        _draw: usize,
        _nodes: Nodes<'_>,
        _rng: &mut ChaCha8Rng,
    ) -> Result<Overlay, TopologyError> {
        let (edges, weights) = (self.edges.iter().copied(), self.weights.clone());
        overlay(self.directed, self.nodes, edges, weights)
    }

    fn prescribes_weights(&self) -> bool {
        self.weights.is_some()
    }

    fn is_directed(&self) -> bool {
        self.directed
    }

    fn edges(&self, _nodes: usize) -> f64 {
        self.edges.len() as f64
    }
}

/// Graphs that a function makes.
pub(super) struct GraphByFunction {
    pub(super) name: String,
    pub(super) edges: Py<PyAny>,
    pub(super) directed: bool,
    /// About how many edges there are, if that is known.
    pub(super) expected: Option<f64>,
    /// Which rounds have an overlay of their own.
    pub(super) change: OverlayChange,
    /// Whether the overlays bring weights.
    pub(super) weighed: bool,
    /// Whether the function is given the labels that nodes hold.
    pub(super) needs_labels: bool,
    /// Whether the function is given a seed.
    pub(super) needs_seed: bool,
}

impl GraphByFunction {
    /// The examples of each label that each node holds, `[N, C]`, as an array.
    fn label_counts<'py>(
        &self,
        py: Python<'py>,
        nodes: Nodes<'_>,
    ) -> PyResult<Option<Bound<'py, PyArray2<i64>>>> {
        if !self.needs_labels {
            return Ok(None);
        }
        if nodes.label_counts.len() != nodes.count {
            return Err(PyValueError::new_err(
                "the function needs `label_counts`, and nothing says here which examples the nodes hold",
            ));
        }
        let counts = nodes.label_counts.iter().flatten();
        let counts = PyArray1::from_iter(py, counts.map(|count| *count as i64));
        let classes = nodes.label_counts.first().map_or(0, Vec::len);
        counts.reshape([nodes.count, classes]).map(Some)
    }
}

impl OwnOverlay for GraphByFunction {
    fn overlay(
        &self,
        draw: usize,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Overlay, TopologyError> {
        let seed = self.needs_seed.then(|| rng.next_u64());
        let graph = gate::attach(|py| -> PyResult<(Edges, Option<Rows>)> {
            let label_counts = self.label_counts(py, nodes)?;
            let graph = self
                .edges
                .bind(py)
                .call1((draw + 1, nodes.count, label_counts, seed))?;
            let (edges, weights): (PyReadonlyArray2<'_, u32>, Option<Entries<'_>>) =
                graph.extract()?;
            let weights = weights.map(|entries| rows(nodes.count, &entries));
            Ok((pairs(&edges), weights))
        });
        let failed = |reason| TopologyError::Own {
            setting: "topology",
            name: self.name.clone(),
            reason,
        };
        let (edges, weights) = graph.map_err(|error| failed(raised(&error)))?;
        let overlay = overlay(self.directed, nodes.count, edges, weights);
        overlay.map_err(|error| {
            failed(match self.change {
                OverlayChange::Never => error.to_string(),
                _ => format!("round {}: {error}", draw + 1),
            })
        })
    }

    fn is_directed(&self) -> bool {
        self.directed
    }

    fn change(&self) -> OverlayChange {
        self.change
    }

    fn prescribes_weights(&self) -> bool {
        self.weighed
    }

    fn edges(&self, nodes: usize) -> f64 {
        self.expected.unwrap_or(2.0 * nodes as f64)
    }
}

/// The rows of an array `[E, 2]`.
pub(super) fn pairs(edges: &PyReadonlyArray2<'_, u32>) -> Edges {
    let rows = edges.as_array();
    rows.rows()
        .into_iter()
        .map(|row| (row[0], row[1]))
        .collect()
}
