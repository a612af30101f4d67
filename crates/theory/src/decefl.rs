//! Convergence and stability of DeceFL.

use crate::bound_error::{
    BoundError, at_least_one, contracting, convex_and_smooth, finite, not_negative, require,
};

/// The learning rate `η_t = δ / (t + Γ)`.
///
/// It is the schedule `harmonic {delta: δ, gamma: Γ}`.
///
/// # Source
/// DeceFL (Yuan et al.), Theorem 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HarmonicRate {
    /// δ.
    pub delta: f64,
    /// Γ.
    pub gamma: f64,
}

impl HarmonicRate {
    /// η_t, t from 0.
    #[must_use]
    pub fn at(&self, iteration: u64) -> f64 {
        self.delta / (iteration as f64 + self.gamma)
    }
}

/// The constants under which DeceFL with full gradients converges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decefl {
    /// L, the largest smoothness of a client's loss.
    pub smoothness: f64,
    /// μ, the smallest strong convexity of a client's loss; not the μ of the update.
    pub convexity: f64,
    /// λ, the spectral norm of `W − 11ᵀ/K`, [`Spectrum::lambda`](meshfold_topology::Spectrum::lambda).
    pub lambda: f64,
    /// K, the number of clients.
    pub clients: u64,
}

/// Where the clients start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeceflStart {
    /// `‖w(0) − 1 ⊗ w̄(0)‖`, √K times the consensus distance.
    pub disagreement: f64,
    /// `‖w̄(0) − w*‖`.
    pub distance: f64,
    /// `ε₀ = Σ_k (F_k(w_k(0)) − F_k(w_k*))`.
    pub gap: f64,
}

/// The constants of the rate: at iteration t the clients are `ζ/(t+Γ)` apart and their mean `ζ̃/(t+Γ)` from w*.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeceflRate {
    /// ζ of (5).
    pub disagreement: f64,
    /// ζ̃ of (6).
    pub distance: f64,
    gamma: f64,
}

impl Decefl {
    /// Checks that the rate fits: `δ > 1/μ`, `Γ > λ/(1−λ)` and `δ/Γ ≤ 1/L`.
    ///
    /// # Source
    /// DeceFL (Yuan et al.), Theorem 1.
    ///
    /// # Errors
    /// [`BoundError`], naming the condition that fails.
    pub fn check_rate(&self, rate: &HarmonicRate) -> Result<(), BoundError> {
        self.check()?;
        let least = 1.0 / self.convexity;
        let holds = rate.delta > least && rate.delta.is_finite();
        require(
            "delta",
            rate.delta,
            holds,
            format!("must be above 1/mu = {least}"),
        )?;
        let least = self.lambda / (1.0 - self.lambda);
        let holds = rate.gamma > least && rate.gamma.is_finite();
        require(
            "Gamma",
            rate.gamma,
            holds,
            format!("must be above lambda/(1 - lambda) = {least}"),
        )?;
        let most = 1.0 / self.smoothness;
        let first = rate.delta / rate.gamma;
        require(
            "the first learning rate delta/Gamma",
            first,
            first <= most,
            format!("must be at most 1/L = {most}"),
        )
    }

    /// `ζ = max{Γ‖w(0) − 1w̄(0)‖, δ√(2Lε₀) / (Γ/(Γ+1) − λ)}` and
    /// `ζ̃ = max{Γ‖w̄(0) − w*‖, Lδζ / ((μδ − 1)√K)}`.
    ///
    /// # Source
    /// DeceFL (Yuan et al.), Theorem 1, (5) and (6).
    ///
    /// # Errors
    /// As [`Decefl::check_rate`], and if a value of `start` is negative or not finite.
    pub fn rate(&self, start: &DeceflStart, rate: &HarmonicRate) -> Result<DeceflRate, BoundError> {
        self.check_rate(rate)?;
        not_negative("the disagreement at the start", start.disagreement)?;
        not_negative("the distance of the mean at the start", start.distance)?;
        not_negative("the gap epsilon_0", start.gap)?;
        let HarmonicRate { delta, gamma } = *rate;
        let pull = delta * (2.0 * self.smoothness * start.gap).sqrt();
        let disagreement =
            (gamma * start.disagreement).max(pull / (gamma / (gamma + 1.0) - self.lambda));
        let drift = self.smoothness * delta * disagreement
            / ((self.convexity * delta - 1.0) * (self.clients as f64).sqrt());
        Ok(DeceflRate {
            disagreement: finite("zeta", disagreement)?,
            distance: finite("zeta tilde", (gamma * start.distance).max(drift))?,
            gamma,
        })
    }

    fn check(&self) -> Result<(), BoundError> {
        convex_and_smooth(self.convexity, self.smoothness)?;
        contracting("lambda", self.lambda)?;
        at_least_one("the number of clients K", self.clients)
    }
}

impl DeceflRate {
    /// Bound on `‖w(t) − 1 ⊗ w̄(t)‖`.
    ///
    /// # Source
    /// DeceFL (Yuan et al.), Theorem 1, (5).
    #[must_use]
    pub fn disagreement_at(&self, iteration: u64) -> f64 {
        self.disagreement / (iteration as f64 + self.gamma)
    }

    /// Bound on `‖w̄(t) − w*‖`.
    ///
    /// # Source
    /// DeceFL (Yuan et al.), Theorem 1, (6).
    #[must_use]
    pub fn distance_at(&self, iteration: u64) -> f64 {
        self.distance / (iteration as f64 + self.gamma)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONSTANTS: Decefl = Decefl {
        smoothness: 2.0,
        convexity: 1.0,
        lambda: 0.5,
        clients: 4,
    };
    const RATE: HarmonicRate = HarmonicRate {
        delta: 2.0,
        gamma: 4.0,
    };
    const START: DeceflStart = DeceflStart {
        disagreement: 1.0,
        distance: 3.0,
        gap: 0.25,
    };

    #[test]
    fn the_rate_has_its_hand_evaluated_constants() {
        // ζ = max{4, 2·√1/(0.8 − 0.5)} = 20/3; ζ̃ = max{12, 2·2·(20/3)/(1·2)} = 40/3.
        let rate = CONSTANTS.rate(&START, &RATE).unwrap();
        assert!((rate.disagreement - 20.0 / 3.0).abs() < 1e-13);
        assert!((rate.distance - 40.0 / 3.0).abs() < 1e-13);
        assert!((rate.disagreement_at(16) - 1.0 / 3.0).abs() < 1e-13);
        assert!((rate.distance_at(0) - 10.0 / 3.0).abs() < 1e-13);
        assert_eq!(RATE.at(4), 0.25);
    }

    #[test]
    fn a_start_far_off_rules_the_constants() {
        let start = DeceflStart {
            disagreement: 100.0,
            distance: 1000.0,
            gap: 0.25,
        };
        let rate = CONSTANTS.rate(&start, &RATE).unwrap();
        assert_eq!((rate.disagreement, rate.distance), (400.0, 4000.0));
    }

    #[test]
    fn the_constants_shrink_with_lambda() {
        let rate = |lambda| {
            let constants = Decefl {
                lambda,
                ..CONSTANTS
            };
            constants.rate(&START, &RATE).unwrap()
        };
        assert!(rate(0.3).disagreement < rate(0.5).disagreement);
        assert!(rate(0.3).distance < rate(0.5).distance);
        // λ = 0 leaves 2/0.8.
        let alone = DeceflStart {
            disagreement: 0.0,
            ..START
        };
        let complete = Decefl {
            lambda: 0.0,
            ..CONSTANTS
        };
        assert!((complete.rate(&alone, &RATE).unwrap().disagreement - 2.5).abs() < 1e-14);
    }

    #[test]
    fn each_condition_of_the_rate_is_checked() {
        let fits = |delta, gamma| CONSTANTS.check_rate(&HarmonicRate { delta, gamma });
        fits(2.0, 4.0).unwrap();
        assert_eq!(
            fits(1.0, 4.0).unwrap_err().to_string(),
            "delta is 1, but must be above 1/mu = 1"
        );
        assert_eq!(
            fits(2.0, 3.9).unwrap_err().to_string(),
            "the first learning rate delta/Gamma is 0.5128205128205129, but must be at most 1/L = 0.5"
        );
        let slow = Decefl {
            lambda: 0.8,
            ..CONSTANTS
        };
        assert_eq!(
            slow.check_rate(&RATE).unwrap_err().to_string(),
            "Gamma is 4, but must be above lambda/(1 - lambda) = 4.000000000000001"
        );
        assert_eq!(
            fits(f64::NAN, 4.0).unwrap_err().to_string(),
            "delta is NaN, but must be above 1/mu = 1"
        );
        assert_eq!(
            fits(2.0, f64::INFINITY).unwrap_err().to_string(),
            "Gamma is inf, but must be above lambda/(1 - lambda) = 1"
        );
        let disconnected = Decefl {
            lambda: 1.0,
            ..CONSTANTS
        };
        assert_eq!(
            disconnected.check_rate(&RATE).unwrap_err().to_string(),
            "lambda is 1, but must be at least 0 and below 1: the overlay has to be connected"
        );
    }

    #[test]
    fn quadratics_stay_below_both_bounds() {
        // Four clients on a ring, F_k(w) = h_k/2 (w − c_k)²; W = 1/3 on self and neighbours, λ = 1/3.
        let (curvature, centre) = ([1.0, 1.2, 1.6, 2.0], [1.0, -1.0, 0.5, 2.0]);
        let weighted: f64 = (0..4).map(|k| curvature[k] * centre[k]).sum();
        let optimum = weighted / curvature.iter().sum::<f64>();
        let start = [2.0, 2.0, 0.0, 0.0];
        let constants = Decefl {
            lambda: 1.0 / 3.0,
            ..CONSTANTS
        };
        let gap = (0..4)
            .map(|k| curvature[k] / 2.0 * (start[k] - centre[k]).powi(2))
            .sum();
        let measured = DeceflStart {
            disagreement: 2.0,
            distance: (1.0 - optimum).abs(),
            gap,
        };
        let rate = constants.rate(&measured, &RATE).unwrap();
        let mut models = start;
        for iteration in 0..2000 {
            let mean = models.iter().sum::<f64>() / 4.0;
            let apart = models
                .iter()
                .map(|w| (w - mean).powi(2))
                .sum::<f64>()
                .sqrt();
            assert!(apart <= rate.disagreement_at(iteration) + 1e-12);
            assert!((mean - optimum).abs() <= rate.distance_at(iteration) + 1e-12);
            let step = RATE.at(iteration);
            models = [0, 1, 2, 3].map(|k| {
                let mixed = (models[k] + models[(k + 1) % 4] + models[(k + 3) % 4]) / 3.0;
                mixed - step * curvature[k] * (models[k] - centre[k])
            });
        }
    }
}
