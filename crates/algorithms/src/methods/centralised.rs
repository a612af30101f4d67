//! One model trained on all data in one place: what no federation is expected to beat.

use crate::error::AlgorithmError;
use crate::message_scope::MessageScope;
use crate::method_spec::{Holders, MethodSpec, Profile};
use crate::round::{Algorithm, Forecast, Round, Setting};
use crate::training::Training;
use crate::velocity::KeptVelocity;
use crate::{keeps_stack, method_config, no_limits, usual};
use meshfold_engine::{RowWork, Stack};
use meshfold_topology::Overlay;
use schemars::JsonSchema;

method_config! {
    /// Parameters of [`Method::Centralised`](crate::Method::Centralised).
    ///
    /// # Source
    /// DeceFL (Yuan et al.), SI 5.1.1: the reference that has all data; D-Cliques (Bellet et al.), Section 5.
    ///
    /// # Interpretation
    /// The run has one client that holds the examples of all clients of the partition, in their order. Momentum is
    /// kept between rounds.
    #[derive(JsonSchema)]
    pub struct Centralised(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {}
}

struct CentralisedState {
    training: Training,
    velocity: KeptVelocity,
}

impl Algorithm for CentralisedState {
    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = [RowWork {
            client: 0,
            amount: self.training.local.amount(),
        }];
        let work = round.work(&rows, &self.training);
        let velocity = self.velocity.of_training(models, &self.training);
        round.train(models, velocity, &work)?;
        Ok(())
    }

    keeps_stack!(velocity);
}

impl MethodSpec for Centralised {
    fn profile(&self) -> Profile<'_> {
        Profile {
            holders: Holders::OneForAll,
            merges_clients: true,
            ..Profile::without_overlay()
        }
    }

    usual!(training, steps_per_round);

    no_limits!(check_keys, check_clients, check_overlay, unstable_at);

    fn working_rows(&self, _clients: usize) -> usize {
        usize::from(self.momentum > 0.0)
    }

    fn message_scope(&self, _: &Setting, _: usize, _: bool) -> MessageScope {
        MessageScope::Nobody
    }

    fn forecast(&self, setting: &Setting, _overlay: Option<&Overlay>) -> Forecast {
        Forecast {
            local_steps: f64::from(self.training_keys().steps_on(setting.examples())),
            bytes: 0,
        }
    }

    fn begin(&self, _setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(CentralisedState {
            training: self.training_keys(),
            velocity: KeptVelocity::new(1),
        })
    }
}
