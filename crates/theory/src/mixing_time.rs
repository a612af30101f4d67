//! How many steps a random walk needs to forget where it began.

use crate::bound_error::{BoundError, at_least_one, not_negative, require};
use meshfold_topology::MixingMatrix;

/// The constants of a walk's transition matrix P in `max_i ‖Π*(i,:) − P^τ(i,:)‖ ≤ ζ λ_P^τ`.
///
/// # Source
/// DFedRW (Wang et al.), Lemma 2, (8).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixingTime {
    /// `λ_P = (λ + 1)/2`, [`Spectrum::lambda_walk`](meshfold_topology::Spectrum::lambda_walk) of P.
    pub walk_lambda: f64,
    /// ζ, from the Jordan form of P.
    pub scale: f64,
    /// K_P, the number of steps from which the bound holds.
    pub settled: u64,
}

impl MixingTime {
    /// The constants of a symmetric P on n devices, as `metropolis_hastings` makes it: `ζ = √(1 − 1/n)` and `K_P = 0`.
    ///
    /// # Interpretation
    /// The paper leaves ζ and K_P to the Jordan form. If P is symmetric that is its eigenbasis: with unit eigenvectors
    /// φ_l, `‖Π*(i,:) − P^τ(i,:)‖² = Σ_{l≥2} λ_l^{2τ} φ_l(i)² ≤ λ^{2τ}(1 − 1/n)` from the first step, and `λ ≤ λ_P`.
    ///
    /// # Errors
    /// [`BoundError`] if there is no device or λ_P is not in `[1/2, 1)`.
    pub fn symmetric(walk_lambda: f64, devices: u64) -> Result<Self, BoundError> {
        at_least_one("the number of devices n", devices)?;
        let constants = Self {
            walk_lambda,
            scale: (1.0 - 1.0 / devices as f64).sqrt(),
            settled: 0,
        };
        constants.check()?;
        Ok(constants)
    }

    pub(crate) fn check(&self) -> Result<(), BoundError> {
        check_walk_lambda(self.walk_lambda)?;
        not_negative("zeta", self.scale)
    }

    /// The right side `ζ λ_P^τ` of (8) after τ steps.
    ///
    /// # Source
    /// DFedRW (Wang et al.), Lemma 2, (8).
    ///
    /// # Errors
    /// [`BoundError`] if λ_P is not in `[1/2, 1)`, ζ is negative, or τ is below K_P, where (8) says nothing.
    pub fn distance_bound(&self, steps: u64) -> Result<f64, BoundError> {
        self.check()?;
        require(
            "the number of steps tau",
            steps as f64,
            steps >= self.settled,
            format!("must be at least K_P = {}", self.settled),
        )?;
        Ok(self.scale * self.walk_lambda.powf(steps as f64))
    }

    /// `τ^k = min{k, max{⌈ln(2ζk) / ln(1/λ_P)⌉, K_P}}`, after which the distance is at most `1/(2k)`, if it is below k.
    ///
    /// # Source
    /// DFedRW (Wang et al.), Theorem 2 and (26).
    ///
    /// # Errors
    /// [`BoundError`] if λ_P is not in `[1/2, 1)` or ζ is negative.
    pub fn steps_at(&self, visit: u64) -> Result<u64, BoundError> {
        self.check()?;
        Ok(self.checked_steps_at(visit))
    }

    /// [`MixingTime::steps_at`] for constants that are checked already.
    pub(crate) fn checked_steps_at(&self, visit: u64) -> u64 {
        let needed = (2.0 * self.scale * visit as f64).ln() / (1.0 / self.walk_lambda).ln();
        // The cast takes negative values, and ln 0, to 0.
        visit.min((needed.ceil() as u64).max(self.settled))
    }
}

/// Refuses a λ_P that no connected walk has.
pub(crate) fn check_walk_lambda(walk_lambda: f64) -> Result<(), BoundError> {
    require(
        "lambda_P",
        walk_lambda,
        (0.5..1.0).contains(&walk_lambda),
        "must be at least 1/2 and below 1: it is (lambda + 1)/2 of a connected overlay",
    )
}

/// The left side `max_i ‖Π*(i,:) − P^τ(i,:)‖` of (8), measured: the Euclidean distance of the worst start's
/// distribution after τ steps from the stationary one.
///
/// `stationary` has one entry per device; for `metropolis_hastings` all are `1/n`.
///
/// # Source
/// DFedRW (Wang et al.), Lemma 2, (8).
///
/// # Panics
/// If `transition` is not square or `stationary` has another length.
///
/// # Complexity
/// O(n τ nnz): every device is a start.
#[must_use]
pub fn walk_distance(transition: &MixingMatrix, stationary: &[f64], steps: u64) -> f64 {
    let devices = transition.rows();
    assert!(
        transition.columns() == devices && stationary.len() == devices,
        "a walk over {devices} devices with {} columns and {} stationary shares",
        transition.columns(),
        stationary.len()
    );
    (0..devices)
        .map(|start| {
            let mut place = vec![0.0; devices];
            let mut next = vec![0.0; devices];
            place[start] = 1.0;
            for _ in 0..steps {
                transition.apply_transposed(&place, &mut next);
                std::mem::swap(&mut place, &mut next);
            }
            let pairs = place.iter().zip(stationary);
            pairs.map(|(p, s)| (p - s).powi(2)).sum::<f64>().sqrt()
        })
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshfold_topology::{Grid, Path, Ring, Spectrum, Topology, Weights};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn walk(topology: &Topology, devices: usize) -> (MixingMatrix, Spectrum) {
        let overlay = topology
            .build(devices, &mut ChaCha8Rng::seed_from_u64(1))
            .unwrap();
        let weights = Weights::default();
        let matrix = weights.matrix(&overlay).unwrap();
        let spectrum = Spectrum::of(&overlay, &weights, &matrix).unwrap();
        (matrix, spectrum)
    }

    #[test]
    fn no_walk_is_farther_from_uniform_than_its_bound() {
        for (topology, devices) in [
            (Topology::Ring(Ring::default()), 9),
            (Topology::Path(Path::default()), 7),
            (Topology::Grid(Grid::default()), 12),
        ] {
            let (matrix, spectrum) = walk(&topology, devices);
            let uniform = vec![1.0 / devices as f64; devices];
            let constants = MixingTime::symmetric(spectrum.lambda_walk, devices as u64).unwrap();
            for steps in 0..40 {
                let measured = walk_distance(&matrix, &uniform, steps);
                let bound = constants.distance_bound(steps).unwrap();
                assert!(
                    measured <= bound * (1.0 + 1e-12) + 1e-15,
                    "{devices} {steps}"
                );
            }
        }
    }

    #[test]
    fn the_walk_on_a_ring_is_the_sum_over_its_eigenvalues() {
        // Every device of a ring sees the same: distance² = (1/n) Σ_{l≥1} λ_l^{2τ}, λ_l = (1 + 2cos(2πl/n))/3.
        let devices = 8;
        let (matrix, _) = walk(&Topology::Ring(Ring::default()), devices);
        let uniform = vec![1.0 / 8.0; devices];
        for steps in [0, 1, 2, 7, 20] {
            let squares: f64 = (1..devices)
                .map(|l| (1.0 + 2.0 * (std::f64::consts::TAU * l as f64 / 8.0).cos()) / 3.0)
                .map(|lambda: f64| lambda.powi(2 * steps))
                .sum();
            let measured = walk_distance(&matrix, &uniform, steps as u64);
            assert!((measured - (squares / 8.0).sqrt()).abs() < 1e-14);
        }
    }

    #[test]
    fn after_tau_steps_the_distance_is_at_most_half_the_inverse_of_the_visit() {
        let constants = MixingTime::symmetric(0.9, 20).unwrap();
        let mut early = 0;
        for visit in 1..2000 {
            let steps = constants.steps_at(visit).unwrap();
            if steps < visit {
                let bound = constants.distance_bound(steps).unwrap();
                assert!(bound <= 0.5 / visit as f64 * (1.0 + 1e-12));
                let before = constants.distance_bound(steps - 1).unwrap();
                assert!(before > 0.5 / visit as f64);
            } else {
                early += 1;
            }
        }
        assert!(early > 10, "the first visits have not mixed");
    }

    #[test]
    fn tau_has_its_hand_evaluated_values() {
        // λ_P = 1/2, ζ = 4: ln(8k)/ln 2 = 3 + log2 k.
        let constants = MixingTime {
            walk_lambda: 0.5,
            scale: 4.0,
            settled: 0,
        };
        let taus: Vec<u64> = [1, 3, 5, 16, 1000]
            .map(|k| constants.steps_at(k).unwrap())
            .to_vec();
        assert_eq!(taus, [1, 3, 5, 7, 13]);
        let slow = MixingTime {
            settled: 10,
            ..constants
        };
        assert_eq!(slow.steps_at(5).unwrap(), 5);
        assert_eq!(slow.steps_at(16).unwrap(), 10);
        assert_eq!(
            slow.distance_bound(9).unwrap_err().to_string(),
            "the number of steps tau is 9, but must be at least K_P = 10"
        );
    }

    #[test]
    fn one_device_is_always_mixed() {
        let constants = MixingTime::symmetric(0.5, 1).unwrap();
        assert_eq!(constants.steps_at(100).unwrap(), 0);
        assert_eq!(constants.distance_bound(0).unwrap(), 0.0);
    }

    #[test]
    fn a_disconnected_walk_has_no_mixing_time() {
        assert_eq!(
            MixingTime::symmetric(1.0, 5).unwrap_err().to_string(),
            "lambda_P is 1, but must be at least 1/2 and below 1: it is (lambda + 1)/2 of a connected overlay"
        );
        assert_eq!(
            MixingTime::symmetric(0.4, 5).unwrap_err().to_string(),
            "lambda_P is 0.4, but must be at least 1/2 and below 1: it is (lambda + 1)/2 of a connected overlay"
        );
        assert_eq!(
            MixingTime::symmetric(f64::NAN, 5).unwrap_err().to_string(),
            "lambda_P is NaN, but must be at least 1/2 and below 1: it is (lambda + 1)/2 of a connected overlay"
        );
        assert_eq!(
            MixingTime::symmetric(0.6, 0).unwrap_err().to_string(),
            "the number of devices n is 0, but must be at least 1"
        );
    }
}
