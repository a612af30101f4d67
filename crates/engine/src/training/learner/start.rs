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
        if self.device.ranks().is_some() {
            return self.initial_over_ranks(seed, rows, start);
        }
        let values = match start {
            Start::Same => network.initialise(seed, 0)?.repeat(rows),
            Start::Independent => {
                let rows = (0..rows as u32).map(|row| network.initialise(seed, row));
                rows.collect::<Result<Vec<_>, _>>()?.concat()
            }
        };
        Stack::from_host(&self.device, network.layout(), values)
    }

    /// First models whose parameters are all one number each, `[R, P]`: those of row `i` are `values[i]`.
    ///
    /// # Errors
    /// Those of [`Stack::from_host`].
    pub fn initial_at(&self, values: &[f32]) -> Result<Stack, EngineError> {
        let layout = self.problem.network.layout();
        let mut rows = vec![0.0; values.len() * layout.width()];
        for (row, value) in rows.chunks_exact_mut(layout.width().max(1)).zip(values) {
            for block in layout.blocks() {
                row[block.range()].fill(*value); // the padding stays zero
            }
        }
        Stack::from_host(&self.device, layout, rows)
    }

    /// As [`Learner::initial_of`] where no process is to hold all rows at once.
    fn initial_over_ranks(
        &self,
        seed: u64,
        rows: usize,
        start: Start,
    ) -> Result<Stack, EngineError> {
        let network = &self.problem.network;
        let layout = network.layout();
        if start == Start::Same {
            let one = Stack::from_host(&self.device, layout, network.initialise(seed, 0)?)?;
            return one.gather(&vec![0; rows]);
        }
        let mut stack = Stack::zeros(&self.device, layout, rows);
        let mut next = 0u32..;
        stack.fill_blocks(|values| {
            let rows = values.chunks_exact_mut(layout.width().max(1));
            for (values, row) in rows.zip(next.by_ref()) {
                values.copy_from_slice(&network.initialise(seed, row)?);
            }
            Ok::<_, EngineError>(())
        })?;
        Ok(stack)
    }
}
