//! Stochastic gradient push: averages over directed overlays.

use crate::error::AlgorithmError;
use crate::method_spec::{MethodSpec, Profile};
use crate::round::{Algorithm, Round, Setting};
use crate::training::Training;
use crate::{method_config, no_limits, usual};
use meshfold_engine::{Mixing, Stack, Velocity};
use meshfold_topology::{Uniform, Weights, arriving_shares, column_stochastic};
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::PushSum`](crate::Method::PushSum).
    ///
    /// With column-stochastic `P`: `x <- P (x − η g(z))`, `ω <- P ω`, `z = x / ω`. On overlays in which a node hears
    /// from others than it sends to, `z` still tends to the plain mean.
    ///
    /// # Source
    /// Assran et al., Stochastic gradient push for distributed deep learning (2019), Algorithm 1; Nedić, Olshevsky
    /// (2016).
    ///
    /// # Interpretation
    /// A node sends equal shares to itself and to all that it sends to, in place of the configured weights. Rows hold
    /// `z`; local work may have several steps: these are made on `z`, and by what they move `z`, `x` moves. Momentum starts anew each round. Bytes are those of models: `ω`, one number a message,
    /// is not counted.
    #[derive(JsonSchema)]
    pub struct PushSum(local = "crate::training::one_step", momentum = "crate::training::no_momentum") {}
}

struct PushSumState {
    training: Training,
    setting: Setting,
    /// `ω`, `[N]`.
    weights: Vec<f64>,
}

impl Algorithm for PushSumState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        let work = round.work(&rows, &self.training);
        let before = models.duplicate();
        round.train(models, Velocity::Fresh, &work)?; // Algorithm 1, lines 2-3
        let less: Vec<f32> = self
            .weights
            .iter()
            .map(|weight| (*weight - 1.0) as f32)
            .collect();
        models.add_scaled(&before, &less)?; // x − η g = ω z − η g
        self.show(models, round)?;
        let matrix = match round.sent_over {
            Some(sent) => arriving_shares(sent, round.overlay()),
            None => column_stochastic(round.overlay()),
        };
        round.exchange_models(self.setting.model_bytes());
        models.mix(&Mixing::new(&matrix))?; // line 5
        self.weights = matrix.apply(&self.weights); // line 6
        let shares: Vec<f32> = self
            .weights
            .iter()
            .map(|weight| (1.0 / weight) as f32)
            .collect();
        models.scale_rows(&shares)?; // line 7
        Ok(())
    }

    fn numbers(&self) -> Vec<(String, Vec<f64>)> {
        vec![("weights".to_owned(), self.weights.clone())]
    }

    fn may_keep(&self, name: &str, numbers: &[f64]) -> bool {
        name == "weights" && numbers.len() == self.setting.clients
    }

    fn restore_numbers(&mut self, name: &str, numbers: Vec<f64>) {
        if name == "weights" {
            self.weights = numbers;
        }
    }
}

impl PushSumState {
    /// Shows `x / ω`, which receivers know of `models`, the `x` that clients send with their `ω`.
    fn show(&self, models: &Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        if round.is_to_show() {
            let mut known = models.duplicate();
            let shares = self.weights.iter().map(|weight| (1.0 / weight) as f32);
            known.scale_rows(&shares.collect::<Vec<f32>>())?;
            round.show(&known);
        }
        Ok(())
    }
}

impl MethodSpec for PushSum {
    fn profile(&self) -> Profile<'_> {
        Profile {
            // On undirected overlays the transpose of the method's matrix, with the same spectrum.
            own_weights: Some(Weights::Uniform(Uniform {})),
            momentum_begins_anew: true,
            ..Profile::gossip()
        }
    }

    usual!(training, steps_per_round, message_scope, forecast);

    no_limits!(check_keys, check_clients, check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        2 * clients
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(PushSumState {
            training: self.training_keys(),
            setting: setting.clone(),
            weights: vec![1.0; setting.clients],
        })
    }
}
