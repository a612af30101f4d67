//! One model trained on all data in one place: what no federation is expected to beat.

use crate::round::{Algorithm, Forecast, OverlayUse, Round, RowKind, Rows, Setting};
use crate::training::{Training, method_config};
use crate::velocity::KeptVelocity;
use crate::{AlgorithmError, Configured};
use meshfold_engine::{RowWork, Stack};
use meshfold_topology::Overlay;

method_config! {
    /// Parameters of [`Method::Centralised`](crate::Method::Centralised).
    ///
    /// # Source
    /// DeceFL (Yuan et al.), SI 5.1.1: the reference that has all data; D-Cliques (Bellet et al.), Section 5.
    ///
    /// # Interpretation
    /// The run has one client that holds the examples of all clients of the partition, in their order. Momentum is
    /// kept between rounds.
    pub struct Centralised(local = "crate::training::one_epoch", momentum = "crate::training::no_momentum") {}
}

struct Running {
    training: Training,
    velocity: KeptVelocity,
}

const ONE: Rows = Rows {
    kind: RowKind::Client,
    count: 1,
};

impl Configured for Centralised {
    fn training(&self) -> Training {
        self.training_keys()
    }

    fn overlay_use(&self) -> OverlayUse {
        OverlayUse::Refused
    }

    fn merges_clients(&self) -> bool {
        true
    }

    fn rows(&self, _clients: usize) -> Rows {
        ONE
    }

    fn working_rows(&self, _clients: usize) -> usize {
        usize::from(self.momentum > 0.0)
    }

    fn forecast(&self, setting: &Setting, _overlay: Option<&Overlay>) -> Forecast {
        Forecast {
            local_steps: f64::from(self.training_keys().steps_on(setting.examples())),
            bytes: 0,
        }
    }

    fn build(&self, _setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(Running {
            training: self.training_keys(),
            velocity: KeptVelocity::default(),
        })
    }
}

impl Algorithm for Running {
    fn rows(&self) -> Rows {
        ONE
    }

    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        let rows = [RowWork {
            client: 0,
            amount: self.training.local.amount(),
        }];
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
