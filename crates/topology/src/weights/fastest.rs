//! The weights that mix fastest of all.

use super::weights_spec::{AfterFailures, WeightsSpec, usual};
use crate::{MixingMatrix, Overlay, TopologyError};
use problem::Problem;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod certificate;
mod cones;
mod interior_point;
mod problem;

/// Most nodes of a component that is not complete.
const NODES: usize = 500;
/// Most edges of a component that is not complete: each step factors a matrix of edges x edges.
const EDGES: usize = 5000;

/// The symmetric W on the overlay's edges, with rows that sum to one, that minimises `‖W - 11ᵀ/N‖₂`.
///
/// No entry is negative unless that is allowed. The norm is within 1e-5 of the least one, on some large overlays, where rounding does not
/// let it get so near, within 1e-3, and always within a hundredth of the spectral gap. That is proved before W is returned: by the norm of W and by
/// a lower bound from the dual problem, both from eigenvalues of dense matrices. An overlay, or a component of it, may have at most 500 nodes
/// and 5,000 edges unless it is complete; with some hundred nodes it takes seconds.
/// A disconnected overlay gets the best weights of each component, since its own norm is 1 whatever the weights are.
///
/// # Source
/// P-FedAvg (Liu et al.), (21) and Fig. 8: "optimal". The dual is that of Boyd, Diaconis and Xiao, *Fastest mixing
/// Markov chain on a graph* (SIAM Review 46(4), 2004), Section 4; without signs that of Xiao and Boyd, *Fast linear
/// iterations for distributed averaging* (2004).
///
/// # Interpretation
/// (21) as printed bounds the entries from above only, while the text asks for a stochastic W: the default keeps all
/// entries, those on the diagonal too, from being negative. Where several W are equally fast, this is one near the
/// middle of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Fastest {
    /// Whether entries, on edges and on the diagonal, are kept from being negative.
    pub nonnegative: bool,
}

impl Default for Fastest {
    fn default() -> Self {
        Self { nonnegative: true }
    }
}

impl WeightsSpec for Fastest {
    usual!(
        symmetric,
        mean_when_complete,
        not_drawn,
        ignore_examples,
        no_list
    );

    /// `fastest`, saying so if entries may be negative.
    fn label(&self) -> String {
        match self.nonnegative {
            true => "fastest".to_owned(),
            false => "fastest nonnegative=false".to_owned(),
        }
    }

    /// The weights of an overlay.
    ///
    /// # Errors
    /// [`TopologyError::FastestSize`] for a component of more than 500 nodes or 5000 edges that is not complete;
    /// [`TopologyError::FastestGap`] if no proof was found; [`TopologyError::Eigenvalues`].
    ///
    /// # Complexity
    /// Tens of steps of O(N³ + E³) for a component of N nodes and E edges.
    fn matrix(
        &self,
        overlay: &Overlay,
        _rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        if overlay.is_complete() {
            return super::equal(overlay);
        }
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); overlay.nodes()];
        for component in overlay.components() {
            let problem = Problem::of(overlay, &component, self.nonnegative);
            let weights = edge_weights(&problem)?;
            for (&(a, b), weight) in problem.edges.iter().zip(weights) {
                rows[component[a] as usize].push((component[b], weight));
                rows[component[b] as usize].push((component[a], weight));
            }
        }
        for (node, row) in rows.iter_mut().enumerate() {
            let given: f64 = row.iter().map(|&(_, weight)| weight).sum();
            row.push((node as u32, 1.0 - given));
        }
        MixingMatrix::from_rows(overlay.nodes(), rows)
    }

    fn after_failures(&self) -> AfterFailures {
        AfterFailures::ToDiagonal
    }
}

/// The weight of each edge of one component.
fn edge_weights(problem: &Problem) -> Result<Vec<f64>, TopologyError> {
    let (nodes, edges) = (problem.nodes, problem.edges.len());
    if edges == nodes * (nodes - 1) / 2 {
        return Ok(vec![1.0 / nodes as f64; edges]);
    }
    if nodes > NODES || edges > EDGES {
        return Err(TopologyError::FastestSize {
            nodes,
            edges,
            most_nodes: NODES,
            most_edges: EDGES,
        });
    }
    interior_point::solve(problem)
}
