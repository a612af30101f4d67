//! All eigenvalues of a symmetric matrix.

use super::symmetric::Symmetric;
use crate::TopologyError;
use faer::{Mat, Side};

/// The eigenvalues, ascending.
///
/// # Errors
/// [`TopologyError::Eigenvalues`] if faer's iteration does not converge.
pub(super) fn eigenvalues(matrix: &Symmetric) -> Result<Vec<f64>, TopologyError> {
    let nodes = matrix.nodes();
    let mut dense = Mat::<f64>::zeros(nodes, nodes);
    for (i, j, value) in matrix.entries() {
        dense[(i, j)] = value;
    }
    dense
        .self_adjoint_eigenvalues(Side::Lower)
        .map_err(|_| TopologyError::Eigenvalues { nodes })
}
