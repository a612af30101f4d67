//! The learning rates of local steps to come.

use super::Learner;
use crate::error::EngineError;
use crate::training::batches::ShardPass;
use crate::training::local_work::LocalWork;
use crate::training::schedule::{LearningRate, Per, Progress, Schedule};
use crate::training::work::{Amount, RowWork};

impl Learner {
    /// The learning rate of each row's next step; 0 for idle rows.
    ///
    /// # Errors
    /// [`EngineError::OwnRate`] if a learning rate of the user's own fails.
    pub fn rates(&self, work: &LocalWork<'_>) -> Result<Vec<f32>, EngineError> {
        let tasks = work.tasks();
        let rate = |(row, task): (usize, &RowWork)| match task.amount {
            Amount::Idle => Ok(0.0),
            Amount::Steps(_) | Amount::Epochs(_) => {
                let progress = self.progress(row, work.round as u64 - 1);
                let rate = work.sgd.learning_rate.try_at(&progress)?;
                Ok(tasks.rate_scale(row) * rate as f32)
            }
        };
        work.rows.iter().enumerate().map(rate).collect()
    }

    /// Checks the rates of all steps of `work`, if they are of the user's own.
    ///
    /// # Errors
    /// [`EngineError::OwnRate`] if one fails.
    pub(super) fn check_own_rates(&self, work: &LocalWork<'_>) -> Result<(), EngineError> {
        let rate = &work.sgd.learning_rate;
        let LearningRate::Schedule(Schedule::Own(own)) = rate else {
            return Ok(());
        };
        let is_busy = |(_, task): &(usize, &RowWork)| task.amount != Amount::Idle;
        for (row, task) in work.rows.iter().enumerate().filter(is_busy) {
            let shard = self.problem.partition.shard(task.client as usize).len();
            let steps = match own.part().per() {
                Per::Round => 1,
                _ => work.sgd.steps_on(task.amount, shard),
            };
            let rounds = work.round as u64 - 1;
            let begun = self.passes.get(row).cloned().unwrap_or_default();
            for progress in begun.progress_of((task, steps), rounds, work.sgd, shard) {
                rate.try_at(&progress)?;
            }
        }
        Ok(())
    }

    /// How far row `row` has come in the round after `rounds` rounds.
    fn progress(&self, row: usize, rounds: u64) -> Progress {
        match self.passes.get(row) {
            Some(pass) => pass.progress(rounds),
            None => ShardPass::default().progress(rounds),
        }
    }
}
