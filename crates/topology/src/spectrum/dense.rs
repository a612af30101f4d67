//! All eigenvalues of a symmetric matrix.

use super::symmetric::Symmetric;
use crate::TopologyError;
use faer::{Mat, MatRef, Side};

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
    of_dense(dense.as_ref()).ok_or(TopologyError::Eigenvalues { nodes })
}

/// The largest eigenvalue of a symmetric `matrix`, whose lower triangle is read; `None` if faer's iteration does not converge.
///
/// It is here for other crates, too, as each that calls faer compiles all of this iteration anew.
#[must_use]
pub fn largest_eigenvalue(matrix: MatRef<'_, f64>) -> Option<f64> {
    of_dense(matrix)?.last().copied()
}

/// The eigenvalues, ascending.
fn of_dense(matrix: MatRef<'_, f64>) -> Option<Vec<f64>> {
    matrix.self_adjoint_eigenvalues(Side::Lower).ok()
}
