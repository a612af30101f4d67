//! Laplacians of weighted edges, densely.

use crate::TopologyError;
use faer::{Mat, Side};

/// `Σ w_e b_e b_eᵀ` with `b_e = 1_a - 1_b` for the edge `e = (a, b)`, `[N, N]`.
pub(crate) fn laplacian(nodes: usize, edges: &[(usize, usize)], weights: &[f64]) -> Mat<f64> {
    let mut laplacian = Mat::zeros(nodes, nodes);
    for (&(a, b), weight) in edges.iter().zip(weights) {
        laplacian[(a, a)] += weight;
        laplacian[(b, b)] += weight;
        laplacian[(a, b)] -= weight;
        laplacian[(b, a)] -= weight;
    }
    laplacian
}

/// `b_eᵀ M b_e` for each edge and a symmetric M.
pub(crate) fn across(edges: &[(usize, usize)], matrix: &Mat<f64>) -> Vec<f64> {
    let across = |&(a, b): &(usize, usize)| matrix[(a, a)] + matrix[(b, b)] - 2.0 * matrix[(a, b)];
    edges.iter().map(across).collect()
}

/// The eigenvalues of a symmetric matrix, ascending.
///
/// # Errors
/// [`TopologyError::Eigenvalues`].
pub(crate) fn eigenvalues(matrix: &Mat<f64>) -> Result<Vec<f64>, TopologyError> {
    let nodes = matrix.nrows();
    matrix
        .self_adjoint_eigenvalues(Side::Lower)
        .map_err(|_| TopologyError::Eigenvalues { nodes })
}
