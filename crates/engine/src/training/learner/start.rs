//! The first models of a run.

use super::Learner;
use crate::error::EngineError;
use crate::stack::Stack;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From which model rows start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Every row from the same model.
    #[default]
    Same,
    /// Each row from a draw of its own.
    Independent,
}

impl Learner {
    /// The first models of a run, `[rows, P]`, by the seed of the learner.
    ///
    /// # Errors
    /// Those of [`Stack::from_host`], and of a model of the user's own.
    pub fn initial(&self, rows: usize, start: Start) -> Result<Stack, EngineError> {
        self.initial_of(self.problem.seed, rows, start)
    }

    /// The first models of a run, `[rows, P]`, by a seed of their own.
    ///
    /// # Errors
    /// Those of [`Stack::from_host`], and of a model of the user's own.
    pub fn initial_of(&self, seed: u64, rows: usize, start: Start) -> Result<Stack, EngineError> {
        let network = &self.problem.network;
        let values = match start {
            Start::Same => network.initialise(seed, 0)?.repeat(rows),
            Start::Independent => {
                let rows = (0..rows as u32).map(|row| network.initialise(seed, row));
                rows.collect::<Result<Vec<_>, _>>()?.concat()
            }
        };
        Stack::from_host(&self.device, network.layout(), values)
    }
}
