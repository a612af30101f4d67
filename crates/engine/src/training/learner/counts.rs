//! What a learner counts: steps, examples, losses, and rows that are no longer finite.

use super::Learner;
use crate::error::EngineError;
use crate::stack::Stack;
use crate::training::batches::ShardPass;
use crate::training::local_work::LocalWork;
use crate::training::tally::{RowTally, Tally};

impl Learner {
    /// Work done so far and the mean training loss since the last call. Waits for the device.
    pub fn tally(&mut self) -> Tally {
        self.trainer.collect(&mut self.tallies);
        let trained: Vec<f64> = self
            .tallies
            .iter_mut()
            .map(|tally| std::mem::take(&mut tally.recent))
            .filter(|recent| recent.steps > 0)
            .map(|recent| recent.sum / recent.steps as f64)
            .collect();
        let train_loss =
            (!trained.is_empty()).then(|| trained.iter().sum::<f64>() / trained.len() as f64);
        Tally {
            local_steps: self.local_steps,
            examples_seen: self.examples_seen,
            train_loss,
        }
    }

    /// Fails if a loss or a model of a row that `alive` names was not finite, naming the first round and its lowest
    /// row. Waits for the device.
    ///
    /// # Errors
    /// [`EngineError::NonFinite`].
    pub fn expect_finite(
        &mut self,
        stack: &Stack,
        alive: &[bool],
        round: usize,
    ) -> Result<(), EngineError> {
        self.trainer.collect(&mut self.tallies);
        self.tallies
            .resize_with(self.tallies.len().max(stack.rows()), RowTally::default);
        for (row, finite) in stack.finite_rows().into_iter().enumerate() {
            if !finite && alive.get(row).copied().unwrap_or(true) {
                self.tallies[row].mark_broken(round);
            }
        }
        let first = self
            .tallies
            .iter()
            .enumerate()
            .filter_map(|(row, tally)| Some((tally.broken?, row)))
            .min();
        first.map_or(Ok(()), |(round, row)| {
            Err(EngineError::NonFinite { round, row })
        })
    }

    /// Counts local steps that were made elsewhere on `rows` rows, and the examples that they saw: models and losses stay as they are.
    pub fn count_elsewhere(&mut self, rows: usize, steps: u64, examples: u64) {
        self.local_steps += steps;
        self.examples_seen += examples;
        // A state with steps has rows.
        let known = self.passes.len().max(rows);
        self.passes.resize_with(known, ShardPass::default);
        self.tallies.resize_with(known, RowTally::default);
    }

    /// Adds the work to the counts; returns the steps of each row.
    pub(super) fn count(&mut self, work: &LocalWork<'_>) -> Vec<u32> {
        let steps = |row| self.steps_of(row, work.sgd);
        let counted: Vec<u32> = work.rows.iter().map(steps).collect();
        for (index, (row, steps)) in work.rows.iter().zip(&counted).enumerate() {
            let shard = self.problem.partition.shard(row.client as usize).len();
            let position = self.passes.get(index).map(ShardPass::position);
            self.local_steps += u64::from(*steps);
            self.examples_seen += position
                .unwrap_or_default()
                .examples_of(row, *steps, work.sgd, shard);
        }
        counted
    }
}
