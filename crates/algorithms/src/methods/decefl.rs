//! DeceFL: mixing and a step against the client's own local work.

use crate::error::AlgorithmError;
use crate::method_spec::{MethodSpec, Profile};
use crate::round::{Algorithm, Round, Setting};
use crate::training::Training;
use crate::{method_config, no_limits, usual};
use meshfold_engine::{Stack, Velocity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a client's own step is multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GradientWeight {
    /// Nothing, as in (1).
    #[default]
    None,
    /// The client's share of all examples, `m_k / m`, as in SI (2).
    Examples,
}

method_config! {
    /// Parameters of [`Method::Decefl`](crate::Method::Decefl).
    ///
    /// # Source
    /// Yuan et al., (1) and SI Algorithm 1: `w_k <- Σ_j W_kj w_j − μ (w_k − w_k^local)`, `w_k^local` being `w_k` after
    /// local work. One step on the full batch and μ = 1 is (1).
    ///
    /// # Interpretation
    /// The text sets μ = 0.1, the authors' code 1, the default. Where local work contracts strongly the iteration is
    /// stable only if `μ <= 1 + λ_N(W)`. Momentum is zero at the start of each round.
    #[derive(JsonSchema)]
    pub struct Decefl(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {
        /// How much of the local work counts, μ.
        #[serde(default = "one")]
        pub mu: f32,
        /// What a client's own step is multiplied by.
        #[serde(default)]
        pub gradient_weight: GradientWeight,
    }
}

fn one() -> f32 {
    1.0
}

struct DeceflState {
    training: Training,
    /// `μ`, or `μ m_k / m`, of each client, `[N]`.
    step_sizes: Vec<f32>,
    model_bytes: u64,
}

impl Algorithm for DeceflState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        let work = round.work(&rows, &self.training);
        let mut local = models.duplicate();
        round.train(&mut local, Velocity::Fresh, &work)?; // SI Algorithm 1, line 4
        local.add_scaled(models, &vec![-1.0; models.rows()])?; // w_k^local − w_k
        round.show(models);
        round.mix(models, self.model_bytes)?; // line 6
        models.add_scaled(&local, &self.step_sizes)?; // line 7
        Ok(())
    }
}

impl MethodSpec for Decefl {
    fn profile(&self) -> Profile<'_> {
        Profile {
            momentum_begins_anew: true,
            ..Profile::gossip()
        }
    }

    usual!(training, steps_per_round, message_scope, forecast);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        if self.mu > 0.0 && self.mu.is_finite() {
            return Ok(());
        }
        let needed = "it must be positive and finite";
        Err(AlgorithmError::setting("mu", self.mu, needed))
    }

    fn unstable_at(&self, lambda_n: f64) -> Option<String> {
        let bound = 1.0 + lambda_n;
        (f64::from(self.mu) > bound + 1e-9).then(|| {
            format!(
                "mu is {} but the overlay's weights have λ_N = {lambda_n:.4}: where local work contracts strongly \
                 decefl is stable only if mu is at most 1 + λ_N = {bound:.4}",
                self.mu
            )
        })
    }

    no_limits!(check_clients, check_overlay);

    fn working_rows(&self, clients: usize) -> usize {
        2 * clients
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        let all = setting.examples() as f32;
        let step_size = |shard: &usize| match self.gradient_weight {
            GradientWeight::None => self.mu,
            GradientWeight::Examples => self.mu * *shard as f32 / all,
        };
        Box::new(DeceflState {
            training: self.training_keys(),
            step_sizes: setting.shard_sizes.iter().map(step_size).collect(),
            model_bytes: setting.model_bytes(),
        })
    }
}
