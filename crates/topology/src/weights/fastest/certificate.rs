//! A bound on how far given weights are from the best ones.

use super::problem::Problem;
use crate::TopologyError;
use crate::laplacian::eigenvalues;
use faer::Mat;

/// `‖W - 11ᵀ/N‖₂`.
///
/// # Errors
/// [`TopologyError::Eigenvalues`].
pub(super) fn norm(problem: &Problem, weights: &[f64]) -> Result<f64, TopologyError> {
    let values = eigenvalues(&problem.distance_from_mean(weights))?;
    match values[..] {
        [least, .., most] => Ok(most.max(-least)),
        _ => Ok(values.iter().sum::<f64>().abs()),
    }
}

/// A lower bound of `‖W - 11ᵀ/N‖₂` for all W that are allowed, from any symmetric `Y` and any prices `u` of the rows.
///
/// Take the mean out of Y on both sides. For every W on the edges, with `c_e = b_eᵀ Y b_e`,
/// `‖Y‖_* ‖W - 11ᵀ/N‖₂ >= tr(Y W) = tr Y - Σ w_e c_e`. If entries may not be negative, then `Σ w_e c_e <= Σ u_i`
/// wherever `u >= 0` and `u_a + u_b >= c_e` for every edge, since no row gives more than one away; prices that are too
/// low are raised. If they may be negative, the best W has no entry beyond its norm, at most one, and
/// `Σ w_e c_e <= Σ |c_e|`.
///
/// # Source
/// Boyd, Diaconis and Xiao (2004), Section 4.1, whose `z` is the diagonal of Y less u.
///
/// # Errors
/// [`TopologyError::Eigenvalues`].
pub(super) fn lower_bound(
    problem: &Problem,
    dual: &Mat<f64>,
    prices: &[f64],
) -> Result<f64, TopologyError> {
    let dual = without_mean(dual);
    let across = problem.across(&dual);
    let given_away: f64 = match problem.nonnegative {
        true => sufficient(problem, &across, prices).iter().sum(),
        false => across.iter().map(|value| value.abs()).sum(),
    };
    let values = eigenvalues(&dual)?;
    let nuclear: f64 = values.iter().map(|value| value.abs()).sum();
    let trace: f64 = values.iter().sum();
    Ok((trace - given_away) / nuclear)
}

/// `(I - 11ᵀ/N) M (I - 11ᵀ/N)` for a symmetric M.
fn without_mean(matrix: &Mat<f64>) -> Mat<f64> {
    let nodes = matrix.nrows();
    let mean_of_column = |j| (0..nodes).map(|i| matrix[(i, j)]).sum::<f64>() / nodes as f64;
    let means: Vec<f64> = (0..nodes).map(mean_of_column).collect();
    let mean = means.iter().sum::<f64>() / nodes as f64;
    Mat::from_fn(nodes, nodes, |i, j| {
        matrix[(i, j)] - means[i] - means[j] + mean
    })
}

/// The prices, raised to `u >= 0` and `u_a + u_b >= c_e` on every edge.
fn sufficient(problem: &Problem, across: &[f64], prices: &[f64]) -> Vec<f64> {
    let mut prices: Vec<f64> = prices.iter().map(|price| price.max(0.0)).collect();
    for (&(a, b), value) in problem.edges.iter().zip(across) {
        let missing = (value - prices[a] - prices[b]).max(0.0);
        prices[a] += missing / 2.0;
        prices[b] += missing / 2.0;
    }
    prices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overlay;

    fn path_of_four(nonnegative: bool) -> Problem {
        let overlay = Overlay::from_edges(4, [(0, 1), (1, 2), (2, 3)]).unwrap();
        Problem::of(&overlay, &[0, 1, 2, 3], nonnegative)
    }

    #[test]
    fn the_norm_of_equal_halves_on_a_path_is_known() {
        // W has 1/2 on every edge and at both ends: eigenvalues cos(πk/4).
        let norm = norm(&path_of_four(true), &[0.5; 3]).unwrap();
        assert!((norm - 0.5_f64.sqrt()).abs() < 1e-14);
    }

    #[test]
    fn no_dual_claims_more_than_the_best_norm() {
        for nonnegative in [true, false] {
            let problem = path_of_four(nonnegative);
            for seed in 0..200 {
                let entry = |i: usize, j: usize| (f64::from(seed) + (i * j + i + j) as f64).sin();
                let prices: Vec<f64> = (0..4).map(|i| entry(i, 7)).collect();
                let bound = lower_bound(&problem, &Mat::from_fn(4, 4, entry), &prices).unwrap();
                assert!(bound <= 0.5_f64.sqrt() + 1e-12, "{seed}: {bound}");
            }
        }
    }

    #[test]
    fn eigenvectors_at_both_ends_prove_the_path() {
        // Under weights of 1/2 these have the eigenvalues ±cos π/4. With the shares below b_eᵀ Y b_e = 0 on every edge,
        // so that the bound is the trace alone.
        let vector = |k: f64| -> Vec<f64> {
            (0..4)
                .map(|i| (std::f64::consts::PI * k * (f64::from(i) + 0.5) / 4.0).cos())
                .collect()
        };
        let (slow, fast) = (vector(1.0), vector(3.0));
        let share = 0.5 + 0.5_f64.sqrt() / 2.0;
        let dual = Mat::from_fn(4, 4, |i, j| {
            share * slow[i] * slow[j] / 2.0 - (1.0 - share) * fast[i] * fast[j] / 2.0
        });
        let bound = lower_bound(&path_of_four(false), &dual, &[0.0; 4]).unwrap();
        assert!((bound - 0.5_f64.sqrt()).abs() < 1e-12, "{bound}");
    }
}
