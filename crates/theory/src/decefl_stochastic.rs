//! Convergence of DeceFL with stochastic gradients, over fixed and over time-varying overlays.

use crate::bound_error::{
    BoundError, at_least_one, contracting, convex_and_smooth, finite, not_negative, require,
};
use crate::decefl::HarmonicRate;

/// The constants under which DeceFL with stochastic gradients, weighted by examples, converges.
///
/// # Source
/// DeceFL (Yuan et al.), Supplementary Information, Sections 2 and 3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StochasticDecefl {
    /// L, the largest smoothness of a client's loss (Assumption 2).
    pub smoothness: f64,
    /// μ, the smallest strong convexity of a client's loss (Assumption 2); not the μ of the update.
    pub convexity: f64,
    /// m, the number of examples over all clients.
    pub examples: u64,
    /// K, the number of clients.
    pub clients: u64,
    /// `σ² = (1/K) Σ σ_k²`, the variance of stochastic gradients (Assumption 1).
    pub variance: f64,
    /// χ², the bound on the squared norm of a stochastic gradient (Assumption 1).
    pub squared_norm: f64,
    /// ε, or ζ in Proposition 1: by how much the mean loss at w* exceeds the mean of the clients' minima.
    pub heterogeneity: f64,
    /// λ, the spectral norm of `W − 11ᵀ/K`; over a time-varying overlay that of a window's product (Assumption 4).
    pub lambda: f64,
    /// B, the number of iterations in a window; 1 for a fixed overlay.
    pub window: u64,
}

/// Where the clients start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StochasticStart {
    /// `E‖w(0) − 1 ⊗ w̄(0)‖²`, K times the squared consensus distance.
    pub disagreement_squared: f64,
    /// `E‖w̄(0) − w*‖²`.
    pub distance_squared: f64,
    /// `F(w̄(0)) − F(w*)`.
    pub gap: f64,
}

/// The constants of the rate: at iteration t the clients' squared disagreement is at most `ζ_B/(t+Γ)²`, their mean's
/// squared distance from w* at most `ζ̃_B/(t+Γ)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StochasticRate {
    /// ζ_B.
    pub disagreement: f64,
    /// ζ̃_B.
    pub distance: f64,
    gamma: f64,
}

impl StochasticRate {
    /// Bound on `E‖w(t) − 1 ⊗ w̄(t)‖²`.
    ///
    /// # Source
    /// DeceFL (Yuan et al.), Supplementary Information, (46) and (57).
    #[must_use]
    pub fn disagreement_squared_at(&self, iteration: u64) -> f64 {
        self.disagreement / (iteration as f64 + self.gamma).powi(2)
    }

    /// Bound on `E‖w̄(t) − w*‖²`.
    ///
    /// # Source
    /// DeceFL (Yuan et al.), Supplementary Information, (9), (12) and (15).
    #[must_use]
    pub fn distance_squared_at(&self, iteration: u64) -> f64 {
        self.distance / (iteration as f64 + self.gamma)
    }
}

impl StochasticDecefl {
    /// The least Γ, `B(2 + √(2(1+λ²))) / (1−λ²) − 1`; with B = 1 it is `(√(2(1+λ²)) + 1 + λ²) / (1−λ²)`.
    ///
    /// # Source
    /// DeceFL (Yuan et al.), Supplementary Information, Theorems 1, 2 (B = 1) and 3.
    ///
    /// # Errors
    /// [`BoundError`] if λ is not in `[0, 1)` or B is zero.
    pub fn least_gamma(&self) -> Result<f64, BoundError> {
        contracting("lambda", self.lambda)?;
        at_least_one("the window B", self.window)?;
        let square = self.lambda * self.lambda;
        let reach = 2.0 + (2.0 * (1.0 + square)).sqrt();
        Ok(self.window as f64 * reach / (1.0 - square) - 1.0)
    }

    /// Checks that the rate fits: `δ > m/μ`, Γ above [`StochasticDecefl::least_gamma`] and `δ/Γ ≤ 1/(2L)`.
    ///
    /// # Source
    /// DeceFL (Yuan et al.), Supplementary Information, Theorems 1 to 3.
    ///
    /// # Interpretation
    /// The theorems admit the least Γ itself, at which the denominator of ζ_B is zero; it is refused.
    ///
    /// # Errors
    /// [`BoundError`], naming the condition that fails.
    pub fn check_rate(&self, rate: &HarmonicRate) -> Result<(), BoundError> {
        self.check()?;
        let least = self.examples as f64 / self.convexity;
        let holds = rate.delta > least && rate.delta.is_finite();
        require(
            "delta",
            rate.delta,
            holds,
            format!("must be above m/mu = {least}"),
        )?;
        let least = self.least_gamma()?;
        let holds = rate.gamma > least && rate.gamma.is_finite();
        require("Gamma", rate.gamma, holds, format!("must be above {least}"))?;
        let (first, most) = (rate.delta / rate.gamma, 0.5 / self.smoothness);
        require(
            "the first learning rate delta/Gamma",
            first,
            first <= most,
            format!("must be at most 1/(2L) = {most}"),
        )
    }

    /// `ζ_B = max{Γ² E‖w(0) − 1w̄(0)‖², (1−λ²)^{-1} δ²B²Kχ² / ((Γ+1−B)²/((Γ+1)²(1+λ²)) − ½)}` and
    /// `ζ̃_B = max{((6εL + σ²)δ²m + 2ζ_B m/K) / (μδ − m), Γ E‖w̄(0) − w*‖²}`.
    ///
    /// # Source
    /// DeceFL (Yuan et al.), Supplementary Information, Theorems 1, 2 (B = 1) and 3.
    ///
    /// # Interpretation
    /// In ζ_B's numerator Theorem 3 and the proofs read λ² where Theorem 1 reads χ². With λ² it would be zero at λ = 0
    /// and free of the gradients; (45) and (56) lead to χ², which is used. Theorem 1 has ζ̃ within ζ̃, where the proof
    /// has ζ. The induction over windows begins after the first B iterations and supposes, without a word, that those
    /// keep the bound.
    ///
    /// # Errors
    /// As [`StochasticDecefl::check_rate`], and if a value of `start` is negative or not finite.
    pub fn rate(
        &self,
        start: &StochasticStart,
        rate: &HarmonicRate,
    ) -> Result<StochasticRate, BoundError> {
        self.check_rate(rate)?;
        check_start(start)?;
        let HarmonicRate { delta, gamma } = *rate;
        let (examples, clients) = (self.examples as f64, self.clients as f64);
        let square = self.lambda * self.lambda;
        let shrink = ((gamma + 1.0 - self.window as f64) / (gamma + 1.0)).powi(2);
        let room = (1.0 - square) * (shrink / (1.0 + square) - 0.5);
        let pull = (delta * self.window as f64).powi(2) * clients * self.squared_norm / room;
        let disagreement = (gamma * gamma * start.disagreement_squared).max(pull);
        let noise = (6.0 * self.heterogeneity * self.smoothness + self.variance) * delta * delta;
        let drift =
            (noise + 2.0 * disagreement / clients) * examples / (self.convexity * delta - examples);
        Ok(StochasticRate {
            disagreement: finite("zeta", disagreement)?,
            distance: finite("zeta tilde", drift.max(gamma * start.distance_squared))?,
            gamma,
        })
    }

    /// Bound on `E[F(w̄(t)) − F(w*)]` at the constant learning rate η:
    /// `(1 − μη/(2m))^t (F(w̄(0)) − F(w*)) + m/(ημ) ((ηK²L² + η²L²μ)/K Ξ + ηK²σ² + η²L(σ² + 2με))` with
    /// `Ξ = E‖w(0) − 1 ⊗ w̄(0)‖² + 2η²Kχ²(1+λ²)/(1−λ²)²`.
    ///
    /// # Source
    /// DeceFL (Yuan et al.), Supplementary Information, Proposition 1, (10).
    ///
    /// # Interpretation
    /// (10) prints the factor `1 − μη/m`; its proof has `1 − μη/(2m)` throughout, which is the larger bound and is
    /// used. The `η²L²μ` and `2με` come from (52), which bounds `‖∇F_k‖²` by `2μ_k(F_k − F_k*)`: smoothness gives
    /// `2L_k`, strong convexity the reverse inequality. They are kept as printed.
    ///
    /// # Errors
    /// [`BoundError`] if a constant is out of its range, B is not 1, or η is not in `(0, K/(2mL)]`.
    pub fn constant_rate_bound(
        &self,
        start: &StochasticStart,
        learning_rate: f64,
        iterations: u64,
    ) -> Result<f64, BoundError> {
        self.check()?;
        check_start(start)?;
        let window = self.window as f64;
        require(
            "the window B",
            window,
            self.window == 1,
            "must be 1: the overlay is fixed",
        )?;
        let (examples, clients) = (self.examples as f64, self.clients as f64);
        let most = clients / (2.0 * examples * self.smoothness);
        let holds = learning_rate > 0.0 && learning_rate <= most;
        require(
            "the learning rate eta",
            learning_rate,
            holds,
            format!("must be above 0 and at most K/(2mL) = {most}"),
        )?;
        let contraction = 1.0 - self.convexity * learning_rate / (2.0 * examples);
        let left = contraction.powf(iterations as f64) * start.gap;
        finite(
            "DeceFL's bound (10)",
            left + self.floor(start, learning_rate),
        )
    }

    /// The error that remains at a constant learning rate, Ξ_1 of the proof of Proposition 1.
    fn floor(&self, start: &StochasticStart, eta: f64) -> f64 {
        let (clients, square) = (self.clients as f64, self.lambda * self.lambda);
        let apart = start.disagreement_squared
            + 2.0 * eta * eta * clients * self.squared_norm * (1.0 + square)
                / (1.0 - square).powi(2);
        let smooth = self.smoothness * self.smoothness;
        let drift =
            (eta * clients * clients * smooth + eta * eta * smooth * self.convexity) / clients;
        let spread = self.variance + 2.0 * self.convexity * self.heterogeneity;
        let noise = eta * clients * clients * self.variance + eta * eta * self.smoothness * spread;
        self.examples as f64 / (eta * self.convexity) * (drift * apart + noise)
    }

    fn check(&self) -> Result<(), BoundError> {
        convex_and_smooth(self.convexity, self.smoothness)?;
        at_least_one("the number of examples m", self.examples)?;
        at_least_one("the number of clients K", self.clients)?;
        not_negative("the variance sigma^2", self.variance)?;
        not_negative("the squared norm chi^2", self.squared_norm)?;
        not_negative("the heterogeneity epsilon", self.heterogeneity)?;
        contracting("lambda", self.lambda)?;
        at_least_one("the window B", self.window)
    }
}

fn check_start(start: &StochasticStart) -> Result<(), BoundError> {
    not_negative(
        "the squared disagreement at the start",
        start.disagreement_squared,
    )?;
    not_negative(
        "the squared distance of the mean at the start",
        start.distance_squared,
    )?;
    not_negative("the gap at the start", start.gap)
}

#[cfg(test)]
mod tests;
