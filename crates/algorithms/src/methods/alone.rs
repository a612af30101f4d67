//! Training without exchange (DeceFL, Fig. 4): what every client reaches by itself.

use crate::round::{Algorithm, OverlayUse, Round, RowKind, Rows, Setting};
use crate::training::{Training, method_config};
use crate::velocity::KeptVelocity;
use crate::{AlgorithmError, Configured};
use meshfold_engine::Stack;

method_config! {
    /// Parameters of [`Method::Alone`](crate::Method::Alone).
    ///
    /// # Interpretation
    /// Nothing interrupts a client's training, so momentum is kept between rounds.
    pub struct Alone(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {}
}

struct Running {
    training: Training,
    clients: usize,
    velocity: KeptVelocity,
}

impl Configured for Alone {
    fn training(&self) -> Training {
        self.training_keys()
    }

    fn overlay_use(&self) -> OverlayUse {
        OverlayUse::Refused
    }

    fn working_rows(&self, clients: usize) -> usize {
        if self.momentum > 0.0 { clients } else { 0 }
    }

    fn build(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(Running {
            training: self.training_keys(),
            clients: setting.clients,
            velocity: KeptVelocity::default(),
        })
    }
}

impl Algorithm for Running {
    fn rows(&self) -> Rows {
        Rows {
            kind: RowKind::Client,
            count: self.clients,
        }
    }

    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = round.client_rows(&self.training);
        let work = round.work(&rows, &self.training);
        let velocity = self.velocity.of_training(models, &self.training);
        let steps = round.learner.train(models, velocity, &work)?;
        round.count_steps(&rows, &steps);
        Ok(())
    }

    fn state(&self) -> Vec<(&'static str, &Stack)> {
        self.velocity.state()
    }

    fn state_rows(&self, name: &str) -> Option<usize> {
        KeptVelocity::is_called(name).then_some(self.rows().count)
    }

    fn restore(&mut self, name: &str, stack: Stack) {
        self.velocity.restore(name, stack);
    }
}
