//! Symmetric positive semidefinite matrices whose null vector is known: a Laplacian, or `I - W`.

use super::ROUNDING;
use crate::{MixingMatrix, Overlay};

/// A symmetric positive semidefinite matrix in compressed sparse rows, with a unit vector that it takes to zero.
pub(crate) struct Symmetric {
    row_ptr: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Unit vector of the eigenvalue 0 that is not asked for.
    pub(super) null: Vec<f64>,
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

    /// `out <- A · x`.
    pub(super) fn multiply(&self, x: &[f64], out: &mut [f64]) {
        for (i, result) in out.iter_mut().enumerate() {
            let range = self.row_ptr[i]..self.row_ptr[i + 1];
            let row = self.columns[range.clone()].iter().zip(&self.values[range]);
            *result = row.map(|(&j, value)| value * x[j as usize]).sum();
        }
    }
}
