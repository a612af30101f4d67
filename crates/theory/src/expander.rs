//! What the degree of a regular graph says about its mixing.
//!
//! [`Spectrum`](meshfold_topology::Spectrum) measures the condition number κ (Hua et al., (3.1)), λ and C_λ of a given
//! overlay; this file has what theory says of them beforehand.

use crate::bound_error::{BoundError, finite, require};
use std::f64::consts::PI;

/// Bound on the condition number κ of a Ramanujan graph's Laplacian: `(d + 2√(d−1)) / (d − 2√(d−1))`, d the degree.
///
/// # Source
/// Hua et al., (3.2).
///
/// # Errors
/// [`BoundError`] below degree 3: a ring, of degree 2, leaves the denominator zero.
pub fn ramanujan_kappa(degree: u64) -> Result<f64, BoundError> {
    let edge = ramanujan_edge(degree)?;
    regular_kappa(degree, edge)
}

/// Bound on λ of the mixing matrix `I − 2L / ((1+θ)λ_N(L))` of a Ramanujan graph with the best θ: `2√(d−1) / d`.
///
/// # Source
/// Hua et al., (3.2) in Section 3's `λ = (κ − 1) / (κ + 1)`, which [`best_laplacian_lambda`] is.
///
/// # Errors
/// As [`ramanujan_kappa`].
pub fn ramanujan_lambda(degree: u64) -> Result<f64, BoundError> {
    Ok(ramanujan_edge(degree)? / degree as f64)
}

/// `2√(d−1)`: the bound on the magnitude of all but the trivial eigenvalues of a Ramanujan graph's adjacency matrix.
fn ramanujan_edge(degree: u64) -> Result<f64, BoundError> {
    let holds = degree >= 3;
    require("the degree", degree as f64, holds, "must be at least 3")?;
    Ok(2.0 * (degree as f64 - 1.0).sqrt())
}

/// Bound on the condition number κ of a d-regular graph's Laplacian: `(d + λ₂(A)) / (d − λ₂(A))`.
///
/// # Source
/// Hua et al., Section 3, before (3.2).
///
/// # Interpretation
/// The text calls λ₂(A) the first nontrivial eigenvalue of the adjacency matrix. Since
/// `κ = (d − λ_N(A)) / (d − λ₂(A))`, the bound needs `|λ_N(A)| ≤ λ₂(A)`; the Petersen graph (1 and −2, κ = 2.5) breaks
/// it with λ₂(A) = 1. So `second` is the second largest *magnitude*, and a bipartite graph, where that is d, is
/// refused.
///
/// # Errors
/// [`BoundError`] unless `0 ≤ second < degree`.
pub fn regular_kappa(degree: u64, second: f64) -> Result<f64, BoundError> {
    let degree = degree as f64;
    require(
        "the second eigenvalue of the adjacency matrix",
        second,
        second >= 0.0 && second < degree,
        format!("must be at least 0 and below the degree {degree}"),
    )?;
    finite("kappa", (degree + second) / (degree - second))
}

/// λ of the mixing matrix `I − 2L / ((1+θ)λ_N(L))`: `max{|1 + θ − 2/κ|, 1 − θ} / (1 + θ)`.
///
/// # Source
/// Hua et al., Section 3, after (3.1).
///
/// # Errors
/// [`BoundError`] if κ is below 1 or infinite, or θ outside of `[0, 1]`.
pub fn laplacian_lambda(kappa: f64, theta: f64) -> Result<f64, BoundError> {
    condition_number(kappa)?;
    let holds = (0.0..=1.0).contains(&theta);
    require("theta", theta, holds, "must be from 0 to 1")?;
    let second = (1.0 + theta - 2.0 / kappa).abs();
    Ok(second.max(1.0 - theta) / (1.0 + theta))
}

/// The least λ over θ, `(κ − 1) / (κ + 1)`, reached at `θ* = 1/κ`.
///
/// # Source
/// Hua et al., Section 3, Fig. 2.
///
/// # Errors
/// [`BoundError`] if κ is below 1 or infinite.
pub fn best_laplacian_lambda(kappa: f64) -> Result<f64, BoundError> {
    condition_number(kappa)?;
    Ok((kappa - 1.0) / (kappa + 1.0))
}

fn condition_number(kappa: f64) -> Result<(), BoundError> {
    let holds = kappa >= 1.0 && kappa.is_finite();
    require("kappa", kappa, holds, "must be finite and at least 1")
}

/// The condition number κ of a ring of N nodes, `(2 − 2cos(2π⌊N/2⌋/N)) / (2 − 2cos(2π/N))`, at least `N²/π²`.
///
/// # Source
/// Hua et al., Section 3.1, which prints the even case.
///
/// # Errors
/// [`BoundError`] below 3 nodes.
pub fn ring_kappa(nodes: u64) -> Result<f64, BoundError> {
    let holds = nodes >= 3;
    require(
        "the number of nodes",
        nodes as f64,
        holds,
        "must be at least 3",
    )?;
    // 2 − 2cos 2x = 4sin² x, without the cancellation for long rings.
    let quarter = |k: u64| (PI * k as f64 / nodes as f64).sin().powi(2);
    finite("kappa", quarter(nodes / 2) / quarter(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_topology::{Laplacian, Overlay, Ring, Spectrum, Topology, Weights};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn measured(topology: &Topology, nodes: usize) -> Spectrum {
        let overlay: Overlay = topology
            .build(nodes, &mut ChaCha8Rng::seed_from_u64(1))
            .unwrap();
        let weights = Weights::Laplacian(Laplacian::default());
        let matrix = weights.matrix(&overlay).unwrap();
        Spectrum::of(&overlay, &weights, &matrix).unwrap()
    }

    #[test]
    fn degree_five_has_its_hand_evaluated_values() {
        // 2√4 = 4: κ ≤ 9/1 and λ ≤ 8/10.
        assert_eq!(ramanujan_kappa(5).unwrap(), 9.0);
        assert_eq!(ramanujan_lambda(5).unwrap(), 0.8);
    }

    #[test]
    fn the_two_ways_to_lambda_agree() {
        for degree in 3..200 {
            let by_kappa = best_laplacian_lambda(ramanujan_kappa(degree).unwrap()).unwrap();
            assert!((by_kappa - ramanujan_lambda(degree).unwrap()).abs() < 1e-12);
        }
    }

    #[test]
    fn a_larger_degree_promises_better_mixing() {
        for degree in 3..200 {
            assert!(ramanujan_kappa(degree + 1).unwrap() < ramanujan_kappa(degree).unwrap());
            assert!(ramanujan_lambda(degree + 1).unwrap() < ramanujan_lambda(degree).unwrap());
        }
        assert_eq!(
            ramanujan_kappa(2).unwrap_err().to_string(),
            "the degree is 2, but must be at least 3"
        );
    }

    #[test]
    fn the_petersen_graph_keeps_the_bound_by_magnitude() {
        // Eigenvalues of its Laplacian: 0, 2, 5.
        assert!(regular_kappa(3, 2.0).unwrap() >= 2.5);
        assert!(regular_kappa(3, 1.0).unwrap() < 2.5);
        assert_eq!(
            regular_kappa(3, 3.0).unwrap_err().to_string(),
            "the second eigenvalue of the adjacency matrix is 3, but must be at least 0 and below the degree 3"
        );
    }

    #[test]
    fn theta_star_is_the_best_theta() {
        for kappa in [1.0, 1.5, 2.5, 10.472, 400.0] {
            let best = best_laplacian_lambda(kappa).unwrap();
            let at_star = laplacian_lambda(kappa, 1.0 / kappa).unwrap();
            assert!((best - at_star).abs() < 1e-14);
            for step in 0..=1000 {
                let theta = f64::from(step) / 1000.0;
                assert!(laplacian_lambda(kappa, theta).unwrap() >= best - 1e-14);
            }
        }
    }

    #[test]
    fn the_ring_is_what_the_spectrum_measures() {
        for nodes in [3, 9, 10, 31] {
            let spectrum = measured(&Topology::Ring(Ring::default()), nodes);
            let kappa = ring_kappa(nodes as u64).unwrap();
            assert!((kappa - spectrum.kappa).abs() < 1e-9 * kappa);
            assert!((best_laplacian_lambda(kappa).unwrap() - spectrum.lambda).abs() < 1e-9);
        }
        assert!((ring_kappa(10).unwrap() - 10.472).abs() < 5e-4);
    }

    #[test]
    fn a_rings_condition_number_grows_with_the_square_of_its_length() {
        for nodes in 3..2000 {
            let square = (nodes * nodes) as f64 / (PI * PI);
            assert!(ring_kappa(nodes).unwrap() >= square);
        }
        let quotient = ring_kappa(2_000_000).unwrap() / ring_kappa(1_000_000).unwrap();
        assert!((quotient - 4.0).abs() < 1e-9);
    }
}
