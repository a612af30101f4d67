//! Training without exchange (DeceFL, Fig. 4): what every client reaches by itself.

use crate::round::{Algorithm, Forecast, OverlayUse, Round, RowKind, Rows, Setting};
use crate::training::{Training, method_config};
use crate::{AlgorithmError, Configured};
use meshfold_engine::{Stack, Velocity};
use meshfold_topology::Overlay;

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
    velocity: Option<Stack>,
}

impl Configured for Alone {
    fn training(&self) -> Training {
        self.shared()
    }

    fn overlay_use(&self) -> OverlayUse {
        OverlayUse::Refused
    }

    fn rows(&self, clients: usize) -> Rows {
        Rows {
            kind: RowKind::Client,
            count: clients,
        }
    }

    fn working_rows(&self, clients: usize) -> usize {
        if self.momentum > 0.0 { clients } else { 0 }
    }

    fn forecast(
        &self,
        shard_sizes: &[usize],
        _overlay: Option<&Overlay>,
        _model_bytes: u64,
    ) -> Forecast {
        let training = self.shared();
        let local_steps = shard_sizes
            .iter()
            .map(|shard| f64::from(training.steps_on(*shard)))
            .sum();
        Forecast {
            local_steps,
            bytes: 0,
        }
    }

    fn build(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(Running {
            training: self.shared(),
            clients: setting.clients,
            velocity: None,
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
        let rows = self.training.per_client(round.alive);
        let work = round.work(&rows, &self.training);
        let velocity = kept_velocity(&mut self.velocity, models, &self.training);
        let steps = round.learner.train(models, velocity, &work)?;
        round.traffic.compute(steps);
        Ok(())
    }

    fn state(&self) -> Vec<(&'static str, &Stack)> {
        self.velocity
            .iter()
            .map(|velocity| ("velocity", velocity))
            .collect()
    }

    fn restore(&mut self, name: &str, stack: Stack) {
        if name == "velocity" {
            self.velocity = Some(stack);
        }
    }
}

/// The velocity that a method keeps between rounds, zero at first; none is held without momentum.
pub(crate) fn kept_velocity<'a>(
    velocity: &'a mut Option<Stack>,
    models: &Stack,
    training: &Training,
) -> Velocity<'a> {
    if training.sgd.momentum == 0.0 {
        return Velocity::Fresh;
    }
    Velocity::Kept(
        velocity
            .get_or_insert_with(|| Stack::zeros(models.device(), models.layout(), models.rows())),
    )
}
