//! The recorded figures of an overlay and its weights.

use crate::clustering::{assortativity, clustering};
use crate::distances::Distances;
use crate::spectrum::{DECAYS, ROUNDING};
use crate::{MixingMatrix, Overlay, Spectrum, TopologyError, Weights};
use serde::{Deserialize, Serialize};

/// Nodes up to which distances and clustering are found: in a second or two for the overlays met here.
const LARGEST: usize = 20_000;

/// The figures of an overlay under its weights, in the order in which `overlay.json` lists them.
///
/// Values that are infinite, undefined or not computed are absent, see [`Spectrum`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverlaySummary {
    /// Number of nodes.
    pub nodes: usize,
    /// See [`Overlay::is_directed`]; written only if true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub directed: bool,
    /// Number of edges; of a directed overlay, of arcs.
    pub edges: usize,
    /// See [`Overlay::is_connected`].
    pub connected: bool,
    /// Neighbours per node.
    pub degree: DegreeSummary,
    /// See [`Spectrum::lambda2`].
    pub lambda2: Option<f64>,
    /// See [`Spectrum::lambda_n`].
    pub lambda_n: Option<f64>,
    /// See [`Spectrum::lambda`].
    pub lambda: Option<f64>,
    /// See [`Spectrum::gap`].
    pub gap: Option<f64>,
    /// See [`Spectrum::kappa`].
    pub kappa: Option<f64>,
    /// See [`Spectrum::p`].
    pub p: Option<f64>,
    /// See [`Spectrum::disagreement`].
    pub disagreement: Option<f64>,
    /// See [`Spectrum::effective_neighbours`]; empty in files of older versions.
    #[serde(default)]
    pub effective_neighbours: Vec<EffectiveNeighbours>,
    /// See [`Spectrum::theta`].
    pub theta: Option<f64>,
    /// See [`Spectrum::c_lambda`].
    pub c_lambda: Option<f64>,
    /// See [`Spectrum::lambda_walk`].
    pub lambda_walk: Option<f64>,
    /// Whether rows and columns sum to one.
    pub doubly_stochastic: bool,
    /// Smallest weight on the diagonal.
    pub min_self_weight: f64,
    /// See [`Overlay::edge_connectivity`].
    pub edge_connectivity: usize,
    /// Most edges on a shortest path between two nodes, along the directions of edges. Absent if a node does not reach another, of
    /// overlays of over 20,000 nodes, and in files of older versions.
    #[serde(default)]
    pub diameter: Option<usize>,
    /// Mean number of edges on the shortest paths between all pairs of nodes; absent likewise.
    #[serde(default)]
    pub mean_distance: Option<f64>,
    /// Mean over the nodes of the share of pairs of a node's neighbours that are neighbours themselves (Watts and Strogatz, 1998); a node
    /// with fewer than two neighbours counts as 0. Directions of edges are ignored. Absent of overlays of over 20,000 nodes, and in files
    /// of older versions.
    #[serde(default)]
    pub clustering: Option<f64>,
    /// Correlation of the degrees at the ends of an edge (Newman, 2002). Directions of edges are ignored. Absent where all ends have the
    /// same degree, and in files of older versions.
    #[serde(default)]
    pub assortativity: Option<f64>,
}

/// The effective number of neighbours for one decay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectiveNeighbours {
    /// Decay γ per exchange.
    pub decay: f64,
    /// See [`effective_neighbours`](crate::effective_neighbours).
    pub neighbours: Option<f64>,
}

/// Neighbours per node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DegreeSummary {
    /// Fewest.
    pub min: usize,
    /// Mean.
    pub mean: f64,
    /// Most.
    pub max: usize,
}

impl OverlaySummary {
    /// The figures, and the spectrum that they come from.
    ///
    /// # Errors
    /// Those of [`Spectrum::of`].
    pub fn new(
        overlay: &Overlay,
        weights: &Weights,
        matrix: &MixingMatrix,
    ) -> Result<(Self, Spectrum), TopologyError> {
        let spectrum = Spectrum::of(overlay, weights, matrix)?;
        let known = |value: f64| value.is_finite().then_some(value);
        let degrees = || (0..overlay.nodes()).map(|node| overlay.degree(node));
        let degree = DegreeSummary {
            min: degrees().min().unwrap_or(0),
            mean: degrees().sum::<usize>() as f64 / overlay.nodes() as f64,
            max: degrees().max().unwrap_or(0),
        };
        let is_small = overlay.is_complete() || overlay.nodes() <= LARGEST;
        let distances = is_small.then(|| Distances::of(overlay)).flatten();
        let undirected = match overlay.is_directed() {
            true => &overlay.undirected(),
            false => overlay,
        };
        let summary = Self {
            nodes: overlay.nodes(),
            directed: overlay.is_directed(),
            edges: overlay.edge_count(),
            connected: overlay.is_connected(),
            degree,
            lambda2: known(spectrum.lambda2),
            lambda_n: known(spectrum.lambda_n),
            lambda: known(spectrum.lambda),
            gap: known(spectrum.gap),
            kappa: known(spectrum.kappa),
            p: known(spectrum.p),
            disagreement: known(spectrum.disagreement),
            effective_neighbours: DECAYS
                .iter()
                .zip(spectrum.effective_neighbours)
                .map(|(decay, neighbours)| EffectiveNeighbours {
                    decay: *decay,
                    neighbours: known(neighbours),
                })
                .collect(),
            theta: known(spectrum.theta),
            c_lambda: known(spectrum.c_lambda),
            lambda_walk: known(spectrum.lambda_walk),
            doubly_stochastic: matrix.is_doubly_stochastic(ROUNDING),
            min_self_weight: matrix.min_self_weight(),
            edge_connectivity: overlay.edge_connectivity(),
            diameter: distances.map(|all| all.diameter),
            mean_distance: distances.map(|all| all.mean),
            clustering: is_small.then(|| clustering(undirected)),
            assortativity: assortativity(undirected),
        };
        Ok((summary, spectrum))
    }

    /// Whether every two nodes are neighbours, both ways in a directed overlay.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let arcs = self.nodes.checked_mul(self.nodes.saturating_sub(1));
        let counted = match self.directed {
            true => Some(self.edges),
            false => self.edges.checked_mul(2),
        };
        counted.is_some() && counted == arcs
    }
}
