//! The weights with which rows are averaged.

use crate::{Overlay, TopologyError};

mod own_share;
mod stochastic;

/// A mixing matrix W: row `i` of the result of mixing is `sum_j w_ij * row j`.
///
/// Rows are stored sparsely with ascending columns. If all rows are the same (`W = 1 pᵀ`, such as the complete overlay
/// with equal weights, or a server's average), one row is stored; other rows may stay as they are (a complete overlay
/// of which nodes have failed). So these never take N x N weights. The matrix is `rows x columns`, not necessarily
/// square. Nothing is required of the sums: push-sum needs columns that sum to one.
#[derive(Clone, Debug, PartialEq)]
pub struct MixingMatrix {
    columns: usize,
    storage: Storage,
}

#[derive(Clone, Debug, PartialEq)]
enum Storage {
    Sparse {
        row_ptr: Vec<usize>,
        columns: Vec<u32>,
        weights: Vec<f64>,
    },
    Average {
        rows: usize,
        weights: Vec<f64>,
    },
    Among {
        weights: Vec<f64>,
        members: Vec<bool>,
        /// `0..N`, to be the one column of a row that stays.
        indices: Vec<u32>,
    },
}

/// How the weights are laid out, for whoever computes `W · stack`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form<'a> {
    /// Compressed sparse rows: the weights of row `i` are those from `row_ptr[i]` to `row_ptr[i + 1]`.
    Sparse {
        /// Where each row begins, and the end of the last one.
        row_ptr: &'a [usize],
        /// Column of each weight, ascending in each row.
        columns: &'a [u32],
        /// The weights.
        weights: &'a [f64],
    },
    /// Every row is this dense row of weights, one per column.
    Average(&'a [f64]),
    /// The rows of the members are this dense row of weights; the others stay as they are.
    Among {
        /// One weight per column, zero for all but the members.
        weights: &'a [f64],
        /// Whether each row is a member, `[N]`.
        members: &'a [bool],
    },
}

impl MixingMatrix {
    /// A matrix from its rows, each a list of `(column, weight)` in any order.
    ///
    /// # Errors
    /// [`TopologyError::ColumnOutOfRange`], [`TopologyError::DuplicateColumn`] or [`TopologyError::NotFinite`].
    pub fn from_rows(columns: usize, rows: Vec<Vec<(u32, f64)>>) -> Result<Self, TopologyError> {
        let mut matrix = SparseRows::default();
        for (row, mut entries) in rows.into_iter().enumerate() {
            entries.sort_by_key(|&(column, _)| column);
            if let Some(twins) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(TopologyError::DuplicateColumn {
                    row,
                    column: twins[0].0,
                });
            }
            for &(column, weight) in &entries {
                if column as usize >= columns {
                    return Err(TopologyError::ColumnOutOfRange {
                        row,
                        column,
                        columns,
                    });
                }
                if !weight.is_finite() {
                    return Err(TopologyError::NotFinite {
                        row,
                        column: column as usize,
                        weight,
                    });
                }
            }
            matrix.push(entries);
        }
        Ok(matrix.finish(columns))
    }

    /// The matrix whose `rows` rows are all `weights`.
    ///
    /// # Errors
    /// [`TopologyError::NotFinite`].
    pub fn average(rows: usize, weights: Vec<f64>) -> Result<Self, TopologyError> {
        if let Some(column) = weights.iter().position(|weight| !weight.is_finite()) {
            return Err(TopologyError::NotFinite {
                row: 0,
                column,
                weight: weights[column],
            });
        }
        Ok(Self {
            columns: weights.len(),
            storage: Storage::Average { rows, weights },
        })
    }

    /// The square matrix in which the rows with a weight that is not zero are all `weights`, and the others stay as they are.
    ///
    /// # Errors
    /// [`TopologyError::NotFinite`].
    pub fn average_among(weights: Vec<f64>) -> Result<Self, TopologyError> {
        let average = Self::average(weights.len(), weights)?;
        let Storage::Average { rows, weights } = average.storage else {
            unreachable!("an average is stored as one")
        };
        if weights.iter().all(|weight| *weight != 0.0) {
            return Self::average(rows, weights);
        }
        Ok(Self {
            columns: rows,
            storage: Storage::Among {
                members: weights.iter().map(|weight| *weight != 0.0).collect(),
                weights,
                indices: (0..rows as u32).collect(),
            },
        })
    }

    /// The matrix that leaves `n` rows as they are.
    #[must_use]
    pub fn identity(n: usize) -> Self {
        let mut matrix = SparseRows::default();
        for row in 0..n as u32 {
            matrix.push([(row, 1.0)]);
        }
        matrix.finish(n)
    }

    /// The matrix with weight `neighbour(i, j)` from each neighbour `j` of `i` and `own(i, sum)` from `i` itself, `sum`
    /// being that of its neighbours' weights.
    pub(crate) fn over_neighbours(
        overlay: &Overlay,
        neighbour: impl Fn(usize, usize) -> f64,
        own: impl Fn(usize, f64) -> f64,
    ) -> Self {
        let degrees = (0..overlay.nodes()).map(|node| overlay.degree(node));
        let mut matrix = SparseRows::with_capacity(overlay.nodes(), degrees.sum());
        let mut entries: Vec<(u32, f64)> = Vec::new();
        for node in 0..overlay.nodes() {
            entries.clear();
            entries.extend(
                overlay
                    .neighbours(node)
                    .iter()
                    .map(|&j| (j, neighbour(node, j as usize))),
            );
            let sum = entries.iter().map(|&(_, weight)| weight).sum();
            let place = entries.partition_point(|&(j, _)| (j as usize) < node);
            entries.insert(place, (node as u32, own(node, sum)));
            matrix.push(entries.iter().copied());
        }
        matrix.finish(overlay.nodes())
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &self.storage {
            Storage::Sparse { row_ptr, .. } => row_ptr.len() - 1,
            Storage::Average { rows, .. } => *rows,
            Storage::Among { members, .. } => members.len(),
        }
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of weights that W has entries for, counting a shared row as often as it occurs.
    #[must_use]
    pub fn nnz(&self) -> usize {
        match &self.storage {
            Storage::Sparse { weights, .. } => weights.len(),
            Storage::Average { rows, weights } => rows * weights.len(),
            Storage::Among { members, .. } => {
                let sharing = members.iter().filter(|member| **member).count();
                sharing * sharing + members.len() - sharing
            }
        }
    }

    /// Number of weights that are held in memory: a row that many share counts once.
    #[must_use]
    pub fn stored_weights(&self) -> usize {
        match &self.storage {
            Storage::Sparse { weights, .. }
            | Storage::Average { weights, .. }
            | Storage::Among { weights, .. } => weights.len(),
        }
    }

    /// The weights of a matrix of sparse rows, with where each row begins and the columns; `None` for others.
    pub(crate) fn into_sparse(self) -> Option<(Vec<usize>, Vec<u32>, Vec<f64>)> {
        match self.storage {
            Storage::Sparse {
                row_ptr,
                columns,
                weights,
            } => Some((row_ptr, columns, weights)),
            Storage::Average { .. } | Storage::Among { .. } => None,
        }
    }

    /// The layout of the weights.
    #[must_use]
    pub fn form(&self) -> Form<'_> {
        match &self.storage {
            Storage::Sparse {
                row_ptr,
                columns,
                weights,
            } => Form::Sparse {
                row_ptr,
                columns,
                weights,
            },
            Storage::Average { weights, .. } => Form::Average(weights),
            Storage::Among {
                weights, members, ..
            } => Form::Among { weights, members },
        }
    }

    /// The `(column, weight)` entries of row `i`, by ascending column.
    ///
    /// # Panics
    /// If there is no row `i`.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (u32, f64)> {
        assert!(
            i < self.rows(),
            "row {i} of a mixing matrix with {} rows",
            self.rows()
        );
        let (columns, weights) = match &self.storage {
            Storage::Sparse {
                row_ptr,
                columns,
                weights,
            } => {
                let range = row_ptr[i]..row_ptr[i + 1];
                (Some(&columns[range.clone()]), &weights[range])
            }
            Storage::Average { weights, .. } => (None, weights.as_slice()),
            Storage::Among {
                weights, members, ..
            } if members[i] => (None, weights.as_slice()),
            Storage::Among { indices, .. } => (Some(&indices[i..=i]), [1.0].as_slice()),
        };
        let column = move |place: usize| columns.map_or(place as u32, |columns| columns[place]);
        weights
            .iter()
            .enumerate()
            .map(move |(place, &weight)| (column(place), weight))
    }

    /// The weight in row `i` and column `j`, zero where none is stored.
    ///
    /// # Panics
    /// If there is no row `i`.
    #[must_use]
    pub fn weight(&self, i: usize, j: usize) -> f64 {
        match &self.storage {
            Storage::Sparse {
                row_ptr,
                columns,
                weights,
            } => {
                let range = row_ptr[i]..row_ptr[i + 1];
                let place = columns[range.clone()].binary_search(&(j as u32));
                place.map_or(0.0, |place| weights[range.start + place])
            }
            Storage::Average { weights, .. } => weights.get(j).copied().unwrap_or(0.0),
            Storage::Among {
                weights, members, ..
            } if members[i] => weights.get(j).copied().unwrap_or(0.0),
            Storage::Among { .. } => f64::from(u8::from(i == j)),
        }
    }

    /// `W x` for a vector with one entry per column; returns one entry per row.
    ///
    /// # Panics
    /// If `x` has other than [`MixingMatrix::columns`] entries.
    #[must_use]
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(
            x.len(),
            self.columns,
            "one entry per column of the mixing matrix"
        );
        match &self.storage {
            Storage::Average { rows, weights } => {
                vec![
                    weights
                        .iter()
                        .zip(x)
                        .map(|(weight, value)| weight * value)
                        .sum();
                    *rows
                ]
            }
            Storage::Among {
                weights, members, ..
            } => {
                let mean = weights.iter().zip(x).map(|(weight, value)| weight * value);
                let mean = mean.sum::<f64>();
                let rows = members.iter().zip(x);
                rows.map(|(member, own)| if *member { mean } else { *own })
                    .collect()
            }
            Storage::Sparse { .. } => {
                let dot = |i| self.row(i).map(|(j, weight)| weight * x[j as usize]).sum();
                (0..self.rows()).map(dot).collect()
            }
        }
    }

    /// `Wᵀ x` for a vector with one entry per row, into `out` with one entry per column.
    ///
    /// # Panics
    /// If `x` has more than [`MixingMatrix::rows`] entries, or `out` fewer than [`MixingMatrix::columns`].
    pub fn apply_transposed(&self, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (i, value) in x.iter().enumerate() {
            for (j, weight) in self.row(i) {
                out[j as usize] += weight * value;
            }
        }
    }
}

/// Sparse rows as they grow.
struct SparseRows {
    row_ptr: Vec<usize>,
    columns: Vec<u32>,
    weights: Vec<f64>,
}

impl Default for SparseRows {
    fn default() -> Self {
        Self {
            row_ptr: vec![0],
            columns: Vec::new(),
            weights: Vec::new(),
        }
    }
}

impl SparseRows {
    /// No rows yet, with room for `rows` rows that hold a weight of their own and `beside` others.
    fn with_capacity(rows: usize, beside: usize) -> Self {
        let mut row_ptr = Vec::with_capacity(rows + 1);
        row_ptr.push(0);
        Self {
            row_ptr,
            columns: Vec::with_capacity(rows + beside),
            weights: Vec::with_capacity(rows + beside),
        }
    }

    fn push(&mut self, entries: impl IntoIterator<Item = (u32, f64)>) {
        for (column, weight) in entries {
            self.columns.push(column);
            self.weights.push(weight);
        }
        self.row_ptr.push(self.columns.len());
    }

    fn finish(self, columns: usize) -> MixingMatrix {
        let storage = Storage::Sparse {
            row_ptr: self.row_ptr,
            columns: self.columns,
            weights: self.weights,
        };
        MixingMatrix { columns, storage }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_checked() {
        let matrix =
            MixingMatrix::from_rows(3, vec![vec![(2, 0.25), (0, 0.75)], vec![(1, 1.0)]]).unwrap();
        assert_eq!((matrix.rows(), matrix.columns(), matrix.nnz()), (2, 3, 3));
        assert_eq!(matrix.row(0).collect::<Vec<_>>(), [(0, 0.75), (2, 0.25)]);
        assert_eq!(matrix.apply(&[4.0, 5.0, 8.0]), [5.0, 5.0]);
        assert_eq!(matrix.column_sums(), [0.75, 1.0, 0.25]);
        assert!(
            matrix.is_row_stochastic(0.0)
                && !matrix.is_symmetric(1.0)
                && !matrix.is_doubly_stochastic(1.0)
        );
        let error = |row| MixingMatrix::from_rows(3, vec![row]).unwrap_err();
        assert_eq!(
            error(vec![(3, 1.0)]),
            TopologyError::ColumnOutOfRange {
                row: 0,
                column: 3,
                columns: 3
            }
        );
        assert_eq!(
            error(vec![(1, 0.5), (1, 0.5)]),
            TopologyError::DuplicateColumn { row: 0, column: 1 }
        );
        assert!(matches!(
            error(vec![(1, f64::NAN)]),
            TopologyError::NotFinite { .. }
        ));
    }

    #[test]
    fn an_average_equals_its_explicit_rows() {
        let average = MixingMatrix::average(3, vec![0.5, 0.2, 0.3]).unwrap();
        let rows = vec![vec![(0, 0.5), (1, 0.2), (2, 0.3)]; 3];
        let explicit = MixingMatrix::from_rows(3, rows).unwrap();
        assert_eq!(average.nnz(), explicit.nnz());
        assert_eq!(average.row_sums(), explicit.row_sums());
        for (by_average, by_rows) in average.column_sums().iter().zip(explicit.column_sums()) {
            assert!((by_average - by_rows).abs() < 1e-15);
        }
        assert_eq!(
            average.apply(&[1.0, 2.0, 3.0]),
            explicit.apply(&[1.0, 2.0, 3.0])
        );
        assert_eq!(average.min_self_weight(), 0.2);
        assert!(average.row(1).eq(explicit.row(1)));
        assert_eq!(average.is_symmetric(0.1), explicit.is_symmetric(0.1));
        assert_eq!(average.is_symmetric(0.4), explicit.is_symmetric(0.4));
    }

    #[test]
    fn the_identity_changes_nothing() {
        let identity = MixingMatrix::identity(4);
        assert_eq!(
            identity.apply(&[1.0, -2.0, 3.0, 4.0]),
            [1.0, -2.0, 3.0, 4.0]
        );
        assert!(identity.is_doubly_stochastic(0.0) && identity.is_symmetric(0.0));
    }
}
