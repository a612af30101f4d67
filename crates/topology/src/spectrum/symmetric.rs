//! Symmetric positive semidefinite matrices whose null vector is known: a Laplacian, or `I - W`.

use super::{ROUNDING, dense, lanczos, shift_invert};
use crate::{MixingMatrix, Overlay, TopologyError};

/// Up to this many nodes a dense decomposition is quicker than Lanczos iterations.
const DENSE_EXTREMES: usize = 200;
/// Relative accuracy of the extreme eigenvalues.
const ACCURACY: f64 = 1e-9;

/// A symmetric positive semidefinite matrix in compressed sparse rows, with a unit vector that it takes to zero.
pub(crate) struct Symmetric {
    row_ptr: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Unit vector of the eigenvalue 0 that is not asked for.
    pub(super) null: Vec<f64>,
}

/// The smallest eigenvalue beside that of the null vector, and the largest; NaN where it could not be found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extremes {
    /// The smallest.
    pub(crate) smallest: f64,
    /// The largest.
    pub(crate) largest: f64,
}

impl Symmetric {
    /// `L = D - A`, whose null vector is constant.
    pub(super) fn laplacian(overlay: &Overlay) -> Self {
        let nodes = overlay.nodes();
        let own = |node, _| overlay.degree(node) as f64;
        let matrix = MixingMatrix::over_neighbours(overlay, |_, _| -1.0, own);
        let (row_ptr, columns, values) = matrix
            .into_sparse()
            .expect("a matrix over neighbours has sparse rows");
        Self {
            row_ptr,
            columns,
            values,
            null: vec![1.0 / (nodes as f64).sqrt(); nodes],
        }
    }

    /// `I - Π^{1/2} W Π^{-1/2}`, similar to `I - W`; `None` unless that is symmetric and π is stationary.
    pub(super) fn deficit(matrix: &MixingMatrix, stationary: &[f64]) -> Option<Self> {
        let root: Vec<f64> = stationary.iter().map(|share| share.sqrt()).collect();
        // A node without a share (no examples) is given no weight by others, and 0/0 where it is given none by itself.
        let scaled = |i: usize, j: usize, weight: f64| match weight {
            0.0 => 0.0,
            _ => root[i] * weight / root[j],
        };
        let balanced = (0..matrix.rows()).all(|i| {
            let mut row = matrix.row(i).map(|(j, weight)| (j as usize, weight));
            row.all(|(j, weight)| {
                (scaled(i, j, weight) - scaled(j, i, matrix.weight(j, i))).abs() <= ROUNDING
            })
        });
        if !balanced || !matrix.is_row_stochastic(ROUNDING) {
            return None;
        }
        let entries = |i: usize| {
            let row = matrix.row(i).map(move |(j, weight)| (j as usize, weight));
            row.map(move |(j, weight)| {
                let mean = (scaled(i, j, weight) + scaled(j, i, matrix.weight(j, i))) / 2.0;
                (j as u32, if i == j { 1.0 - weight } else { -mean })
            })
        };
        let total: f64 = stationary.iter().sum();
        let null = root.iter().map(|value| value / total.sqrt()).collect();
        // A row without a weight of its own has a deficit of one on the diagonal all the same.
        let with_diagonal = |i: usize| {
            let missing = matrix.row(i).all(|(j, _)| j as usize != i);
            let mut row: Vec<(u32, f64)> = entries(i)
                .chain(missing.then_some((i as u32, 1.0)))
                .collect();
            row.sort_unstable_by_key(|&(j, _)| j);
            row
        };
        // Hardly any row is without a weight of its own, so that hardly any needs more room than is reserved.
        let mut deficit = Self {
            row_ptr: Vec::with_capacity(matrix.rows() + 1),
            columns: Vec::with_capacity(matrix.nnz()),
            values: Vec::with_capacity(matrix.nnz()),
            null,
        };
        deficit.row_ptr.push(0);
        for row in (0..matrix.rows()).map(with_diagonal) {
            deficit.columns.extend(row.iter().map(|(column, _)| column));
            deficit.values.extend(row.iter().map(|(_, value)| value));
            deficit.row_ptr.push(deficit.columns.len());
        }
        Some(deficit)
    }

    /// Number of rows.
    pub(super) fn nodes(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// All stored `(row, column, value)`.
    pub(super) fn entries(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        (0..self.nodes()).flat_map(|i| {
            let range = self.row_ptr[i]..self.row_ptr[i + 1];
            let row = self.columns[range.clone()].iter().zip(&self.values[range]);
            row.map(move |(&j, &value)| (i, j as usize, value))
        })
    }

    fn multiply(&self, x: &[f64], out: &mut [f64]) {
        for (i, result) in out.iter_mut().enumerate() {
            let range = self.row_ptr[i]..self.row_ptr[i + 1];
            let row = self.columns[range.clone()].iter().zip(&self.values[range]);
            *result = row.map(|(&j, value)| value * x[j as usize]).sum();
        }
    }

    /// The extreme eigenvalues; the smallest is 0 if the graph behind the matrix is not `connected`.
    ///
    /// # Errors
    /// [`TopologyError::Eigenvalues`] from the dense solver.
    pub(super) fn extremes(&self, connected: bool) -> Result<Extremes, TopologyError> {
        let mut extremes = match self.nodes() {
            0 | 1 => Extremes {
                smallest: 0.0,
                largest: 0.0,
            },
            2..=DENSE_EXTREMES => {
                let values = dense::eigenvalues(self)?;
                Extremes {
                    smallest: values[1],
                    largest: values[values.len() - 1],
                }
            }
            _ => self.sparse_extremes(connected),
        };
        if !connected {
            extremes.smallest = 0.0;
        }
        Ok(extremes)
    }

    /// Lanczos iterations on the complement of the null vector, and a factorisation for what they do not reach.
    pub(super) fn sparse_extremes(&self, connected: bool) -> Extremes {
        let small =
            |ritz: &lanczos::Ritz| !connected || ritz.smallest_error <= ACCURACY * ritz.smallest;
        let large = |ritz: &lanczos::Ritz| ritz.largest_error <= ACCURACY * ritz.largest;
        let multiply = |x: &[f64], out: &mut [f64]| self.multiply(x, out);
        let ritz = lanczos::run(self.nodes(), Some(&self.null), multiply, |ritz| {
            small(ritz) && large(ritz)
        });
        let smallest = match small(&ritz) {
            true => Some(ritz.smallest),
            false => shift_invert::smallest(self, ACCURACY),
        };
        let largest = match large(&ritz) {
            true => Some(ritz.largest),
            false => shift_invert::largest(self, &ritz, ACCURACY),
        };
        Extremes {
            smallest: smallest.unwrap_or(f64::NAN),
            largest: largest.unwrap_or(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Path, Regular, Star, Topology, Torus, WattsStrogatz};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn overlay(topology: Topology, nodes: usize) -> Overlay {
        topology
            .build(nodes, &mut ChaCha8Rng::seed_from_u64(7))
            .unwrap()
    }

    #[test]
    fn lanczos_agrees_with_the_dense_solver() {
        for topology in [
            Topology::Regular(Regular { degree: 4 }),
            Topology::WattsStrogatz(WattsStrogatz {
                neighbours: 4,
                rewire: 0.1,
            }),
            Topology::Torus(Torus::default()),
            Topology::Star(Star {}),
            Topology::Path(Path {}),
        ] {
            let laplacian = Symmetric::laplacian(&overlay(topology.clone(), 300));
            let dense = dense::eigenvalues(&laplacian).unwrap();
            let sparse = laplacian.sparse_extremes(true);
            let label = topology.label();
            assert!(
                (sparse.smallest / dense[1] - 1.0).abs() < 1e-8,
                "{label}: {sparse:?} {}",
                dense[1]
            );
            assert!(
                (sparse.largest / dense[299] - 1.0).abs() < 1e-8,
                "{label}: {sparse:?} {}",
                dense[299]
            );
        }
    }

    #[test]
    fn long_paths_are_solved_by_factorisation() {
        let nodes = 20_000;
        let extremes = laplacian_of_path(nodes).extremes(true).unwrap();
        let eigenvalue = |k: usize| {
            4.0 * (std::f64::consts::PI * k as f64 / (2 * nodes) as f64)
                .sin()
                .powi(2)
        };
        assert!(
            (extremes.smallest / eigenvalue(1) - 1.0).abs() < 1e-8,
            "{extremes:?}"
        );
        assert!(
            (extremes.largest / eigenvalue(nodes - 1) - 1.0).abs() < 1e-8,
            "{extremes:?}"
        );
    }

    fn laplacian_of_path(nodes: usize) -> Symmetric {
        Symmetric::laplacian(&overlay(Topology::Path(Path {}), nodes))
    }
}
