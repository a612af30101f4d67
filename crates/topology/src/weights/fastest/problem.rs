//! The fastest mixing problem of one component.

use crate::Overlay;
use crate::laplacian::{across, laplacian};
use faer::Mat;

/// Minimise `‖W - 11ᵀ/N‖₂` over `W = I - Σ w_e b_e b_eᵀ`, where `b_e = 1_a - 1_b` for the edge `e = (a, b)`.
pub(super) struct Problem {
    /// Nodes of the component.
    pub(super) nodes: usize,
    /// Its edges, by the nodes' places in the component.
    pub(super) edges: Vec<(usize, usize)>,
    /// Whether `w_e >= 0` and `W_ii >= 0` are required.
    pub(super) nonnegative: bool,
}

impl Problem {
    /// The problem of the `component` of an overlay, its nodes ascending.
    pub(super) fn of(overlay: &Overlay, component: &[u32], nonnegative: bool) -> Self {
        let edges_from = |(place, &node): (usize, &u32)| {
            let later = overlay.neighbours(node as usize).iter();
            later.filter(move |&&other| other > node).map(move |other| {
                let other = component.partition_point(|member| member < other);
                (place, other)
            })
        };
        Self {
            nodes: component.len(),
            edges: component.iter().enumerate().flat_map(edges_from).collect(),
            nonnegative,
        }
    }

    /// `Σ w_e b_e b_eᵀ`, the Laplacian of the edges' weights.
    pub(super) fn laplacian(&self, weights: &[f64]) -> Mat<f64> {
        laplacian(self.nodes, &self.edges, weights)
    }

    /// `W - 11ᵀ/N`.
    pub(super) fn distance_from_mean(&self, weights: &[f64]) -> Mat<f64> {
        let mean = 1.0 / self.nodes as f64;
        let laplacian = self.laplacian(weights);
        Mat::from_fn(self.nodes, self.nodes, |i, j| {
            f64::from(i == j) - mean - laplacian[(i, j)]
        })
    }

    /// The sum of the weights of each node's edges, `[N]`.
    pub(super) fn given(&self, weights: &[f64]) -> Vec<f64> {
        let mut given = vec![0.0; self.nodes];
        for (&(a, b), weight) in self.edges.iter().zip(weights) {
            given[a] += weight;
            given[b] += weight;
        }
        given
    }

    /// The `numbers` of constraints that exist only if entries may not be negative; none otherwise.
    pub(super) fn if_nonnegative(&self, numbers: impl Fn() -> Vec<f64>) -> Vec<f64> {
        match self.nonnegative {
            true => numbers(),
            false => Vec::new(),
        }
    }

    /// `b_eᵀ M b_e` for each edge and a symmetric M.
    pub(super) fn across(&self, matrix: &Mat<f64>) -> Vec<f64> {
        across(&self.edges, matrix)
    }
}
