//! The slacks that must stay positive, and their multipliers.

use super::problem::Problem;
use faer::{Mat, Side};

/// Sign of the weights' Laplacian in each of the two matrix slacks.
const SIGNS: [f64; 2] = [1.0, -1.0];

/// An element of the space of the constraints: a slack, a multiplier, or a change of one.
///
/// With `M = W - 11ᵀ/N` and the bound `t` of its norm, the slacks are `t I - M` and `t I + M` and, if entries may not be
/// negative, `w_e` for each edge and `W_ii` for each row.
#[derive(Clone)]
pub(super) struct Cones {
    /// Symmetric matrices `[N, N]`.
    pub(super) matrices: [Mat<f64>; 2],
    /// One number for each edge, or none.
    pub(super) edges: Vec<f64>,
    /// One number for each row, or none.
    pub(super) rows: Vec<f64>,
}

impl Cones {
    /// The slacks of weights and a bound.
    pub(super) fn slacks(problem: &Problem, weights: &[f64], bound: f64) -> Self {
        let mixing = problem.distance_from_mean(weights);
        let slack = |sign: f64| {
            Mat::from_fn(problem.nodes, problem.nodes, |i, j| {
                bound * f64::from(i == j) - sign * mixing[(i, j)]
            })
        };
        let own = |given: f64| 1.0 - given;
        Self {
            matrices: SIGNS.map(slack),
            edges: problem.if_nonnegative(|| weights.to_vec()),
            rows: problem.if_nonnegative(|| problem.given(weights).into_iter().map(own).collect()),
        }
    }

    /// How the slacks change with a change of weights and bound.
    pub(super) fn change(problem: &Problem, weights: &[f64], bound: f64) -> Self {
        let laplacian = problem.laplacian(weights);
        let slack = |sign: f64| {
            Mat::from_fn(problem.nodes, problem.nodes, |i, j| {
                bound * f64::from(i == j) + sign * laplacian[(i, j)]
            })
        };
        let taken = |given: f64| -given;
        Self {
            matrices: SIGNS.map(slack),
            edges: problem.if_nonnegative(|| weights.to_vec()),
            rows: problem
                .if_nonnegative(|| problem.given(weights).into_iter().map(taken).collect()),
        }
    }

    /// The adjoint of [`Cones::change`]: one number for each weight, and one for the bound.
    pub(super) fn adjoint(&self, problem: &Problem) -> Vec<f64> {
        let [above, below] = &self.matrices;
        let across = problem.across(above).into_iter().zip(problem.across(below));
        let mut adjoint: Vec<f64> = across.map(|(above, below)| above - below).collect();
        if problem.nonnegative {
            for (e, &(a, b)) in problem.edges.iter().enumerate() {
                adjoint[e] += self.edges[e] - self.rows[a] - self.rows[b];
            }
        }
        adjoint.push(self.matrices.iter().map(trace).sum());
        adjoint
    }

    /// How many eigenvalues and numbers there are.
    pub(super) fn rank(&self) -> usize {
        2 * self.matrices[0].nrows() + self.edges.len() + self.rows.len()
    }

    /// The inner product.
    pub(super) fn dot(&self, other: &Self) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let matrices = self.matrices.iter().zip(&other.matrices);
        let columns = matrices.map(|(a, b)| {
            let nodes = a.ncols();
            let column = |j| dot(column(a, j), column(b, j));
            (0..nodes).map(column).sum::<f64>()
        });
        columns.sum::<f64>() + dot(&self.edges, &other.edges) + dot(&self.rows, &other.rows)
    }

    /// A function of each entry and the other's.
    pub(super) fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let numbers = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect();
        let matrix = |k: usize| {
            let (a, b) = (&self.matrices[k], &other.matrices[k]);
            Mat::from_fn(a.nrows(), a.ncols(), |i, j| f(a[(i, j)], b[(i, j)]))
        };
        Self {
            matrices: [matrix(0), matrix(1)],
            edges: numbers(&self.edges, &other.edges),
            rows: numbers(&self.rows, &other.rows),
        }
    }

    /// `X⁻¹`, or nothing if X is not positive definite.
    pub(super) fn inverse(&self) -> Option<Self> {
        use faer::linalg::solvers::DenseSolveCore;
        let inverse = |matrix: &Mat<f64>| Some(matrix.llt(Side::Lower).ok()?.inverse());
        let numbers = |values: &[f64]| values.iter().map(|value| value.recip()).collect();
        Some(Self {
            matrices: [inverse(&self.matrices[0])?, inverse(&self.matrices[1])?],
            edges: numbers(&self.edges),
            rows: numbers(&self.rows),
        })
    }

    /// The symmetric part of `A B C`.
    pub(super) fn product(a: &Self, b: &Self, c: &Self) -> Self {
        let matrix = |k: usize| {
            let product = &a.matrices[k] * &b.matrices[k] * &c.matrices[k];
            Mat::from_fn(product.nrows(), product.ncols(), |i, j| {
                (product[(i, j)] + product[(j, i)]) / 2.0
            })
        };
        let numbers = |a: &[f64], b: &[f64], c: &[f64]| {
            a.iter()
                .zip(b)
                .zip(c)
                .map(|((a, b), c)| a * b * c)
                .collect()
        };
        Self {
            matrices: [matrix(0), matrix(1)],
            edges: numbers(&a.edges, &b.edges, &c.edges),
            rows: numbers(&a.rows, &b.rows, &c.rows),
        }
    }

    /// The largest multiple of a change that keeps this positive semidefinite; `None` if it is not so to begin with.
    pub(super) fn largest_step(&self, change: &Self) -> Option<f64> {
        let numbers = self.edges.iter().chain(&self.rows);
        let changes = change.edges.iter().chain(&change.rows);
        let mut steepest = numbers
            .zip(changes)
            .map(|(value, change)| change / value)
            .fold(0.0, f64::min);
        for (matrix, change) in self.matrices.iter().zip(&change.matrices) {
            let factor = matrix.llt(Side::Lower).ok()?;
            let mut relative = change.clone();
            factor.L().solve_lower_triangular_in_place(&mut relative);
            let mut relative = relative.transpose().to_owned();
            factor.L().solve_lower_triangular_in_place(&mut relative);
            let values = relative.self_adjoint_eigenvalues(Side::Lower).ok()?;
            steepest = values.first()?.min(steepest);
        }
        Some(match steepest < 0.0 {
            true => -steepest.recip(),
            false => f64::INFINITY,
        })
    }
}

/// The sum of the diagonal.
pub(super) fn trace(matrix: &Mat<f64>) -> f64 {
    (0..matrix.nrows()).map(|i| matrix[(i, i)]).sum()
}

/// A column as a slice.
pub(super) fn column(matrix: &Mat<f64>, j: usize) -> &[f64] {
    matrix
        .col(j)
        .try_as_col_major()
        .expect("matrices are stored by columns")
        .as_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overlay;

    fn problem() -> Problem {
        let overlay = Overlay::from_edges(4, [(0, 1), (1, 2), (1, 3), (2, 3)]).unwrap();
        Problem::of(&overlay, &[0, 1, 2, 3], true)
    }

    #[test]
    fn the_adjoint_is_the_adjoint() {
        let (problem, step) = (problem(), [0.3, -0.2, 0.5, 0.7]);
        let multipliers = Cones::slacks(&problem, &[0.1, 0.2, 0.3, 0.15], 1.3);
        let change = Cones::change(&problem, &step, 0.4);
        let adjoint = multipliers.adjoint(&problem);
        let by_adjoint: f64 = adjoint
            .iter()
            .zip(step.iter().chain(&[0.4]))
            .map(|(a, b)| a * b)
            .sum();
        assert!((by_adjoint - multipliers.dot(&change)).abs() < 1e-14);
    }

    #[test]
    fn the_largest_step_ends_on_the_border() {
        let problem = problem();
        let slacks = Cones::slacks(&problem, &[0.2; 4], 1.5);
        // The bound alone falls: until t equals the norm.
        let norm = super::super::certificate::norm(&problem, &[0.2; 4]).unwrap();
        let step = slacks.largest_step(&Cones::change(&problem, &[0.0; 4], -1.0));
        assert!((step.unwrap() - (1.5 - norm)).abs() < 1e-12);
        // Node 1 has three edges and 0.4 to give.
        let step = slacks.largest_step(&Cones::change(&problem, &[0.1; 4], 1.0));
        assert!((step.unwrap() - 0.4 / 0.3).abs() < 1e-12);
        let step = slacks.largest_step(&Cones::change(&problem, &[0.0; 4], 1.0));
        assert_eq!(step, Some(f64::INFINITY));
        let outside = Cones::slacks(&problem, &[0.2; 4], 0.1);
        assert!(outside.largest_step(&slacks).is_none());
    }
}
