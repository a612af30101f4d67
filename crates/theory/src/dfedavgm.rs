//! Convergence and stability of decentralized federated averaging with momentum.

use crate::bound_error::{
    BoundError, at_least_one, contracting, finite, not_negative, positive, require,
};

/// The learning rate below which (2.2) holds: `(√17 − 4) / (8LK)`, with smoothness L and K local steps.
///
/// # Source
/// Hua et al., Theorem 2.2: `0 < η ≤ 1/(8LK)` and `64L²K²η² + 64LKη < 1`.
///
/// # Interpretation
/// The second condition is the stricter: with `x = LKη` it is `x < (√17 − 4)/8 = 0.0154`, below the first's 1/8.
///
/// # Errors
/// [`BoundError`] unless L is positive and K at least 1.
pub fn dfedavgm_rate_limit(smoothness: f64, local_steps: u64) -> Result<f64, BoundError> {
    positive("the smoothness L", smoothness)?;
    at_least_one("the number of local steps K", local_steps)?;
    // 1/(√17 + 4) is √17 − 4 without the cancellation.
    let scaled = 1.0 / (8.0 * (17.0_f64.sqrt() + 4.0));
    finite(
        "the limit of the learning rate",
        scaled / (smoothness * local_steps as f64),
    )
}

/// γ(K, η), α(K, η) and Ξ(K, η) of the convergence bound.
///
/// # Interpretation
/// The paper says that their detailed forms are given in its appendix, which does not have them; they are those of
/// Sun et al., Decentralized federated averaging (2021), Theorem 1, and so are left to the caller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DfedavgmDescent {
    /// γ(K, η), the progress per round.
    pub progress: f64,
    /// α(K, η), the error that local work leaves.
    pub local_error: f64,
    /// Ξ(K, η), the error that disagreement leaves.
    pub disagreement_error: f64,
}

impl DfedavgmDescent {
    /// Bound on `min_{1≤t≤T} E‖∇f(w̄^t)‖²`: `2(f(w̄^1) − min f) / (γT) + α + Ξ / (1−λ)²`.
    ///
    /// `initial_gap` is `f(w̄^1) − min f`, `rounds` is T, `lambda` the overlay's λ.
    ///
    /// # Source
    /// Hua et al., Theorem 2.2, (2.2).
    ///
    /// # Errors
    /// [`BoundError`] if γ is not positive, another constant is negative, there is no round, or λ is not in `[0, 1)`.
    pub fn gradient_bound(
        &self,
        initial_gap: f64,
        rounds: u64,
        lambda: f64,
    ) -> Result<f64, BoundError> {
        not_negative("the initial gap f(w^1) - min f", initial_gap)?;
        positive("gamma(K, eta)", self.progress)?;
        not_negative("alpha(K, eta)", self.local_error)?;
        not_negative("Xi(K, eta)", self.disagreement_error)?;
        at_least_one("the number of rounds T", rounds)?;
        contracting("lambda", lambda)?;
        let descent = 2.0 * initial_gap / (self.progress * rounds as f64);
        let disagreement = self.disagreement_error / (1.0 - lambda).powi(2);
        finite("the bound (2.2)", descent + self.local_error + disagreement)
    }
}

/// The constants in which the order of convergence is stated.
///
/// # Source
/// Hua et al., Assumptions 2 to 4 and Section 2.1, after Theorem 2.2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DfedavgmRate {
    /// `f(w̄^1) − min f`.
    pub initial_gap: f64,
    /// σ², the variance of stochastic gradients on a client (Assumption 2).
    pub local_variance: f64,
    /// ζ², the variance of gradients among clients (Assumption 3).
    pub global_variance: f64,
    /// B, the largest norm of a client's gradient (Assumption 4).
    pub gradient_norm: f64,
    /// β, the momentum, which is that of a heavy ball. The theorem says nothing of Nesterov momentum.
    pub momentum: f64,
    /// K, local steps per round.
    pub local_steps: u64,
}

/// The three terms of the order of convergence, each without the constant factor that O(·) hides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DfedavgmRateTerms {
    /// `(1−β)(f(w̄^1) − min f) / √T`.
    pub descent: f64,
    /// `((1−β)(σ² + Kζ²) + β²/(1−β) K(σ² + B²)) / (K√T)`.
    pub local: f64,
    /// `((1−β)(σ² + Kζ² + KB²) + β²/(1−β) K(σ² + B²)) / ((1−λ)² K T^{3/2})`.
    pub disagreement: f64,
}

impl DfedavgmRate {
    /// The terms after T rounds at the learning rate `1 / (LK√T)` on an overlay of the given λ.
    ///
    /// # Source
    /// Hua et al., Section 2.1, after Theorem 2.2.
    ///
    /// # Interpretation
    /// The terms say how the bound changes with each constant; the factors hidden by O(·), in which the smoothness L
    /// mends the units of the first term, are not known, so neither is their sum a bound.
    ///
    /// # Errors
    /// [`BoundError`] if a constant is out of its range, or if T is at most 4223: only beyond is `1/(LK√T)` below
    /// [`dfedavgm_rate_limit`].
    pub fn terms(&self, rounds: u64, lambda: f64) -> Result<DfedavgmRateTerms, BoundError> {
        not_negative("the initial gap f(w^1) - min f", self.initial_gap)?;
        not_negative("the local variance sigma^2", self.local_variance)?;
        not_negative("the global variance zeta^2", self.global_variance)?;
        not_negative("the gradient norm B", self.gradient_norm)?;
        let holds = (0.0..1.0).contains(&self.momentum);
        require(
            "the momentum beta",
            self.momentum,
            holds,
            "must be in [0, 1)",
        )?;
        at_least_one("the number of local steps K", self.local_steps)?;
        contracting("lambda", lambda)?;
        let (steps, rounds) = (self.local_steps as f64, rounds as f64);
        require(
            "the number of rounds T",
            rounds,
            1.0 / rounds.sqrt() < dfedavgm_rate_limit(1.0, 1)?,
            "must be at least 4224: with fewer, the learning rate 1/(LK sqrt(T)) is too large",
        )?;
        let square = self.gradient_norm * self.gradient_norm;
        let plain = 1.0 - self.momentum;
        let heavy = self.momentum * self.momentum / plain * steps * (self.local_variance + square);
        let spread = self.local_variance + steps * self.global_variance;
        let local = (plain * spread + heavy) / (steps * rounds.sqrt());
        let apart = (plain * (spread + steps * square) + heavy) / (steps * rounds.powf(1.5));
        Ok(DfedavgmRateTerms {
            descent: plain * self.initial_gap / rounds.sqrt(),
            local: finite("the local term", local)?,
            disagreement: finite("the disagreement term", apart / (1.0 - lambda).powi(2))?,
        })
    }
}

/// The constants of the stability bound.
///
/// # Source
/// Hua et al., Theorem 2.5, (2.3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DfedavgmStability {
    /// `sup f`, the largest loss.
    pub largest_loss: f64,
    /// L, the smoothness (Assumption 1).
    pub smoothness: f64,
    /// σ, the standard deviation of stochastic gradients (Assumption 2).
    pub local_deviation: f64,
    /// B, the largest norm of a client's gradient (Assumption 4).
    pub gradient_norm: f64,
    /// N, the number of clients.
    pub clients: u64,
    /// n, the number of examples on each client.
    pub shard_size: u64,
    /// K, local steps per round.
    pub local_steps: u64,
    /// c, with which the learning rate of round t is at most `c/t`.
    pub rate_scale: f64,
}

impl DfedavgmStability {
    /// Bound on the generalization error after T rounds, by uniform stability.
    ///
    /// With `x = cLK`: `T^{x/(1+x)} ((sup f) K x^{1/(1+x)} / n + 2σB / (NL x^{x/(1+x)})) + B(σ+B)(cK + 2C_λ) / x`.
    /// `c_lambda` is [`Spectrum::c_lambda`](meshfold_topology::Spectrum::c_lambda).
    ///
    /// # Source
    /// Hua et al., Theorem 2.5, (2.3), with Lemma 2.4.
    ///
    /// # Interpretation
    /// `cK + 2C_λ` adds c, which has the unit of a learning rate, to a bare number: Lemma A.4 sums `η_t ≤ c/t` and
    /// leaves out the c. The bound is evaluated as printed; passing `c · C_λ` gives the form with consistent units. The
    /// momentum does not occur. "c small enough" is taken as the proof uses it: `t0 ≤ n`, see
    /// [`DfedavgmStability::first_use`].
    ///
    /// # Errors
    /// [`BoundError`] if a constant is out of its range, C_λ is negative or infinite, or c is too large for T and n.
    pub fn generalization_bound(&self, rounds: u64, c_lambda: f64) -> Result<f64, BoundError> {
        not_negative("C_lambda", c_lambda)?;
        let first_use = self.first_use(rounds)?;
        require(
            "t0 = T^(cLK/(1+cLK)) (cLK)^(1/(1+cLK))",
            first_use,
            first_use <= self.shard_size as f64,
            format!("must be at most n = {}: c is too large", self.shard_size),
        )?;
        let x = self.exponent();
        let steps = self.local_steps as f64;
        let growth = (rounds as f64).powf(x / (1.0 + x));
        let unseen = self.largest_loss * steps * x.powf(1.0 / (1.0 + x)) / self.shard_size as f64;
        let noise = 2.0 * self.local_deviation * self.gradient_norm
            / (self.clients as f64 * self.smoothness * x.powf(x / (1.0 + x)));
        let drift = self.gradient_norm
            * (self.local_deviation + self.gradient_norm)
            * (self.rate_scale * steps + 2.0 * c_lambda)
            / x;
        finite("the bound (2.3)", growth * (unseen + noise) + drift)
    }

    /// `t0 = T^{cLK/(1+cLK)} (cLK)^{1/(1+cLK)}`, the round of first meeting the exchanged example at which the proof's
    /// bound is least.
    ///
    /// # Source
    /// Hua et al., Appendix A, proof of Theorem A.1.
    ///
    /// # Errors
    /// [`BoundError`] if a constant is out of its range.
    pub fn first_use(&self, rounds: u64) -> Result<f64, BoundError> {
        not_negative("the largest loss sup f", self.largest_loss)?;
        positive("the smoothness L", self.smoothness)?;
        not_negative("the local deviation sigma", self.local_deviation)?;
        not_negative("the gradient norm B", self.gradient_norm)?;
        at_least_one("the number of clients N", self.clients)?;
        at_least_one("the shard size n", self.shard_size)?;
        at_least_one("the number of local steps K", self.local_steps)?;
        positive("the scale c of the learning rate", self.rate_scale)?;
        at_least_one("the number of rounds T", rounds)?;
        let x = self.exponent();
        positive("cLK", x)?;
        Ok((rounds as f64).powf(x / (1.0 + x)) * x.powf(1.0 / (1.0 + x)))
    }

    /// `cLK`.
    fn exponent(&self) -> f64 {
        self.rate_scale * self.smoothness * self.local_steps as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STABILITY: DfedavgmStability = DfedavgmStability {
        largest_loss: 2.3,
        smoothness: 4.0,
        local_deviation: 0.7,
        gradient_norm: 1.5,
        clients: 10,
        shard_size: 6000,
        local_steps: 3,
        rate_scale: 0.02,
    };
    const RATE: DfedavgmRate = DfedavgmRate {
        initial_gap: 3.0,
        local_variance: 2.0,
        global_variance: 0.5,
        gradient_norm: 3.0,
        momentum: 0.5,
        local_steps: 4,
    };

    #[test]
    fn the_limit_solves_the_stricter_condition() {
        let (smoothness, steps) = (2.5, 6);
        let scaled = dfedavgm_rate_limit(smoothness, steps).unwrap() * smoothness * 6.0;
        assert!((64.0 * scaled * scaled + 64.0 * scaled - 1.0).abs() < 1e-14);
        assert!(scaled < 0.125);
        assert_eq!(
            dfedavgm_rate_limit(0.0, 1).unwrap_err().to_string(),
            "the smoothness L is 0, but must be finite and above 0"
        );
        assert_eq!(
            dfedavgm_rate_limit(1.0, 0).unwrap_err().to_string(),
            "the number of local steps K is 0, but must be at least 1"
        );
    }

    #[test]
    fn the_gradient_bound_has_its_hand_evaluated_value() {
        let constants = DfedavgmDescent {
            progress: 0.5,
            local_error: 0.25,
            disagreement_error: 0.125,
        };
        // 2·3/(0.5·12) + 0.25 + 0.125/0.25
        let bound = |rounds, lambda| constants.gradient_bound(3.0, rounds, lambda);
        assert_eq!(bound(12, 0.5).unwrap(), 1.75);
        assert_eq!(bound(12, 0.0).unwrap(), 1.375);
        assert!(bound(12, 0.6).unwrap() > bound(12, 0.5).unwrap());
        assert!(bound(13, 0.5).unwrap() < bound(12, 0.5).unwrap());
        assert_eq!(
            bound(12, 1.0).unwrap_err().to_string(),
            "lambda is 1, but must be at least 0 and below 1: the overlay has to be connected"
        );
        assert_eq!(
            bound(0, 0.5).unwrap_err().to_string(),
            "the number of rounds T is 0, but must be at least 1"
        );
    }

    #[test]
    fn the_rate_has_its_hand_evaluated_terms() {
        // T = 10⁴: heavy = 0.25/0.5·4·(2+9) = 22, local (0.5·4 + 22)/(4·100), apart (0.5·40 + 22)/(4·10⁶)/0.25.
        let terms = RATE.terms(10_000, 0.5).unwrap();
        assert!((terms.descent - 0.015).abs() < 1e-15);
        assert!((terms.local - 0.06).abs() < 1e-15);
        assert!((terms.disagreement - 4.2e-5).abs() < 1e-18);
    }

    #[test]
    fn the_rate_begins_where_its_learning_rate_is_allowed() {
        // 64(√17 + 4)² = 4223.03
        assert_eq!(
            RATE.terms(4223, 0.5).unwrap_err().to_string(),
            "the number of rounds T is 4223, but must be at least 4224: with fewer, the learning rate 1/(LK sqrt(T)) is too large"
        );
        RATE.terms(4224, 0.5).unwrap();
        assert_eq!(
            RATE.terms(0, 0.5).unwrap_err().to_string(),
            "the number of rounds T is 0, but must be at least 4224: with fewer, the learning rate 1/(LK sqrt(T)) is too large"
        );
        let momentum = DfedavgmRate {
            momentum: 1.0,
            ..RATE
        };
        assert_eq!(
            momentum.terms(10_000, 0.5).unwrap_err().to_string(),
            "the momentum beta is 1, but must be in [0, 1)"
        );
    }

    #[test]
    fn the_stability_bound_is_the_proofs_expression_at_its_best_round() {
        let (rounds, c_lambda) = (200, 13.977);
        let s = STABILITY;
        let first = s.first_use(rounds).unwrap();
        let (steps, shard, clients) = (3.0, 6000.0, 10.0);
        let growth = (rounds as f64 / first).powf(s.rate_scale * s.smoothness * steps);
        let drift = s.gradient_norm
            * (s.local_deviation + s.gradient_norm)
            * (s.rate_scale * steps + 2.0 * c_lambda)
            / first;
        let noise = 2.0 * s.local_deviation * s.gradient_norm / (clients * s.smoothness);
        let proof = first * steps / shard * s.largest_loss + growth * (noise + drift);
        let bound = s.generalization_bound(rounds, c_lambda).unwrap();
        assert!((bound - proof).abs() < 1e-12 * proof);
    }

    #[test]
    fn stability_improves_with_smaller_c_lambda_more_clients_and_more_examples() {
        let bound = |s: DfedavgmStability, c_lambda| s.generalization_bound(200, c_lambda).unwrap();
        let base = bound(STABILITY, 13.977);
        assert!(bound(STABILITY, 5.0) < base);
        assert!(bound(STABILITY, 0.0) < bound(STABILITY, 5.0));
        let clients = DfedavgmStability {
            clients: 20,
            ..STABILITY
        };
        assert!(bound(clients, 13.977) < base);
        let shard_size = DfedavgmStability {
            shard_size: 12_000,
            ..STABILITY
        };
        assert!(bound(shard_size, 13.977) < base);
        assert!(STABILITY.generalization_bound(400, 13.977).unwrap() > base);
    }

    #[test]
    fn a_scale_that_is_too_large_or_a_disconnected_overlay_has_no_stability_bound() {
        let large = DfedavgmStability {
            rate_scale: 10.0,
            shard_size: 100,
            ..STABILITY
        };
        assert_eq!(
            large
                .generalization_bound(1_000_000, 1.0)
                .unwrap_err()
                .to_string(),
            "t0 = T^(cLK/(1+cLK)) (cLK)^(1/(1+cLK)) is 928103.7751801696, but must be at most n = 100: c is too large"
        );
        assert_eq!(
            STABILITY
                .generalization_bound(200, f64::INFINITY)
                .unwrap_err()
                .to_string(),
            "C_lambda is inf, but must be finite and at least 0"
        );
        assert_eq!(
            STABILITY
                .generalization_bound(200, f64::NAN)
                .unwrap_err()
                .to_string(),
            "C_lambda is NaN, but must be finite and at least 0"
        );
    }
}
