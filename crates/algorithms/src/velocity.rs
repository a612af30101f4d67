//! Momentum that a method keeps from round to round.

use crate::training::Training;
use meshfold_engine::{Stack, Velocity};

/// The velocity of every row, zero at first; none is held without momentum.
#[derive(Debug, Default)]
pub(crate) struct KeptVelocity(Option<Stack>);

impl KeptVelocity {
    /// What local steps are given.
    pub(crate) fn of_training(&mut self, models: &Stack, training: &Training) -> Velocity<'_> {
        if training.sgd.momentum == 0.0 {
            return Velocity::Fresh;
        }
        Velocity::Kept(self.like(models))
    }

    /// The velocity itself, of the shape of `models`.
    pub(crate) fn like(&mut self, models: &Stack) -> &mut Stack {
        self.0
            .get_or_insert_with(|| Stack::zeros(models.device(), models.layout(), models.rows()))
    }

    /// For [`Algorithm::state`](crate::Algorithm::state).
    pub(crate) fn state(&self) -> Vec<(&'static str, &Stack)> {
        self.0
            .iter()
            .map(|velocity| ("velocity", velocity))
            .collect()
    }

    /// For [`Algorithm::restore`](crate::Algorithm::restore).
    pub(crate) fn restore(&mut self, name: &str, stack: Stack) {
        if name == "velocity" {
            self.0 = Some(stack);
        }
    }
}
