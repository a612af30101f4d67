//! A mixing matrix made ready for a device.

use super::row_lists::RowLists;
use meshfold_topology::{Form, MixingMatrix};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// A mixing matrix in the engine's precision, uploaded to a device when it is first used there.
#[derive(Debug, Clone)]
pub struct Mixing {
    columns: usize,
    matrix: Arc<Matrix>,
}

/// The weights of a [`Mixing`], shared with stacks whose mixing is deferred.
#[derive(Debug)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) host: HostMixing,
    /// The matrix as uploaded to devices, one entry per type of device data.
    uploaded: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

/// The matrix in host memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HostMixing {
    /// Compressed sparse rows, columns ascending.
    Sparse {
        row_ptr: Vec<usize>,
        columns: Vec<u32>,
        weights: Vec<f32>,
    },
    /// Every row holds the same weights: a mean over all rows.
    Average { weights: Vec<f64> },
    /// The rows of the members hold the same weights, a mean over them; the others stay.
    Among {
        weights: Vec<f64>,
        members: Vec<bool>,
    },
    /// No exchange.
    Identity,
}

impl Mixing {
    /// Prepares `matrix`; weights become f32.
    pub fn new(matrix: &MixingMatrix) -> Self {
        let host = match matrix.form() {
            Form::Average(weights) => HostMixing::Average {
                weights: weights.to_vec(),
            },
            Form::Among { weights, members } => HostMixing::Among {
                weights: weights.to_vec(),
                members: members.to_vec(),
            },
            Form::Sparse {
                row_ptr,
                columns,
                weights,
            } => HostMixing::Sparse {
                row_ptr: row_ptr.to_vec(),
                columns: columns.to_vec(),
                weights: weights.iter().map(|weight| *weight as f32).collect(),
            },
        };
        Self::of(matrix.rows(), matrix.columns(), host)
    }

    /// No exchange between `rows` rows.
    pub fn identity(rows: usize) -> Self {
        Self::of(rows, rows, HostMixing::Identity)
    }

    /// Sums over the rows of `lists`, whose entries have `weights`, in the order of the lists.
    pub(crate) fn of_lists(columns: usize, lists: &RowLists, weights: &[f32]) -> Self {
        let host = HostMixing::Sparse {
            row_ptr: lists.starts().to_vec(),
            columns: lists.rows().to_vec(),
            weights: weights.to_vec(),
        };
        Self::of(lists.len(), columns, host)
    }

    fn of(rows: usize, columns: usize, host: HostMixing) -> Self {
        Self {
            columns,
            matrix: Arc::new(Matrix::new(rows, host)),
        }
    }

    /// Rows of the stack after mixing.
    pub fn rows(&self) -> usize {
        self.matrix.rows
    }

    /// Rows of the stack before mixing.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Whether mixing changes nothing.
    pub fn is_identity(&self) -> bool {
        self.matrix.host == HostMixing::Identity
    }

    /// The weights of `row` that are stored, columns ascending, as they are applied. Those of sparse matrices are in single precision.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> Vec<(u32, f64)> {
        assert!(row < self.rows(), "the matrix has {} rows", self.rows());
        let of_all = |weights: &[f64]| {
            let all = (0..).zip(weights.iter().copied());
            all.filter(|(_, weight)| *weight != 0.0).collect()
        };
        match &self.matrix.host {
            HostMixing::Sparse {
                row_ptr,
                columns,
                weights,
            } => {
                let places = row_ptr[row]..row_ptr[row + 1];
                let weights = weights[places.clone()].iter().copied().map(f64::from);
                columns[places].iter().copied().zip(weights).collect()
            }
            HostMixing::Average { weights } => of_all(weights),
            HostMixing::Among { weights, members } if members[row] => of_all(weights),
            HostMixing::Among { .. } | HostMixing::Identity => vec![(row as u32, 1.0)],
        }
    }

    pub(crate) fn matrix(&self) -> &Arc<Matrix> {
        &self.matrix
    }
}

impl Matrix {
    /// A matrix of `rows` rows that no device has yet.
    pub(crate) fn new(rows: usize, host: HostMixing) -> Self {
        Self {
            rows,
            host,
            uploaded: Mutex::default(),
        }
    }

    /// What `upload` makes of the matrix for a device; it is called once for each type that is asked for.
    pub(crate) fn uploaded<T: Any + Send + Sync>(&self, upload: impl FnOnce(&Self) -> T) -> Arc<T> {
        let mut all = self.uploaded.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = all.iter().find_map(|one| one.clone().downcast().ok());
        earlier.unwrap_or_else(|| {
            let made = Arc::new(upload(self));
            all.push(made.clone());
            made
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_form_have_their_weights() {
        let rows = vec![vec![(0, 0.5), (2, 0.5)], vec![(1, 1.0)], vec![(0, 1.0)]];
        let sparse = Mixing::new(&MixingMatrix::from_rows(3, rows).unwrap());
        assert_eq!(sparse.row(0), [(0, 0.5), (2, 0.5)]);
        assert_eq!(sparse.row(1), [(1, 1.0)]);
        let average = Mixing::new(&MixingMatrix::average(2, vec![0.25, 0.75]).unwrap());
        assert_eq!(average.row(1), [(0, 0.25), (1, 0.75)]);
        let among = Mixing::new(&MixingMatrix::average_among(vec![0.5, 0.0, 0.5]).unwrap());
        assert_eq!(among.row(2), [(0, 0.5), (2, 0.5)]);
        assert_eq!(among.row(1), [(1, 1.0)]);
        assert_eq!(Mixing::identity(3).row(2), [(2, 1.0)]);
    }

    #[test]
    fn a_matrix_is_uploaded_once_for_each_kind_of_device() {
        let mixing = Mixing::identity(3);
        let rows = |matrix: &Matrix| matrix.rows;
        let first = mixing.matrix().uploaded(rows);
        let again = mixing.matrix().uploaded(|_| 0usize);
        let other = mixing.matrix().uploaded(|matrix| matrix.rows as f64);
        assert!(Arc::ptr_eq(&first, &again));
        assert_eq!((*first, *other), (3, 3.0));
    }
}
