//! Mixing weights that Python has made.

use meshfold_topology::{MixingMatrix, Overlay, OwnWeights, TopologyError};
use numpy::PyReadonlyArray1;
use rand_chacha::ChaCha8Rng;

/// The entries of each row of a matrix, by columns in ascending order.
pub(super) type Rows = Vec<Vec<(u32, f64)>>;

/// The rows, the columns and the values of the entries of a matrix.
pub(super) type Entries<'py> = (
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, f64>,
);

/// The matrix `[nodes, nodes]` of `entries`.
pub(super) fn rows(nodes: usize, entries: &Entries<'_>) -> Rows {
    let (rows, columns, values) = entries;
    let mut matrix: Rows = vec![Vec::new(); nodes];
    let places = rows.as_array().into_iter().zip(columns.as_array());
    for ((row, column), value) in places.zip(values.as_array()) {
        matrix[*row as usize].push((*column, *value));
    }
    for row in &mut matrix {
        row.sort_unstable_by_key(|(column, _)| *column);
    }
    matrix
}

/// The same matrix in all rounds.
pub(super) struct Matrix {
    pub(super) name: String,
    pub(super) matrix: Rows,
}

impl OwnWeights for Matrix {
    fn matrix(
        &self,
        overlay: &Overlay,
        _rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        if self.matrix.len() != overlay.nodes() {
            return Err(TopologyError::Own {
                setting: "weights",
                name: self.name.clone(),
                reason: format!(
                    "the matrix has {} rows, but the overlay has {} nodes",
                    self.matrix.len(),
                    overlay.nodes()
                ),
            });
        }
        MixingMatrix::from_rows(overlay.nodes(), self.matrix.clone())
    }

    fn suit_directed(&self) -> bool {
        true
    }
}
