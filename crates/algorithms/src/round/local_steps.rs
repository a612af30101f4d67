//! The local steps of a round.

use super::Round;
use crate::error::AlgorithmError;
use meshfold_engine::{LocalWork, Stack, Velocity};

impl Round<'_> {
    /// Makes the local steps of `models`, `[R, P]`, that `work` says, and counts them. Returns the steps of each row, `[R]`.
    ///
    /// # Errors
    /// [`AlgorithmError::Engine`].
    pub fn train(
        &mut self,
        models: &mut Stack,
        velocity: Velocity<'_>,
        work: &LocalWork<'_>,
    ) -> Result<Vec<u32>, AlgorithmError> {
        let steps = self.learner.train(models, velocity, work)?;
        self.count_steps(work.rows, &steps);
        Ok(steps)
    }
}
