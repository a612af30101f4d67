//! A rate that falls with the inverse of time.

use super::formula::{Formula, formula, is_positive};

formula!(
    /// Parameters of [`Schedule::InverseTime`](super::Schedule::InverseTime).
    InverseTime {
        /// Rate at the start.
        initial: f64,
        /// Counts after which the rate has halved.
        scale: f64
    }
);

impl Formula for InverseTime {
    /// # Source
    /// P-FedAvg (Liu et al.), section VI.
    fn rate(&self, t: f64) -> f64 {
        self.initial / (1.0 + t / self.scale)
    }

    fn fault(&self) -> Option<&'static str> {
        let is_fine = is_positive(self.initial) && is_positive(self.scale);
        (!is_fine).then_some("inverse_time needs initial > 0 and scale > 0")
    }
}
