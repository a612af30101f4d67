//! What is counted while models train.

/// Work done so far, and the training loss since the tally was last taken.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    /// Local steps of all rows since the start of the run.
    pub local_steps: u64,
    /// Examples that those steps saw.
    pub examples_seen: u64,
    /// Mean over the rows that trained of their mini-batch losses since the last tally.
    pub train_loss: Option<f64>,
}

/// Losses of some steps of one row.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct LossSum {
    pub(crate) sum: f64,
    pub(crate) steps: u64,
    pub(crate) examples: u64,
}

impl LossSum {
    pub(crate) fn add(&mut self, mean: f64, examples: usize) {
        self.sum += mean;
        self.steps += 1;
        self.examples += examples as u64;
    }
}

/// What is remembered of one row's training.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct RowTally {
    /// Losses since the last tally.
    pub(crate) recent: LossSum,
    /// First round in which a loss or the model was not finite.
    pub(crate) broken: Option<usize>,
}

impl RowTally {
    pub(crate) fn add(&mut self, losses: LossSum, round: usize) {
        self.recent.sum += losses.sum;
        self.recent.steps += losses.steps;
        self.recent.examples += losses.examples;
        if !losses.sum.is_finite() {
            self.mark_broken(round);
        }
    }

    pub(crate) fn mark_broken(&mut self, round: usize) {
        self.broken = Some(self.broken.map_or(round, |earlier| earlier.min(round)));
    }
}
