//! Fastest weights by a primal-dual interior point method.
//!
//! Minimise the bound `t` of the norm subject to positive [`Cones`] S of slacks, while multipliers Z of these approach
//! the dual's optimum from inside. Each step solves `S Z = σ μ I`, linearised, once to see how far it leads with σ = 0
//! and once with the σ and the second-order term that follow from it.
//!
//! # Source
//! The direction is that of Helmberg, Rendl, Vanderbei and Wolkowicz (1996), the predictor and corrector are Mehrotra's
//! (1992).

use super::certificate;
use super::cones::{Cones, column, trace};
use super::problem::Problem;
use crate::TopologyError;
use faer::linalg::solvers::{Llt, Solve};
use faer::{Mat, Side};

/// Distance from the least norm that is to be proved.
const ACCURACY: f64 = 1e-5;
/// The distance that is enough where rounding leaves no way to a shorter one.
const ENOUGH: f64 = 1e-3;
/// The same, as a share of the spectral gap, which overlays that mix slowly ask more of.
const SHARE_OF_GAP: f64 = 0.01;
/// Share of the way to the border that a step goes.
const SHARE: f64 = 0.95;
/// Steps before giving up, several times what is usually taken.
const STEPS: usize = 100;

/// Weights whose norm is within [`ACCURACY`] of the least, if steps get there, else within [`ENOUGH`]; in any case within [`SHARE_OF_GAP`] of the
/// spectral gap.
///
/// # Errors
/// [`TopologyError::FastestGap`] if the proof is not found; [`TopologyError::Eigenvalues`].
pub(super) fn solve(problem: &Problem) -> Result<Vec<f64>, TopologyError> {
    let (mut least, mut best) = (f64::NEG_INFINITY, (f64::INFINITY, Vec::new()));
    let needed = |accuracy: f64, norm: f64| accuracy.min(SHARE_OF_GAP * (1.0 - norm));
    let mut point = Point::start(problem)?;
    for _ in 0..STEPS {
        let Some(current) = point else { break };
        let norm = certificate::norm(problem, &current.weights)?;
        least = current.least_norm(problem)?.max(least);
        if norm - least <= needed(ACCURACY, norm) {
            return Ok(current.weights);
        }
        if norm < best.0 {
            best = (norm, current.weights.clone());
        }
        point = current.next(problem);
    }
    let (norm, weights) = best;
    let (gap, accuracy) = (norm - least, needed(ENOUGH, norm));
    match gap <= accuracy {
        true => Ok(weights),
        false => Err(TopologyError::FastestGap {
            nodes: problem.nodes,
            edges: problem.edges.len(),
            gap,
            accuracy,
        }),
    }
}

/// Weights of the edges, a bound `t` of their norm and the multipliers of the slacks, all strictly inside.
struct Point {
    weights: Vec<f64>,
    bound: f64,
    multipliers: Cones,
}

impl Point {
    /// Metropolis-Hastings weights, and the multipliers `μ S⁻¹` whose traces sum to one, as the dual asks.
    fn start(problem: &Problem) -> Result<Option<Self>, TopologyError> {
        let degrees = problem.given(&vec![1.0; problem.edges.len()]);
        let weight = |&(a, b): &(usize, usize)| 1.0 / (degrees[a].max(degrees[b]) + 1.0);
        let weights: Vec<f64> = problem.edges.iter().map(weight).collect();
        let bound = certificate::norm(problem, &weights)? + 0.1;
        let inverse = Cones::slacks(problem, &weights, bound).inverse();
        Ok(inverse.map(|inverse| {
            let mu = inverse.matrices.iter().map(trace).sum::<f64>().recip();
            Self {
                weights,
                bound,
                multipliers: inverse.zip(&inverse, |value, _| mu * value),
            }
        }))
    }

    /// The lower bound of all norms that the multipliers prove.
    fn least_norm(&self, problem: &Problem) -> Result<f64, TopologyError> {
        let [above, below] = &self.multipliers.matrices;
        certificate::lower_bound(problem, &(above - below), &self.multipliers.rows)
    }

    /// The point after one step; nothing if rounding has the upper hand.
    fn next(self, problem: &Problem) -> Option<Self> {
        let newton = Newton::at(problem, &self)?;
        let direction = newton.direction(&newton.aim()?);
        let (primal, dual) = newton.largest_steps(&direction)?;
        let weights = self.weights.iter().zip(&direction.weights);
        let next = Self {
            weights: weights
                .map(|(weight, step)| weight + primal * step)
                .collect(),
            bound: self.bound + primal * direction.bound,
            multipliers: self
                .multipliers
                .zip(&direction.multipliers, |z, step| z + dual * step),
        };
        let size = next.multipliers.dot(&next.multipliers) + next.weights.iter().sum::<f64>();
        size.is_finite().then_some(next)
    }
}

/// A change of the weights and the bound, and of the slacks and multipliers with them.
struct Direction {
    weights: Vec<f64>,
    bound: f64,
    slacks: Cones,
    multipliers: Cones,
}

/// The linearised equations at a point.
struct Newton<'a> {
    problem: &'a Problem,
    multipliers: &'a Cones,
    slacks: Cones,
    inverse: Cones,
    schur: Llt<f64>,
}

impl<'a> Newton<'a> {
    fn at(problem: &'a Problem, point: &'a Point) -> Option<Self> {
        let slacks = Cones::slacks(problem, &point.weights, point.bound);
        let inverse = slacks.inverse()?;
        let schur = schur_complement(problem, &point.multipliers, &inverse);
        Some(Self {
            problem,
            multipliers: &point.multipliers,
            slacks,
            inverse,
            schur: schur.llt(Side::Lower).ok()?,
        })
    }

    /// The direction in which `Z + Z ΔS S⁻¹ + ΔZ = aim` and `Z + ΔZ` meets the dual's equalities.
    fn direction(&self, aim: &Cones) -> Direction {
        let edges = self.problem.edges.len();
        let mut right = aim.adjoint(self.problem);
        right[edges] -= 1.0;
        let mut step = Mat::from_fn(edges + 1, 1, |k, _| right[k]);
        self.schur.solve_in_place(&mut step);
        let weights: Vec<f64> = (0..edges).map(|k| step[(k, 0)]).collect();
        let bound = step[(edges, 0)];
        let slacks = Cones::change(self.problem, &weights, bound);
        let followed = Cones::product(self.multipliers, &slacks, &self.inverse);
        let rest = aim.zip(self.multipliers, |aim, multiplier| aim - multiplier);
        Direction {
            weights,
            bound,
            multipliers: rest.zip(&followed, |rest, followed| rest - followed),
            slacks,
        }
    }

    /// `σ μ S⁻¹` less the second-order term, from a step with σ = 0: σ is the cube of the share of μ that it leaves.
    fn aim(&self) -> Option<Cones> {
        let nothing = self.inverse.zip(&self.inverse, |_, _| 0.0);
        let predictor = self.direction(&nothing);
        let (primal, dual) = self.largest_steps(&predictor)?;
        let slacks = self
            .slacks
            .zip(&predictor.slacks, |s, step| s + primal * step);
        let multipliers = self
            .multipliers
            .zip(&predictor.multipliers, |z, step| z + dual * step);
        let product = self.slacks.dot(self.multipliers);
        let left = slacks.dot(&multipliers) / product;
        let centre = left.powi(3) * product / self.slacks.rank() as f64;
        let second_order = Cones::product(&predictor.multipliers, &predictor.slacks, &self.inverse);
        Some(
            self.inverse
                .zip(&second_order, |inverse, term| centre * inverse - term),
        )
    }

    /// How far slacks and multipliers go along a direction.
    fn largest_steps(&self, direction: &Direction) -> Option<(f64, f64)> {
        let primal = self.slacks.largest_step(&direction.slacks)?;
        let dual = self.multipliers.largest_step(&direction.multipliers)?;
        Some(((SHARE * primal).min(1.0), (SHARE * dual).min(1.0)))
    }
}

/// `H_ef = tr(A_e Z A_f S⁻¹)` for the change `A_e` of the slacks by each weight and, last, the bound, of which only the
/// lower triangle is filled.
///
/// By two weights each matrix adds `(b_eᵀ Z b_f) (b_eᵀ S⁻¹ b_f)`; by a weight and the bound, `±b_eᵀ Z S⁻¹ b_e`; by the
/// bound, `tr Z S⁻¹`.
fn schur_complement(problem: &Problem, multipliers: &Cones, inverse: &Cones) -> Mat<f64> {
    let edges = problem.edges.len();
    let mut schur = Mat::zeros(edges + 1, edges + 1);
    for (k, sign) in [(0, 1.0), (1, -1.0)] {
        let (multiplier, inverse) = (&multipliers.matrices[k], &inverse.matrices[k]);
        let difference = |matrix: &Mat<f64>, a: usize, b: usize| -> Vec<f64> {
            let pairs = column(matrix, a).iter().zip(column(matrix, b));
            pairs.map(|(a, b)| a - b).collect()
        };
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        for (e, &(a, b)) in problem.edges.iter().enumerate() {
            let (z, s) = (difference(multiplier, a, b), difference(inverse, a, b));
            let entries = schur.col_mut(e).try_as_col_major_mut();
            let entries = entries
                .expect("matrices are stored by columns")
                .as_slice_mut();
            for (entry, &(a, b)) in entries[e..].iter_mut().zip(&problem.edges[e..]) {
                *entry += (z[a] - z[b]) * (s[a] - s[b]);
            }
            entries[edges] += sign * dot(&z, &s);
        }
        schur[(edges, edges)] += (0..problem.nodes)
            .map(|j| dot(column(multiplier, j), column(inverse, j)))
            .sum::<f64>();
    }
    if problem.nonnegative {
        add_signs(problem, multipliers, inverse, &mut schur);
    }
    schur
}

/// Adds what the signs of the edges give to the diagonal, and those of row i wherever two edges share the node i.
fn add_signs(problem: &Problem, multipliers: &Cones, inverse: &Cones, schur: &mut Mat<f64>) {
    let mut edges_at = vec![Vec::new(); problem.nodes];
    for (e, &(a, b)) in problem.edges.iter().enumerate() {
        schur[(e, e)] += multipliers.edges[e] * inverse.edges[e];
        edges_at[a].push(e);
        edges_at[b].push(e);
    }
    for (i, edges) in edges_at.iter().enumerate() {
        for (place, &e) in edges.iter().enumerate() {
            for &f in &edges[place..] {
                schur[(f, e)] += multipliers.rows[i] * inverse.rows[i];
            }
        }
    }
}
