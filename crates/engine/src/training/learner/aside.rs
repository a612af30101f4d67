//! Local steps that leave no trace in the learner.

use super::Learner;
use crate::error::EngineError;
use crate::stack::Stack;
use crate::training::local_work::{LocalWork, Velocity};
use std::mem::{replace, take};

impl Learner {
    /// Runs the local steps of every row as [`Learner::train`] does, but apart from the training of the run: every row begins a new pass
    /// over its shard, batches are drawn by `seed`, and neither steps nor losses are counted. What comes after is as without it.
    /// Momentum begins at zero. Waits for the device.
    ///
    /// # Errors
    /// As [`Learner::train`].
    pub fn train_aside(
        &mut self,
        stack: &mut Stack,
        work: &LocalWork<'_>,
        seed: u64,
    ) -> Result<(), EngineError> {
        // From here on the device has no losses of the run.
        self.trainer.collect(&mut self.tallies);
        let (passes, tallies) = (take(&mut self.passes), take(&mut self.tallies));
        let counts = (self.local_steps, self.examples_seen);
        let before_gradients = self.before_gradients.take();
        let repeats_batches = self.repeats_batches;
        let run_seed = replace(&mut self.problem.seed, seed);
        let trained = self.train(stack, Velocity::Fresh, work);
        self.trainer.collect(&mut self.tallies);
        self.problem.seed = run_seed;
        (self.passes, self.tallies) = (passes, tallies);
        (self.local_steps, self.examples_seen) = counts;
        (self.before_gradients, self.repeats_batches) = (before_gradients, repeats_batches);
        trained.map(drop)
    }
}
