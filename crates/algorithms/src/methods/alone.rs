//! Training without exchange (DeceFL, Fig. 4): what every client reaches by itself.

use crate::error::AlgorithmError;
use crate::message_scope::MessageScope;
use crate::method_spec::{MethodSpec, Profile};
use crate::round::{Algorithm, Forecast, Round, Setting};
use crate::training::Training;
use crate::velocity::KeptVelocity;
use crate::{keeps_stack, method_config, no_limits, usual};
use meshfold_engine::Stack;
use meshfold_topology::Overlay;
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::Alone`](crate::Method::Alone).
    ///
    /// # Interpretation
    /// Nothing interrupts a client's training, so momentum is kept between rounds.
    #[derive(JsonSchema)]
    pub struct Alone(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {}
}

struct AloneState {
    training: Training,
    velocity: KeptVelocity,
}

impl Algorithm for AloneState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        let work = round.work(&rows, &self.training);
        let velocity = self.velocity.of_training(models, &self.training);
        round.train(models, velocity, &work)?;
        Ok(())
    }

    keeps_stack!(velocity);
}

impl MethodSpec for Alone {
    fn profile(&self) -> Profile<'_> {
        Profile::without_overlay()
    }

    usual!(training, steps_per_round);

    no_limits!(check_keys, check_clients, check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        if self.momentum > 0.0 { clients } else { 0 }
    }

    fn message_scope(&self, _: &Setting, _: usize, _: bool) -> MessageScope {
        MessageScope::Nobody
    }

    fn forecast(&self, setting: &Setting, _overlay: Option<&Overlay>) -> Forecast {
        Forecast {
            local_steps: self.training_keys().steps_of_all(setting),
            bytes: 0,
        }
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(AloneState {
            training: self.training_keys(),
            velocity: KeptVelocity::new(setting.clients),
        })
    }
}
