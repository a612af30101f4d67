//! Fastest weights by an interior point method.
//!
//! With `M = W - 11ᵀ/N`, minimise `t` subject to `t I - M` and `t I + M` being positive definite. The path of minima of
//! `t/μ - ln det(t I - M) - ln det(t I + M) - Σ ln w_e - Σ ln W_ii` (the last two only if entries may not be negative)
//! is followed to small μ by Newton steps; next to the path, a step also gives the dual point that proves the distance
//! to the best.

use super::certificate;
use super::problem::Problem;
use crate::TopologyError;
use faer::linalg::solvers::{DenseSolveCore, Llt, Solve};
use faer::{Mat, Side};

/// Distance from the least norm that must be proved.
const ACCURACY: f64 = 1e-5;
/// By how much μ shrinks once the path is near.
const SHRINK: f64 = 20.0;
/// Length of a Newton step, in its own norm, below which the path is near: its dual point is then positive definite.
const NEAR: f64 = 0.5;
/// Newton steps before giving up; problems met here take 20 to 60.
const STEPS: usize = 300;

/// Weights within [`ACCURACY`] of the best.
///
/// # Errors
/// [`TopologyError::FastestGap`] if the proof is not found; [`TopologyError::Eigenvalues`].
pub(super) fn solve(problem: &Problem) -> Result<Vec<f64>, TopologyError> {
    let mut point = Point::start(problem)?;
    // The gap on the path is μ times the number of barriers.
    let mut mu = 0.1 / (2 * problem.nodes + problem.edges.len()) as f64;
    let mut gap = f64::INFINITY;
    for _ in 0..STEPS {
        let Some(newton) = Slacks::at(problem, &point).and_then(|it| Newton::at(problem, &it))
        else {
            break;
        };
        let mut direction = newton.direction(mu);
        while direction.length < NEAR {
            let bound = newton.lower_bound(&direction, mu)?;
            gap = gap.min(certificate::norm(problem, &point.weights)? - bound);
            if gap <= ACCURACY {
                return Ok(point.weights);
            }
            mu /= SHRINK;
            direction = newton.direction(mu);
        }
        match point.search(problem, &direction, mu) {
            Some(next) => point = next,
            None => break,
        }
    }
    Err(TopologyError::FastestGap {
        nodes: problem.nodes,
        edges: problem.edges.len(),
        gap,
        accuracy: ACCURACY,
    })
}

/// Weights of the edges and a bound `t` of their norm, both strictly inside what is allowed.
#[derive(Clone)]
struct Point {
    weights: Vec<f64>,
    bound: f64,
}

impl Point {
    /// Metropolis-Hastings weights.
    fn start(problem: &Problem) -> Result<Self, TopologyError> {
        let mut degrees = vec![0_usize; problem.nodes];
        for &(a, b) in &problem.edges {
            degrees[a] += 1;
            degrees[b] += 1;
        }
        let weight = |&(a, b): &(usize, usize)| 1.0 / (degrees[a].max(degrees[b]) + 1) as f64;
        let weights: Vec<f64> = problem.edges.iter().map(weight).collect();
        let bound = certificate::norm(problem, &weights)? + 0.1;
        Ok(Self { weights, bound })
    }

    /// The point at `length` times a direction.
    fn along(&self, direction: &Direction, length: f64) -> Self {
        let pairs = self.weights.iter().zip(&direction.weights);
        Self {
            weights: pairs.map(|(weight, step)| weight + length * step).collect(),
            bound: self.bound + length * direction.bound,
        }
    }

    /// The next point: as far along the direction as the function falls by a fair share of what its slope promises.
    fn search(&self, problem: &Problem, direction: &Direction, mu: f64) -> Option<Self> {
        let value =
            |point: &Self| Slacks::at(problem, point).map(|it| it.barrier() + point.bound / mu);
        let here = value(self)?;
        let mut length = 1.0;
        while length > 1e-12 {
            let next = self.along(direction, length);
            let promised = 0.1 * length * direction.length * direction.length;
            // Close to the path the function is flat to rounding; a short Newton step needs no proof of descent.
            let short = direction.length < NEAR;
            if value(&next).is_some_and(|there| short || there <= here - promised) {
                return Some(next);
            }
            length /= 2.0;
        }
        None
    }
}

/// What the constraints leave at a point, all of it positive.
struct Slacks<'a> {
    point: &'a Point,
    /// Cholesky factors of `t I - M` and `t I + M`.
    above: Llt<f64>,
    below: Llt<f64>,
    /// Self weights `W_ii`.
    own: Vec<f64>,
    nonnegative: bool,
}

impl<'a> Slacks<'a> {
    /// The slacks, or nothing outside of what is allowed.
    fn at(problem: &Problem, point: &'a Point) -> Option<Self> {
        let own = problem.self_weights(&point.weights);
        let nonnegative = problem.nonnegative;
        if nonnegative && point.weights.iter().chain(&own).any(|&value| value <= 0.0) {
            return None;
        }
        let mixing = problem.distance_from_mean(&point.weights);
        let factor = |sign: f64| {
            let slack = Mat::from_fn(problem.nodes, problem.nodes, |i, j| {
                point.bound * f64::from(i == j) + sign * mixing[(i, j)]
            });
            slack.llt(Side::Lower).ok()
        };
        Some(Self {
            point,
            above: factor(-1.0)?,
            below: factor(1.0)?,
            own,
            nonnegative,
        })
    }

    /// Minus the logarithms of all slacks.
    fn barrier(&self) -> f64 {
        let half_log_det = |factor: &Llt<f64>| -> f64 {
            let lower = factor.L();
            (0..lower.nrows()).map(|i| lower[(i, i)].ln()).sum()
        };
        let signs: f64 = match self.nonnegative {
            true => self
                .point
                .weights
                .iter()
                .chain(&self.own)
                .map(|value| value.ln())
                .sum(),
            false => 0.0,
        };
        -2.0 * (half_log_det(&self.above) + half_log_det(&self.below)) - signs
    }
}

/// A Newton step, and its length in the norm of the second derivative.
struct Direction {
    weights: Vec<f64>,
    bound: f64,
    length: f64,
}

/// First and second derivatives at a point. Only the first depends on μ, by `1/μ` at the bound.
struct Newton<'a> {
    problem: &'a Problem,
    /// `(t I - M)⁻¹` and `(t I + M)⁻¹`.
    above: Mat<f64>,
    below: Mat<f64>,
    own: Vec<f64>,
    /// Derivatives of the barrier by each weight, then by the bound.
    gradient: Vec<f64>,
    hessian: Llt<f64>,
}

impl<'a> Newton<'a> {
    fn at(problem: &'a Problem, slacks: &Slacks) -> Option<Self> {
        let (above, below) = (slacks.above.inverse(), slacks.below.inverse());
        let gradient = gradient(problem, slacks, &above, &below);
        let hessian = hessian(problem, slacks, &above, &below);
        Some(Self {
            problem,
            own: slacks.own.clone(),
            gradient,
            hessian: hessian.llt(Side::Lower).ok()?,
            above,
            below,
        })
    }

    fn direction(&self, mu: f64) -> Direction {
        let edges = self.problem.edges.len();
        let slope = |k: usize| self.gradient[k] + if k == edges { 1.0 / mu } else { 0.0 };
        let mut step = Mat::from_fn(edges + 1, 1, |k, _| -slope(k));
        self.hessian.solve_in_place(&mut step);
        let fall: f64 = (0..=edges).map(|k| -slope(k) * step[(k, 0)]).sum();
        Direction {
            weights: (0..edges).map(|k| step[(k, 0)]).collect(),
            bound: step[(edges, 0)],
            length: fall.max(0.0).sqrt(),
        }
    }

    /// The bound that the multipliers after a step prove.
    ///
    /// Those of a slack S are `μ (S⁻¹ - S⁻¹ ΔS S⁻¹)`: Newton's equation says that they meet the dual's equalities.
    fn lower_bound(&self, direction: &Direction, mu: f64) -> Result<f64, TopologyError> {
        let laplacian = self.problem.laplacian(&direction.weights);
        let multipliers = |inverse: &Mat<f64>, sign: f64| {
            let change = Mat::from_fn(laplacian.nrows(), laplacian.ncols(), |i, j| {
                direction.bound * f64::from(i == j) + sign * laplacian[(i, j)]
            });
            inverse - inverse * change * inverse
        };
        // M falls by the Laplacian of a step.
        let dual = multipliers(&self.above, 1.0) - multipliers(&self.below, -1.0);
        let change = self.problem.self_weights(&direction.weights);
        let price = |(own, change): (&f64, f64)| (1.0 - (change - 1.0) / own) / own;
        let prices: Vec<f64> = self.own.iter().zip(change).map(price).collect();
        // The bound does not depend on the common factor μ; with it numbers stay near one.
        let prices: Vec<f64> = prices.iter().map(|price| mu * price).collect();
        certificate::lower_bound(self.problem, &(dual * faer::Scale(mu)), &prices)
    }
}

/// Derivatives of the barrier, by each weight and by the bound.
fn gradient(problem: &Problem, slacks: &Slacks, above: &Mat<f64>, below: &Mat<f64>) -> Vec<f64> {
    let mut gradient: Vec<f64> = problem
        .across(above)
        .iter()
        .zip(problem.across(below))
        .map(|(above, below)| below - above)
        .collect();
    if slacks.nonnegative {
        for (k, &(a, b)) in problem.edges.iter().enumerate() {
            gradient[k] +=
                1.0 / slacks.own[a] + 1.0 / slacks.own[b] - 1.0 / slacks.point.weights[k];
        }
    }
    let trace = |matrix: &Mat<f64>| (0..problem.nodes).map(|i| matrix[(i, i)]).sum::<f64>();
    gradient.push(-trace(above) - trace(below));
    gradient
}

/// Second derivatives of the barrier, of which only the lower triangle is filled.
///
/// By two weights, `(b_eᵀ S⁻¹ b_f)²` for both slacks S; by a weight and the bound, `±b_eᵀ S⁻² b_e`; by the bound,
/// `tr S⁻²`.
fn hessian(problem: &Problem, slacks: &Slacks, above: &Mat<f64>, below: &Mat<f64>) -> Mat<f64> {
    let (nodes, edges) = (problem.nodes, problem.edges.len());
    let mut hessian = Mat::zeros(edges + 1, edges + 1);
    let difference = |matrix: &Mat<f64>, a: usize, b: usize| -> Vec<f64> {
        (0..nodes)
            .map(|i| matrix[(i, a)] - matrix[(i, b)])
            .collect()
    };
    for (e, &(a, b)) in problem.edges.iter().enumerate() {
        let (above, below) = (difference(above, a, b), difference(below, a, b));
        let column = hessian.col_mut(e).try_as_col_major_mut();
        let column = column.expect("columns are contiguous").as_slice_mut();
        for (entry, &(a, b)) in column[e..].iter_mut().zip(&problem.edges[e..]) {
            *entry = (above[a] - above[b]).powi(2) + (below[a] - below[b]).powi(2);
        }
        let squares = |vector: &[f64]| vector.iter().map(|value| value * value).sum::<f64>();
        column[edges] = squares(&above) - squares(&below);
    }
    hessian[(edges, edges)] = above.squared_norm_l2() + below.squared_norm_l2();
    if slacks.nonnegative {
        add_signs(problem, slacks, &mut hessian);
    }
    hessian
}

/// Adds `1/w_e²` on the diagonal and `1/W_ii²` wherever two edges share the node i.
fn add_signs(problem: &Problem, slacks: &Slacks, hessian: &mut Mat<f64>) {
    let mut edges_at = vec![Vec::new(); problem.nodes];
    for (e, &(a, b)) in problem.edges.iter().enumerate() {
        hessian[(e, e)] += slacks.point.weights[e].powi(-2);
        edges_at[a].push(e);
        edges_at[b].push(e);
    }
    for (edges, own) in edges_at.iter().zip(&slacks.own) {
        for (place, &e) in edges.iter().enumerate() {
            for &f in &edges[place..] {
                hessian[(f, e)] += own.powi(-2);
            }
        }
    }
}
