//! Convergence of federated averaging over parallel servers.

use crate::bound_error::{
    BoundError, at_least_one, convex_and_smooth, finite, not_negative, require,
};

/// The constants of Assumptions 1 to 6 under which P-FedAvg's convergence is bounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PFedavg {
    /// L, the smoothness (Assumption 1).
    pub smoothness: f64,
    /// μ, the strong convexity (Assumption 2).
    pub convexity: f64,
    /// G, the bound on the root mean square norm of a stochastic gradient (Assumption 3).
    pub gradient_norm: f64,
    /// `Σ_j q_j² σ_j² / B_j`, see [`gradient_noise`] (Assumption 4).
    pub gradient_noise: f64,
    /// p, the expected consensus rate, [`Spectrum::p`](meshfold_topology::Spectrum::p) (Assumption 5).
    pub consensus_rate: f64,
    /// Γ, see [`NonIidDegree`](crate::NonIidDegree) (Assumption 6).
    pub non_iid_degree: f64,
    /// E, local steps per round.
    pub local_steps: u64,
}

impl PFedavg {
    /// `a = max{16 L/μ, 2E}`, the offset of the learning rate and of the weights of iterates.
    ///
    /// # Source
    /// P-FedAvg (Liu et al.), Theorem 1.
    #[must_use]
    pub fn offset(&self) -> f64 {
        (16.0 * self.smoothness / self.convexity).max(2.0 * self.local_steps as f64)
    }

    /// The learning rate `η_t = 4 / (μ(a + t))` of step t, t from 0, that the theorems ask for.
    ///
    /// It is the schedule `harmonic {delta: 4/μ, gamma: a, per: step}`.
    ///
    /// # Source
    /// P-FedAvg (Liu et al.), Theorem 1.
    #[must_use]
    pub fn learning_rate(&self, step: u64) -> f64 {
        4.0 / (self.convexity * (self.offset() + step as f64))
    }

    /// The constants for which the theorems' learning rates are `δ/(γ + t)`.
    ///
    /// A loss that is μ-convex and L-smooth is so with a smaller μ and with a larger L, too: with `4/δ` and `γ/(4δ)` the
    /// theorems ask for these very rates.
    ///
    /// # Errors
    /// [`BoundError`] unless `δ ≥ 4/μ` and `γ ≥ max{4δL, 2E}`, or if a constant is out of its range.
    pub fn at_rate(&self, delta: f64, gamma: f64) -> Result<Self, BoundError> {
        self.check()?;
        let least = 4.0 / self.convexity;
        let holds = delta >= least && delta.is_finite();
        require(
            "delta",
            delta,
            holds,
            format!("must be at least 4/mu = {least}"),
        )?;
        let least = (4.0 * delta * self.smoothness).max(2.0 * self.local_steps as f64);
        let holds = gamma >= least && gamma.is_finite();
        require(
            "gamma",
            gamma,
            holds,
            format!("must be at least max(4 delta L, 2E) = {least}"),
        )?;
        Ok(Self {
            convexity: 4.0 / delta,
            smoothness: gamma / (4.0 * delta),
            ..*self
        })
    }

    /// The weight `s_t = (a + t)²` of the iterate after t steps in `x_avg(T) = Σ_{t=0}^T s_t x̄(t) / S_T`.
    ///
    /// # Source
    /// P-FedAvg (Liu et al.), Theorem 1, below (10).
    #[must_use]
    pub fn iterate_weight(&self, step: u64) -> f64 {
        (self.offset() + step as f64).powi(2)
    }

    /// Bound on `f(x_avg(T)) − f*` if all clients take part in each round:
    /// `μa³/T³ ‖x̄(0) − x*‖² + 8(2a+T)/(μT²) · A` with
    /// `A = 8E²G² + 6LΓ + 64E²G²/p (2/p + 1) + Σ_j q_j² σ_j² / B_j`.
    ///
    /// `initial_distance_squared` is `‖x̄(0) − x*‖²`, `steps` is T, local steps counted over all rounds.
    ///
    /// # Source
    /// P-FedAvg (Liu et al.), Theorem 1, (10).
    ///
    /// # Errors
    /// [`BoundError`] if there is no step or a constant is out of its range: L ≥ μ > 0, `0 < p ≤ 1`, E ≥ 1, the others
    /// not negative.
    pub fn full_participation(
        &self,
        initial_distance_squared: f64,
        steps: u64,
    ) -> Result<f64, BoundError> {
        self.bound(initial_distance_squared, steps, 0.0)
    }

    /// The same if each of the M servers draws `K_i` of its clients with replacement: `Σ_i 4E²G² / (M² K_i)` is added
    /// to A.
    ///
    /// `participants` holds the K_i, one for each server.
    ///
    /// # Source
    /// P-FedAvg (Liu et al.), Theorem 2, (11).
    ///
    /// # Interpretation
    /// (11) prints `‖x̄(0) − x*‖` without its square, which (10) has; the square is meant, by its unit and by the
    /// proof.
    ///
    /// # Errors
    /// As [`PFedavg::full_participation`], and if there is no server or a server draws no client.
    pub fn partial_participation(
        &self,
        initial_distance_squared: f64,
        steps: u64,
        participants: &[u64],
    ) -> Result<f64, BoundError> {
        at_least_one("the number of servers M", participants.len() as u64)?;
        for &drawn in participants {
            at_least_one("the number of clients K_i that a server draws", drawn)?;
        }
        let inverses: f64 = participants.iter().map(|&drawn| 1.0 / drawn as f64).sum();
        let servers = participants.len() as f64;
        let drift = self.local_steps as f64 * self.gradient_norm;
        let sampling = 4.0 * drift * drift * inverses / (servers * servers);
        self.bound(initial_distance_squared, steps, sampling)
    }

    fn bound(&self, distance: f64, steps: u64, sampling: f64) -> Result<f64, BoundError> {
        self.check()?;
        not_negative("the squared distance of x(0) from x*", distance)?;
        at_least_one("the number of steps T", steps)?;
        let (a, total, p) = (self.offset(), steps as f64, self.consensus_rate);
        let drift = (self.local_steps as f64 * self.gradient_norm).powi(2);
        let error = 8.0 * drift
            + 6.0 * self.smoothness * self.non_iid_degree
            + 64.0 * drift / p * (2.0 / p + 1.0)
            + self.gradient_noise
            + sampling;
        let start = self.convexity * (a / total).powi(3) * distance;
        let rate = 8.0 * (2.0 * a + total) / (self.convexity * total * total);
        finite("P-FedAvg's convergence bound", start + rate * error)
    }

    fn check(&self) -> Result<(), BoundError> {
        convex_and_smooth(self.convexity, self.smoothness)?;
        not_negative("the gradient norm G", self.gradient_norm)?;
        not_negative("the gradient noise", self.gradient_noise)?;
        let p = self.consensus_rate;
        let holds = p > 0.0 && p <= 1.0;
        require(
            "the consensus rate p",
            p,
            holds,
            "must be above 0 and at most 1",
        )?;
        not_negative("the non-iid degree Gamma", self.non_iid_degree)?;
        at_least_one("the number of local steps E", self.local_steps)
    }
}

/// `(1/M) Σ_i (1/N_i) Σ_{j∈N_i} value(j)`.
fn mean_over_servers<T>(servers: &[Vec<T>], value: impl Fn(&T) -> f64) -> Result<f64, BoundError> {
    at_least_one("the number of servers M", servers.len() as u64)?;
    let mut sum = 0.0;
    for clients in servers {
        at_least_one(
            "the number of clients N_i of a server",
            clients.len() as u64,
        )?;
        sum += clients.iter().map(&value).sum::<f64>() / clients.len() as f64;
    }
    finite("the mean over servers", sum / servers.len() as f64)
}

/// How noisy a client's stochastic gradient is.
///
/// # Source
/// P-FedAvg (Liu et al.), Assumption 4 and Theorem 1, (10).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClientNoise {
    /// σ_j², the variance of the gradient of one example (Assumption 4).
    pub variance: f64,
    /// B_j, the number of examples in a batch.
    pub batch_size: u64,
}

/// The noise `Σ_j q_j² σ_j² / B_j` that remains in the mean over all servers, `q_j = 1/(M N_i)`.
///
/// `servers` holds for each server its clients.
///
/// # Source
/// P-FedAvg (Liu et al.), Theorem 1, (10).
///
/// # Errors
/// [`BoundError`] if there is no server, a server has no client, a variance is negative or a batch empty.
pub fn gradient_noise(servers: &[Vec<ClientNoise>]) -> Result<f64, BoundError> {
    for client in servers.iter().flatten() {
        not_negative("the variance sigma_j^2", client.variance)?;
        at_least_one("the batch size B_j", client.batch_size)?;
    }
    let of_batch = |client: &ClientNoise| client.variance / client.batch_size as f64;
    let shares: Vec<Vec<f64>> = servers
        .iter()
        .map(|clients| {
            let share = 1.0 / (servers.len() * clients.len()) as f64;
            clients
                .iter()
                .map(|client| share * of_batch(client))
                .collect()
        })
        .collect();
    mean_over_servers(&shares, |share| *share)
}

#[cfg(test)]
mod tests;
