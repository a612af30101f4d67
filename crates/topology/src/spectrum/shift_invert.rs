//! Extreme eigenvalues of sparse matrices on which Lanczos iterations stall, such as those of long paths.
//!
//! Eigenvalues that crowd at the end of the spectrum lie far apart in that of the inverse, which a sparse Cholesky
//! factorisation applies. Overlays that mix slowly have small separators, so the factors stay sparse.

use super::lanczos::{self, Ritz};
use super::symmetric::Symmetric;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::linalg::cholesky::{LltRef, SymbolicCholesky, factorize_symbolic_cholesky};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Conj, MatMut, Par, Side};

/// Most entries of a matrix that is factorised, and of its factor: 400 MB.
pub(crate) const MOST_FACTORISED: (usize, usize) = (2_000_000, 50_000_000);
/// Most shifts tried.
const SHIFTS: usize = 8;

/// The smallest eigenvalue beside that of the null vector, or `None` if the factor would be too large.
///
/// Without its first row and column the matrix is positive definite; solving with it and projecting applies the
/// pseudo-inverse.
pub(super) fn smallest(matrix: &Symmetric, accuracy: f64) -> Option<f64> {
    let grounded = matrix
        .entries()
        .filter(|&(i, j, _)| i > 0 && j > 0)
        .map(|(i, j, value)| (i - 1, j - 1, value));
    let factor = Factor::of(matrix.nodes() - 1, grounded).ok()?;
    let solve = |x: &[f64], out: &mut [f64]| {
        out.copy_from_slice(x);
        out[0] = 0.0;
        factor.solve(&mut out[1..]);
        let share: f64 = out
            .iter()
            .zip(&matrix.null)
            .map(|(value, null)| value * null)
            .sum();
        out.iter_mut()
            .zip(&matrix.null)
            .for_each(|(value, null)| *value -= share * null);
    };
    let close = |ritz: &Ritz| ritz.largest_error <= accuracy * ritz.largest;
    let ritz = lanczos::run(matrix.nodes(), Some(&matrix.null), solve, close);
    close(&ritz).then_some(1.0 / ritz.largest)
}

/// The largest eigenvalue, given an estimate from below; `None` if the factor would be too large.
///
/// That `σ I - M` has a Cholesky factor proves that σ is above all eigenvalues. Each round either moves σ up until it
/// is, or finds the eigenvalue more closely and moves σ down towards it.
pub(super) fn largest(matrix: &Symmetric, estimate: &Ritz, accuracy: f64) -> Option<f64> {
    let (mut estimate, error) = (estimate.largest, estimate.largest_error);
    let mut distance = 10.0 * error;
    for _ in 0..SHIFTS {
        distance = distance.max(1e-7 * estimate);
        let above = estimate + distance;
        let shifted = |(i, j, value): (usize, usize, f64)| {
            (i, j, if i == j { above - value } else { -value })
        };
        let factor = match Factor::of(matrix.nodes(), matrix.entries().map(shifted)) {
            Ok(factor) => factor,
            Err(NoFactor::NotPositiveDefinite) => {
                distance *= 10.0;
                continue;
            }
            Err(NoFactor::TooLarge) => return None,
        };
        let solve = |x: &[f64], out: &mut [f64]| {
            out.copy_from_slice(x);
            factor.solve(out);
        };
        let error = |ritz: &Ritz| ritz.largest_error / (ritz.largest * ritz.largest);
        let close = |ritz: &Ritz| error(ritz) <= accuracy * above;
        let ritz = lanczos::run(matrix.nodes(), None, solve, close);
        estimate = above - 1.0 / ritz.largest;
        if close(&ritz) {
            return Some(estimate);
        }
        distance = 10.0 * error(&ritz);
    }
    None
}

/// Why there is no factor.
enum NoFactor {
    NotPositiveDefinite,
    TooLarge,
}

/// A sparse Cholesky factorisation.
struct Factor {
    symbolic: SymbolicCholesky<usize>,
    values: Vec<f64>,
}

impl Factor {
    /// Factorises a symmetric matrix.
    fn of(n: usize, entries: impl Iterator<Item = (usize, usize, f64)>) -> Result<Self, NoFactor> {
        let lower = entries
            .filter(|&(i, j, _)| i >= j)
            .map(|(row, col, val)| Triplet { row, col, val });
        let triplets: Vec<_> = lower.take(MOST_FACTORISED.0 + 1).collect();
        if triplets.len() > MOST_FACTORISED.0 {
            return Err(NoFactor::TooLarge);
        }
        let matrix =
            SparseColMat::try_new_from_triplets(n, n, &triplets).map_err(|_| NoFactor::TooLarge)?;
        let (ordering, parameters) = (Default::default(), Default::default());
        let symbolic =
            factorize_symbolic_cholesky(matrix.symbolic(), Side::Lower, ordering, parameters)
                .map_err(|_| NoFactor::TooLarge)?;
        if symbolic.len_val() > MOST_FACTORISED.1 {
            return Err(NoFactor::TooLarge);
        }
        let mut values = vec![0.0; symbolic.len_val()];
        let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
        let mut memory = MemBuffer::new(scratch);
        let stack = MemStack::new(&mut memory);
        let (regularization, parameters) = (Default::default(), Default::default());
        symbolic
            .factorize_numeric_llt(
                &mut values,
                matrix.as_ref(),
                Side::Lower,
                regularization,
                Par::Seq,
                stack,
                parameters,
            )
            .map_err(|_| NoFactor::NotPositiveDefinite)?;
        Ok(Self { symbolic, values })
    }

    /// Solves in place.
    fn solve(&self, right_side: &mut [f64]) {
        let n = right_side.len();
        let mut memory = MemBuffer::new(self.symbolic.solve_in_place_scratch::<f64>(1, Par::Seq));
        let right_side = MatMut::from_column_major_slice_mut(right_side, n, 1);
        let factor = LltRef::new(&self.symbolic, &self.values);
        factor.solve_in_place_with_conj(Conj::No, right_side, Par::Seq, MemStack::new(&mut memory));
    }
}
