//! Convergence of decentralized federated averaging via random walks, quantised or not.

use crate::bound_error::{BoundError, at_least_one, finite, not_negative, positive, require};
use crate::mixing_time::{MixingTime, check_walk_lambda};

/// The step sizes `η^k = 1 / (r k^q)`, k from 1, counted over all visits of a walk.
///
/// # Source
/// DFedRW (Wang et al.), Theorem 1 and Section VI-B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerSteps {
    /// r, the inverse of the first step size.
    pub inverse_first: f64,
    /// q, the exponent.
    pub exponent: f64,
}

impl PowerSteps {
    /// η^k, which is also the weight of the k-th iterate in `w̄^k`.
    ///
    /// # Source
    /// DFedRW (Wang et al.), Section VI-B and below (15).
    #[must_use]
    pub fn at(&self, visit: u64) -> f64 {
        1.0 / (self.inverse_first * (visit as f64).powf(self.exponent))
    }
}

/// The constants under which DFedRW's convergence is bounded.
///
/// # Source
/// DFedRW (Wang et al.), Assumptions 1 to 3 and Theorem 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomWalk {
    /// n, the number of devices.
    pub devices: u64,
    /// D, the bound on gradients (Corollary 1).
    pub gradient_norm: f64,
    /// `λ_P = (λ + 1)/2`, [`Spectrum::lambda_walk`](meshfold_topology::Spectrum::lambda_walk) (Definition 4).
    pub walk_lambda: f64,
    /// δ², the local dissimilarity (Definition 1), see [`local_dissimilarity`](super::local_dissimilarity).
    pub dissimilarity: f64,
    /// γ̂, the inexactness of a walk (Lemma 1), see [`walk_inexactness`](super::walk_inexactness).
    pub inexactness: f64,
    /// `‖w^0 − w*‖²`.
    pub initial_distance_squared: f64,
}

/// What quantisation adds to the constants.
///
/// # Source
/// DFedRW (Wang et al.), Theorem 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WalkQuantisation {
    /// σ, the bound on the norm of what is quantised (Lemma 3).
    pub norm: f64,
    /// d, the number of parameters.
    pub parameters: u64,
    /// s, the interval, see [`quantisation_interval`](super::quantisation_interval).
    pub interval: f64,
    /// ζ and K_P of the walk, for τ^k.
    pub mixing_time: MixingTime,
}

/// The terms of the bound's numerator after k visits, and what divides them.
///
/// # Source
/// DFedRW (Wang et al.), (15) and (16).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WalkTerms {
    /// `½ ‖w^0 − w*‖²`.
    pub start: f64,
    /// `ψ(n, λ_P) = (1+n) 2D² Σ ln k (η^k)² / ln(1/λ_P)`.
    pub mixing: f64,
    /// `κ(δ, γ̂) = (δ² + γ̂²) D²/4 Σ (η^k)²`.
    pub heterogeneity: f64,
    /// `λ(n) = Σ n η^k / (2k)`.
    pub stationarity: f64,
    /// `ψ(d, s) = (1+n) Dσ√d s/2 Σ η^k τ^k`, 0 without quantisation.
    pub quantisation: f64,
    /// `Σ η^k`, the sum of the weights in `w̄^k`.
    pub step_sum: f64,
    visits: u64,
    exponent: f64,
}

impl RandomWalk {
    /// The terms after k visits.
    ///
    /// # Source
    /// DFedRW (Wang et al.), Theorem 1, (15); with `quantisation` Theorem 2, (16).
    ///
    /// # Interpretation
    /// All sums run from 1 to k, although ψ(n, λ_P) prints them to infinity: the bound is on the iterate after k
    /// visits, to which later steps add nothing. That sum starts at K̄, which the text does not define; its terms are
    /// not negative, so starting at 1 gives the largest value that any K̄ does.
    ///
    /// # Errors
    /// [`BoundError`] if there is no device, visit or parameter, a norm or s is negative, `δ² < 1`, γ̂ is not in
    /// `[0, 1]`, λ_P not in `[1/2, 1)`, r not positive or q negative.
    ///
    /// # Complexity
    /// O(k).
    pub fn terms(
        &self,
        steps: &PowerSteps,
        visits: u64,
        quantisation: Option<&WalkQuantisation>,
    ) -> Result<WalkTerms, BoundError> {
        self.check()?;
        positive("the inverse r of the first step size", steps.inverse_first)?;
        not_negative("the exponent q of the step sizes", steps.exponent)?;
        at_least_one("the number of visits k", visits)?;
        let sums = Sums::to(steps, visits);
        let (devices, norm) = (self.devices as f64, self.gradient_norm);
        let speed = (1.0 / self.walk_lambda).ln();
        let spread = self.dissimilarity + self.inexactness * self.inexactness;
        Ok(WalkTerms {
            start: 0.5 * self.initial_distance_squared,
            mixing: (1.0 + devices) * 2.0 * norm * norm * sums.logarithmic_squares / speed,
            heterogeneity: spread * norm * norm / 4.0 * sums.squares,
            stationarity: 0.5 * devices * sums.harmonic,
            quantisation: match quantisation {
                None => 0.0,
                Some(quantisation) => self.quantisation_term(quantisation, steps, visits)?,
            },
            step_sum: sums.steps,
            visits,
            exponent: steps.exponent,
        })
    }

    fn quantisation_term(
        &self,
        quantisation: &WalkQuantisation,
        steps: &PowerSteps,
        visits: u64,
    ) -> Result<f64, BoundError> {
        not_negative("the norm bound sigma", quantisation.norm)?;
        at_least_one("the number of parameters d", quantisation.parameters)?;
        not_negative("the interval s", quantisation.interval)?;
        quantisation.mixing_time.check()?;
        let delayed: f64 = (1..=visits)
            .map(|visit| steps.at(visit) * quantisation.mixing_time.checked_steps_at(visit) as f64)
            .sum();
        let noise =
            quantisation.norm * (quantisation.parameters as f64).sqrt() * quantisation.interval;
        Ok((1.0 + self.devices as f64) * self.gradient_norm * noise / 2.0 * delayed)
    }

    fn check(&self) -> Result<(), BoundError> {
        at_least_one("the number of devices n", self.devices)?;
        not_negative("the gradient norm D", self.gradient_norm)?;
        check_walk_lambda(self.walk_lambda)?;
        let holds = self.dissimilarity >= 1.0 && self.dissimilarity.is_finite();
        require(
            "the dissimilarity delta^2",
            self.dissimilarity,
            holds,
            "must be finite and at least 1",
        )?;
        let holds = (0.0..=1.0).contains(&self.inexactness);
        require(
            "the inexactness gamma",
            self.inexactness,
            holds,
            "must be from 0 to 1",
        )?;
        not_negative(
            "the squared distance of w^0 from w*",
            self.initial_distance_squared,
        )
    }
}

/// The sums over visits that no constant but the step sizes enters.
#[derive(Default)]
struct Sums {
    /// `Σ η^k`.
    steps: f64,
    /// `Σ (η^k)²`.
    squares: f64,
    /// `Σ ln k (η^k)²`.
    logarithmic_squares: f64,
    /// `Σ η^k / k`.
    harmonic: f64,
}

impl Sums {
    fn to(steps: &PowerSteps, visits: u64) -> Self {
        (1..=visits).fold(Self::default(), |sums, visit| {
            let (step, k) = (steps.at(visit), visit as f64);
            Self {
                steps: sums.steps + step,
                squares: sums.squares + step * step,
                logarithmic_squares: sums.logarithmic_squares + k.ln() * step * step,
                harmonic: sums.harmonic + step / k,
            }
        })
    }
}

impl WalkTerms {
    /// The sum of the terms.
    #[must_use]
    pub fn numerator(&self) -> f64 {
        self.start + self.mixing + self.heterogeneity + self.stationarity + self.quantisation
    }

    /// Bound on `E[f(w̄^k) − f(w*)]` as printed, [`WalkTerms::numerator`] over `k^{1−q}`.
    ///
    /// # Source
    /// DFedRW (Wang et al.), (15) and (16).
    ///
    /// # Interpretation
    /// `k^{1−q}` is the order of `Σ η^k ≈ k^{1−q} / (r(1−q))`, by which the proof divides. So this is the bound up to
    /// the factor `r(1−q)`, and below what is proven where that exceeds 1; see [`WalkTerms::bound_by_step_sum`].
    ///
    /// # Errors
    /// [`BoundError`] unless `1/2 < q < 1`, the theorems' condition (Section VI-B's own q = 0.499 misses it).
    pub fn bound(&self) -> Result<f64, BoundError> {
        require(
            "the exponent q of the step sizes",
            self.exponent,
            self.exponent > 0.5 && self.exponent < 1.0,
            "must be above 1/2 and below 1",
        )?;
        let divisor = (self.visits as f64).powf(1.0 - self.exponent);
        finite("DFedRW's convergence bound", self.numerator() / divisor)
    }

    /// Bound on `E[f(w̄^k) − f(w*)]` by the weights of `w̄^k` themselves, [`WalkTerms::numerator`] over `Σ η^k`.
    ///
    /// # Source
    /// DFedRW (Wang et al.), Appendix A: the inequality in `Σ η^k E[f(w^k) − f(w*)]`, divided by `Σ η^k`.
    ///
    /// # Interpretation
    /// After finitely many visits every sum is finite, so q need not be above 1/2.
    ///
    /// # Errors
    /// [`BoundError`] if the quotient is not finite.
    pub fn bound_by_step_sum(&self) -> Result<f64, BoundError> {
        finite(
            "DFedRW's convergence bound",
            self.numerator() / self.step_sum,
        )
    }
}

#[cfg(test)]
mod tests;
