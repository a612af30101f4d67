//! Sums and symmetry of a mixing matrix: what it preserves.

use super::{MixingMatrix, Storage};

impl MixingMatrix {
    /// Sum of each row, all ones where every row is an average.
    #[must_use]
    pub fn row_sums(&self) -> Vec<f64> {
        match &self.storage {
            Storage::Average { rows, weights } => vec![weights.iter().sum(); *rows],
            Storage::Among {
                weights, members, ..
            } => {
                let sum = weights.iter().sum();
                let sums = members.iter().map(|member| if *member { sum } else { 1.0 });
                sums.collect()
            }
            Storage::Sparse { .. } => (0..self.rows())
                .map(|i| self.row(i).map(|(_, weight)| weight).sum())
                .collect(),
        }
    }

    /// Sum of each column, all ones where mixing keeps the mean of a square matrix's rows.
    #[must_use]
    pub fn column_sums(&self) -> Vec<f64> {
        match &self.storage {
            Storage::Average { rows, weights } => {
                weights.iter().map(|weight| weight * *rows as f64).collect()
            }
            Storage::Among {
                weights, members, ..
            } => {
                let sharing = members.iter().filter(|member| **member).count() as f64;
                let sum = |(weight, member): (&f64, &bool)| match member {
                    true => weight * sharing,
                    false => 1.0,
                };
                weights.iter().zip(members).map(sum).collect()
            }
            Storage::Sparse {
                columns, weights, ..
            } => {
                let mut sums = vec![0.0; self.columns];
                for (&column, weight) in columns.iter().zip(weights) {
                    sums[column as usize] += weight;
                }
                sums
            }
        }
    }

    /// Whether W is square and `|w_ij - w_ji| <= tolerance` throughout.
    #[must_use]
    pub fn is_symmetric(&self, tolerance: f64) -> bool {
        if self.rows() != self.columns {
            return false;
        }
        match &self.storage {
            Storage::Average { weights, .. } => {
                let (least, most) = weights.iter().fold(
                    (f64::INFINITY, f64::NEG_INFINITY),
                    |(least, most), &weight| (weight.min(least), weight.max(most)),
                );
                weights.is_empty() || most - least <= tolerance
            }
            Storage::Among {
                weights, members, ..
            } => {
                let sharing = weights.iter().zip(members).filter(|(_, member)| **member);
                let (least, most) = sharing.fold(
                    (f64::INFINITY, f64::NEG_INFINITY),
                    |(least, most), (weight, _)| (weight.min(least), weight.max(most)),
                );
                most - least <= tolerance
            }
            Storage::Sparse { .. } => (0..self.rows()).all(|i| {
                self.row(i)
                    .all(|(j, weight)| (weight - self.weight(j as usize, i)).abs() <= tolerance)
            }),
        }
    }

    /// Whether every row sums to one within `tolerance`.
    #[must_use]
    pub fn is_row_stochastic(&self, tolerance: f64) -> bool {
        let is_one = |sum: f64| (sum - 1.0).abs() <= tolerance;
        match &self.storage {
            Storage::Average { rows, weights } => *rows == 0 || is_one(weights.iter().sum()),
            _ => self.row_sums().into_iter().all(is_one),
        }
    }

    /// Whether W is square and every row and every column sums to one within `tolerance`, so that mixing keeps the mean.
    ///
    /// The sums alone decide, as in Hua et al., Section 3: `laplacian` weights may be negative on the diagonal, see
    /// [`MixingMatrix::min_self_weight`].
    #[must_use]
    pub fn is_doubly_stochastic(&self, tolerance: f64) -> bool {
        let is_one = |sum: f64| (sum - 1.0).abs() <= tolerance;
        let columns_sum_to_one = || match &self.storage {
            Storage::Average { rows, weights } => {
                weights.iter().all(|weight| is_one(weight * *rows as f64))
            }
            _ => self.column_sums().into_iter().all(is_one),
        };
        self.rows() == self.columns && self.is_row_stochastic(tolerance) && columns_sum_to_one()
    }

    /// The smallest weight on the diagonal; below zero, a node partly subtracts its own model.
    #[must_use]
    pub fn min_self_weight(&self) -> f64 {
        (0..self.rows().min(self.columns))
            .map(|i| self.weight(i, i))
            .fold(f64::INFINITY, f64::min)
    }
}
