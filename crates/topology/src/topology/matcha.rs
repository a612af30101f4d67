//! Random matchings of the edges of an overlay, within a budget.

use super::members::check_fixed;
use super::overlay_spec::{Contents, OverlaySpec, SlowPart, usual};
use super::schedule::{Schedule, Turns, usual_schedule};
use super::shift::check_share;
use super::size::{OverlaySize, Paths};
use super::{Snapshot, Topology};
use crate::{Nodes, Overlay, TopologyError, Weights};
use matchings::Matchings;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

mod edge_colouring;
mod matchings;
mod probabilities;

/// Most nodes of the overlay.
const NODES: usize = 500;
/// Most edges of the overlay: each step factors matrices of nodes x nodes, and goes through all pairs of edges.
const EDGES: usize = 5000;

/// MATCHA: the edges of an overlay are cut into matchings, and each round draws which of these take part, within a budget of
/// messages. It brings weights of its own, which are symmetric.
///
/// An edge colouring gives M matchings with the Laplacians L_j, at most one more than the largest degree. Matching j takes part with
/// probability p_j, independently of the others. The probabilities maximise `λ2(Σ p_j L_j)` under `Σ p_j <= budget · M`. The weights of
/// a round are `W = I − α Σ L_j` over the matchings drawn, with the α that minimises `‖E[W²] − J‖ = ‖I − 2 α L̄ + α² (L̄² + 2 L̃) − J‖`,
/// `L̄ = Σ p_j L_j` and `L̃ = Σ p_j (1 − p_j) L_j`. With a budget of 1 all edges take part in all rounds, with `α = 2 / (λ2 + λN)`.
///
/// Many rounds are not connected, and some may have no edge at all.
///
/// # Source
/// Wang, Sahu, Yang, Joshi and Kar, *MATCHA: speeding up decentralized SGD via matching decomposition sampling* (2019). The edge
/// colouring is that of Misra and Gries, *A constructive proof of Vizing's theorem* (1992).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Matcha {
    /// The overlay, an undirected one that does not itself change over time, of at most 500 nodes and 5,000 edges.
    pub of: Box<Topology>,
    /// Share of the matchings that take part in a round, on average: above 0 and up to 1. The paper's C_b.
    #[serde(default = "half")]
    pub budget: f64,
    /// What all rounds have in common, filled in by [`Topology::prepare`].
    #[serde(skip)]
    prepared: Option<Arc<Matchings>>,
}

fn half() -> f64 {
    0.5
}

impl Matcha {
    /// Matchings of the edges of `of`.
    #[must_use]
    pub fn new(of: Topology, budget: f64) -> Self {
        Self {
            of: Box::new(of),
            budget,
            prepared: None,
        }
    }

    /// The matchings of an overlay that fits.
    fn matchings(&self, overlay: &Overlay) -> Result<Matchings, TopologyError> {
        let (nodes, edges) = (overlay.nodes(), overlay.edge_count());
        if nodes > NODES || edges > EDGES {
            return Err(TopologyError::setting(
                "matcha.of",
                format!("{nodes} nodes and {edges} edges"),
                format!("at most {NODES} nodes and {EDGES} edges"),
            ));
        }
        Matchings::of(overlay, self.budget)
    }
}

impl OverlaySpec for Matcha {
    usual!(changing, undirected);

    /// `matcha`, the overlay, and the budget if it is not the paper's.
    fn label(&self) -> String {
        let budget = match self.budget {
            0.5 => String::new(),
            budget => format!(" budget={budget}"),
        };
        format!("matcha {}{budget}", self.of.label())
    }

    /// The edges that take part on average, and all of them while they are planned.
    fn size(&self, nodes: usize) -> OverlaySize {
        let all = self.of.size(nodes).edges;
        OverlaySize {
            edges_at_once: all,
            ..OverlaySize::listed(nodes, all * self.budget, Paths::Short)
        }
    }

    fn reads_labels(&self) -> bool {
        self.of.reads_labels()
    }

    fn slow_part(&self, nodes: Nodes<'_>) -> Option<SlowPart> {
        let (n, edges) = (nodes.count as f64, self.of.size(nodes.count).edges);
        let probabilities = SlowPart {
            what: "the probabilities of the matchings",
            keys: "`of`",
            // Some sixty steps of matrices, and as many eigenvalues.
            seconds: 1e-7 * (n * n * n + edges * edges),
        };
        SlowPart::of_all(self.of.slow_part(nodes).into_iter().chain([probabilities]))
    }

    fn contents(&mut self) -> Contents<'_> {
        Contents::Topologies(vec![("matcha.of".to_owned(), &mut *self.of)])
    }

    /// Builds the overlay, colours its edges, and finds probabilities and α.
    fn prepare(&mut self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<(), TopologyError> {
        self.check(nodes.count)?;
        let overlay = self.of.build(nodes, rng);
        let overlay = overlay.map_err(TopologyError::within("matcha.of"))?;
        self.prepared = Some(Arc::new(self.matchings(&overlay)?));
        Ok(())
    }

    fn prescribes_weights(&self) -> bool {
        true
    }
}

impl Schedule for Matcha {
    usual_schedule!(all_nodes, until_connected);

    fn turns(&self, _nodes: usize) -> Turns {
        Turns::Every(1)
    }

    /// Checks that the overlay stays the same and has edges without a direction, and the budget.
    ///
    /// # Errors
    /// [`TopologyError::Setting`].
    fn check(&self, _nodes: usize) -> Result<(), TopologyError> {
        check_fixed(&self.of, "matcha.of".to_owned())?;
        if self.of.is_directed() {
            let needed = "an overlay in which whoever sends to a node hears it as well";
            return Err(TopologyError::setting("matcha.of", self.of.label(), needed));
        }
        check_share(self.budget, "matcha.budget")
    }

    /// One draw.
    ///
    /// # Errors
    /// [`TopologyError::Unprepared`] before [`Topology::prepare`].
    fn snapshot(
        &self,
        _draw: usize,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        let prepared = self.prepared.as_ref();
        let matchings = prepared.ok_or(TopologyError::Unprepared)?;
        let takes_part = matchings.probabilities.iter().map(|p| rng.random_bool(*p));
        let takes_part: Vec<bool> = takes_part.collect();
        Ok(Snapshot::of_all(
            matchings.overlay(nodes.count, &takes_part)?,
        ))
    }

    fn lambda_of_draws(
        &self,
        weights: &Weights,
        nodes: usize,
    ) -> Result<Option<f64>, TopologyError> {
        let matchings = self.prepared.as_ref().ok_or(TopologyError::Unprepared)?;
        match weights.are_prescribed() {
            true => matchings.lambda(nodes).map(Some),
            false => Ok(None),
        }
    }
}
