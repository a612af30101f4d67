//! Decentralized stochastic gradient descent.

use crate::aggregation::{self, PartialAggregation, exchange};
use crate::error::AlgorithmError;
use crate::method_spec::{MethodSpec, Profile};
use crate::round::{Algorithm, Forecast, Round, Setting};
use crate::training::{Local, Training};
use crate::velocity::{DecayedGradients, KeptVelocity, MomentumStep, decayed_gradients};
use crate::{keeps_stack, method_config, no_limits, usual};
use meshfold_engine::Stack;
use meshfold_topology::Overlay;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which comes first, the gradient step or the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// `w_i <- w_i − η g(w_i)`, then `w <- W w` (D-Cliques, Fig. 2).
    #[default]
    StepThenMix,
    /// `w <- W w − η g(w)`, the gradient being that before mixing (Lian et al.; DeceFL (1)).
    MixThenStep,
}

method_config! {
    /// Parameters of [`Method::Dsgd`](crate::Method::Dsgd).
    ///
    /// # Source
    /// Lian et al., Can decentralized algorithms outperform centralized algorithms? (2017), Algorithm 1, with `order: mix_then_step`;
    /// D-Cliques (Bellet et al.), Fig. 2, with the default order.
    ///
    /// # Interpretation
    /// Momentum, where it is used, is each client's own and kept between rounds. With `step_then_mix` a round may
    /// have several local steps; the papers have one, the default.
    #[derive(JsonSchema)]
    pub struct Dsgd(local = "crate::training::one_step", momentum = "crate::training::no_momentum") {
        /// Which comes first.
        #[serde(default)]
        pub order: Order,
        /// Averages over some neighbours only, weighted by examples, in place of the mixing matrix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub aggregation: Option<PartialAggregation>,
    }
}

struct DsgdState {
    training: Training,
    order: Order,
    aggregation: Option<PartialAggregation>,
    setting: Setting,
    velocity: KeptVelocity,
}

impl Algorithm for DsgdState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        match self.order {
            Order::StepThenMix => {
                let work = round.work(&rows, &self.training);
                let velocity = self.velocity.of_training(models, &self.training);
                round.train(models, velocity, &work)?; // D-Cliques Fig. 2, lines 3-4
                self.exchange(models, round)?; // line 5
            }
            Order::MixThenStep => {
                let DecayedGradients {
                    mut gradients,
                    rates,
                } = decayed_gradients(models, round, &rows, &self.training)?; // Lian Algorithm 1, line 3
                self.exchange(models, round)?; // line 4
                let step = MomentumStep {
                    rates: &rates,
                    rows: &rows,
                    sgd: &self.training.sgd,
                };
                self.velocity.step(models, &mut gradients, &step)?; // line 5
            }
        }
        Ok(())
    }

    keeps_stack!(velocity);
}

impl DsgdState {
    /// `w <- W w`, or the mean over some neighbours.
    fn exchange(&self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        exchange(models, round, self.aggregation, &self.setting)
    }
}

impl MethodSpec for Dsgd {
    fn profile(&self) -> Profile<'_> {
        Profile {
            mixes_by_weights: self.aggregation.is_none(),
            averages_by: Some("aggregation"),
            may_lose_messages: self.aggregation.is_none(),
            ..Profile::gossip()
        }
    }

    usual!(training, steps_per_round, message_scope);

    fn check_keys(&self) -> Result<(), AlgorithmError> {
        if self.order == Order::MixThenStep && self.local != Local::Steps(1) {
            let found = format!("{:?}", self.local).to_lowercase();
            let needed =
                "mix_then_step takes the one gradient before mixing: it must be {steps: 1}";
            return Err(AlgorithmError::setting("local", found, needed));
        }
        self.aggregation.map_or(Ok(()), PartialAggregation::check)
    }

    no_limits!(check_clients, check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        let gradients = usize::from(self.order == Order::MixThenStep);
        let velocity = usize::from(self.momentum > 0.0 || self.order == Order::MixThenStep);
        (1 + velocity + gradients) * clients
    }

    fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast {
        let (training, bytes) = (self.training_keys(), setting.model_bytes());
        aggregation::forecast(self.aggregation, &training, setting, overlay, bytes)
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(DsgdState {
            training: self.training_keys(),
            order: self.order,
            aggregation: self.aggregation,
            setting: setting.clone(),
            velocity: KeptVelocity::new(setting.clients),
        })
    }
}
