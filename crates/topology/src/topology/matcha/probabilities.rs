//! The probabilities of matchings that connect nodes best, by a barrier method.
//!
//! Maximise t subject to `S = Σ p_j L_j − t (I − J) + J ≻ 0`, `0 <= p_j <= 1` and `Σ p_j <= budget · M`. Newton's method minimises
//! `−τ t − log det S` and the barriers of the other constraints, while τ grows.
//!
//! # Source
//! Boyd and Vandenberghe, *Convex optimization* (2004), Section 11.3.

use super::matchings::Edges;
use crate::TopologyError;
use crate::laplacian::{across, eigenvalues};
use faer::linalg::solvers::{DenseSolveCore, Solve};
use faer::{Mat, Side};

/// Distance from the largest `λ2` at which the search ends, as a share of it.
const ACCURACY: f64 = 1e-7;
/// Growth of τ.
const GROWTH: f64 = 8.0;
/// Most values of τ, of which so many lead from the first gap below the accuracy several times over.
const OUTER: usize = 30;
/// Most steps for a value of τ.
const STEPS: usize = 60;
/// A step that promises to gain less than this is the last for a τ.
const GAIN: f64 = 1e-9;

/// The probabilities, `[M]`, with which `λ2(Σ p_j L_j)` is within [`ACCURACY`] of the largest under a budget below 1.
///
/// # Errors
/// [`TopologyError::Eigenvalues`].
///
/// # Complexity
/// About sixty steps of O(N³ + E²) for E edges.
pub(super) fn best(edges: &Edges, budget: f64) -> Result<Vec<f64>, TopologyError> {
    let matchings = edges.matchings;
    if matchings == 0 {
        return Ok(Vec::new());
    }
    let most = budget * matchings as f64;
    let mut point = Point {
        p: vec![0.9 * budget; matchings],
        t: 0.0,
    };
    let start = second(edges, &point.p)?;
    point.t = start / 2.0;
    let mut tau = edges.nodes as f64 / start;
    for _ in 0..OUTER {
        let Some(multiplier) = centre(edges, most, tau, &mut point) else {
            break;
        };
        let (reached, bound) = (second(edges, &point.p)?, most_of(&multiplier, most));
        if bound - reached <= ACCURACY * bound {
            break;
        }
        tau *= GROWTH;
    }
    Ok(point.p)
}

/// `λ2(Σ p_j L_j)`.
fn second(edges: &Edges, p: &[f64]) -> Result<f64, TopologyError> {
    let values = eigenvalues(&edges.laplacian(p))?;
    Ok(values.get(1).copied().unwrap_or(0.0))
}

/// An upper bound of `λ2` for all probabilities within the budget: the most that `Σ p_j tr(Z L_j)` can be, for a positive
/// semidefinite Z with trace 1 that takes constants to zero.
fn most_of(multiplier: &[f64], most: f64) -> f64 {
    let mut sorted = multiplier.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let mut left = most;
    let taken = sorted.iter().map(|value| {
        let share = left.clamp(0.0, 1.0);
        left -= share;
        share * value
    });
    taken.sum()
}

/// A point inside all constraints.
#[derive(Clone)]
struct Point {
    p: Vec<f64>,
    t: f64,
}

impl Point {
    fn moved(&self, step: &Mat<f64>, length: f64) -> Self {
        let matchings = self.p.len();
        let p = self.p.iter().enumerate();
        Self {
            p: p.map(|(j, p)| p + length * step[(j, 0)]).collect(),
            t: self.t + length * step[(matchings, 0)],
        }
    }

    /// What the other probabilities leave of the budget.
    fn left(&self, most: f64) -> f64 {
        most - self.p.iter().sum::<f64>()
    }

    /// `S`, `[N, N]`.
    fn slack(&self, edges: &Edges) -> Mat<f64> {
        let mean = 1.0 / edges.nodes as f64;
        let laplacian = edges.laplacian(&self.p);
        Mat::from_fn(edges.nodes, edges.nodes, |i, j| {
            laplacian[(i, j)] - self.t * (f64::from(i == j) - mean) + mean
        })
    }

    /// What is minimised; `None` outside the constraints.
    fn objective(&self, edges: &Edges, most: f64, tau: f64) -> Option<f64> {
        let left = self.left(most);
        let is_inside = |p: &f64| *p > 0.0 && *p < 1.0;
        if left <= 0.0 || !self.p.iter().all(is_inside) {
            return None;
        }
        let factor = self.slack(edges).llt(Side::Lower).ok()?;
        let diagonal = (0..edges.nodes).map(|i| factor.L()[(i, i)].ln());
        let barrier: f64 = self.p.iter().map(|p| p.ln() + (1.0 - p).ln()).sum();
        Some(-tau * self.t - 2.0 * diagonal.sum::<f64>() - barrier - left.ln())
    }
}

/// Moves `point` to the centre of a τ; `tr(Z L_j)` for the multiplier Z there, `[M]`. `None` if rounding has the upper hand.
fn centre(edges: &Edges, most: f64, tau: f64, point: &mut Point) -> Option<Vec<f64>> {
    let mut at = point.objective(edges, most, tau)?;
    for _ in 0..STEPS {
        let newton = Newton::at(edges, most, tau, point)?;
        let (step, gain) = newton.step()?;
        let multiplier = newton.multiplier();
        if gain < GAIN {
            return Some(multiplier);
        }
        let mut length = 1.0;
        let next = loop {
            let next = point.moved(&step, length);
            if let Some(value) = next.objective(edges, most, tau)
                && value <= at - 0.1 * length * gain
            {
                break Some((next, value));
            }
            length /= 2.0;
            if length < 1e-12 {
                break None;
            }
        };
        match next {
            Some((next, value)) => (*point, at) = (next, value),
            // The objective does not fall any further in double precision.
            None => return Some(multiplier),
        }
    }
    None
}

/// Gradient and Hessian at a point.
struct Newton {
    /// `tr(Q L_j)`, `[M]`, with `Q = S⁻¹ − J`.
    of_matchings: Vec<f64>,
    trace: f64,
    gradient: Mat<f64>,
    hessian: Mat<f64>,
}

impl Newton {
    fn at(edges: &Edges, most: f64, tau: f64, point: &Point) -> Option<Self> {
        let (nodes, matchings) = (edges.nodes, edges.matchings);
        let mean = 1.0 / nodes as f64;
        let inverse = point.slack(edges).llt(Side::Lower).ok()?.inverse();
        let q = Mat::from_fn(nodes, nodes, |i, j| inverse[(i, j)] - mean);
        let square = &q * &q;
        let trace: f64 = (0..nodes).map(|i| q[(i, i)]).sum();
        let of_matchings = by_matching(edges, &across(&edges.edges, &q));
        let budget = point.left(most).recip();
        let mut gradient = Mat::zeros(matchings + 1, 1);
        let mut hessian = products(edges, &q);
        for (j, p) in point.p.iter().enumerate() {
            gradient[(j, 0)] = -of_matchings[j] - 1.0 / p + 1.0 / (1.0 - p) + budget;
            hessian[(j, j)] += p.powi(-2) + (1.0 - p).powi(-2);
            for k in 0..matchings {
                hessian[(j, k)] += budget * budget;
            }
        }
        gradient[(matchings, 0)] = trace - tau;
        let with_bound = by_matching(edges, &across(&edges.edges, &square));
        for (j, value) in with_bound.into_iter().enumerate() {
            hessian[(j, matchings)] = -value;
            hessian[(matchings, j)] = -value;
        }
        hessian[(matchings, matchings)] = (0..nodes).map(|i| square[(i, i)]).sum();
        Some(Self {
            of_matchings,
            trace,
            gradient,
            hessian,
        })
    }

    /// Newton's step, `[M + 1, 1]`, and what it would gain to first order.
    fn step(&self) -> Option<(Mat<f64>, f64)> {
        let size = self.gradient.nrows();
        let mut step = Mat::from_fn(size, 1, |j, _| -self.gradient[(j, 0)]);
        self.hessian
            .llt(Side::Lower)
            .ok()?
            .solve_in_place(&mut step);
        let gain = -(0..size)
            .map(|j| self.gradient[(j, 0)] * step[(j, 0)])
            .sum::<f64>();
        gain.is_finite().then_some((step, gain))
    }

    /// `tr(Z L_j)` for `Z = Q / tr Q`.
    fn multiplier(&self) -> Vec<f64> {
        let values = self.of_matchings.iter();
        values.map(|value| value / self.trace).collect()
    }
}

/// The sum over the edges of each matching.
fn by_matching(edges: &Edges, values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; edges.matchings];
    for (matching, value) in edges.matching.iter().zip(values) {
        sums[*matching] += value;
    }
    sums
}

/// `tr(Q L_j Q L_k)` for each two matchings, with room for one more row and column.
fn products(edges: &Edges, q: &Mat<f64>) -> Mat<f64> {
    let mut products = Mat::zeros(edges.matchings + 1, edges.matchings + 1);
    for (&(a, b), &j) in edges.edges.iter().zip(&edges.matching) {
        for (&(c, d), &k) in edges.edges.iter().zip(&edges.matching) {
            let between = q[(a, c)] - q[(a, d)] - q[(b, c)] + q[(b, d)];
            products[(j, k)] += between * between;
        }
    }
    products
}

#[cfg(test)]
mod tests {
    use super::super::edge_colouring;
    use super::*;
    use crate::Overlay;

    fn edges(nodes: usize, pairs: &[(u32, u32)]) -> Edges {
        let overlay = Overlay::from_edges(nodes, pairs.iter().copied()).unwrap();
        Edges::of(nodes, &edge_colouring::matchings(&overlay))
    }

    /// The largest `λ2` on a grid of probabilities, of which the last takes what the others leave of the budget.
    fn best_of_grid(edges: &Edges, most: f64, p: &mut Vec<f64>) -> f64 {
        let left = most - p.iter().sum::<f64>();
        if left < -1e-12 {
            return 0.0;
        }
        if p.len() + 1 == edges.matchings {
            p.push(left.clamp(0.0, 1.0));
            let reached = second(edges, p).unwrap();
            p.pop();
            return reached;
        }
        let mut best = 0.0_f64;
        for step in 0..=15 {
            p.push(f64::from(step) / 15.0);
            best = best.max(best_of_grid(edges, most, p));
            p.pop();
        }
        best
    }

    #[test]
    fn no_probabilities_of_a_grid_are_better() {
        // A triangle with a tail, two triangles at a bridge, and a square with a tail.
        let tail: &[(u32, u32)] = &[(0, 1), (0, 2), (1, 2), (2, 3)];
        let bridge: &[(u32, u32)] = &[(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)];
        let square: &[(u32, u32)] = &[(0, 1), (1, 2), (2, 3), (0, 3), (3, 4), (4, 5)];
        for (nodes, pairs) in [(4, tail), (6, bridge), (6, square)] {
            let edges = edges(nodes, pairs);
            assert!((3..=4).contains(&edges.matchings));
            for budget in [0.2, 0.5, 0.8] {
                let best = best(&edges, budget).unwrap();
                let most = budget * edges.matchings as f64;
                assert!(best.iter().all(|p| (0.0..=1.0).contains(p)), "{best:?}");
                assert!(best.iter().sum::<f64>() <= most);
                let reached = second(&edges, &best).unwrap();
                let of_grid = best_of_grid(&edges, most, &mut Vec::new());
                assert!(reached > of_grid * (1.0 - 1e-6), "{reached} {of_grid}");
            }
        }
    }

    #[test]
    fn matchings_that_are_alike_share_the_budget() {
        let ring: Vec<(u32, u32)> = (0..8).map(|i| (i, (i + 1) % 8)).collect();
        let edges = edges(8, &ring);
        for budget in [0.1, 0.5, 0.95] {
            let best = best(&edges, budget).unwrap();
            assert!(best.iter().all(|p| (p - budget).abs() < 1e-5), "{best:?}");
        }
    }

    #[test]
    fn the_bound_takes_the_largest_first() {
        assert_eq!(most_of(&[1.0, 3.0, 2.0], 1.5), 4.0);
        assert_eq!(most_of(&[1.0, 3.0, 2.0], 3.0), 6.0);
    }
}
