//! A rate that falls by the same factor again and again.

use super::formula::{Formula, formula, is_positive};

formula!(
    /// Parameters of [`Schedule::Step`](super::Schedule::Step).
    Step {
        /// Rate at the start.
        initial: f64,
        /// What the rate is multiplied by.
        factor: f64,
        /// After how many counts.
        every: f64
    }
);

impl Formula for Step {
    fn rate(&self, t: f64) -> f64 {
        self.initial * self.factor.powf((t / self.every).floor())
    }

    fn fault(&self) -> Option<&'static str> {
        let is_fine = is_positive(self.initial) && is_positive(self.factor) && self.every >= 1.0;
        (!is_fine).then_some("step needs initial > 0, factor > 0 and every >= 1")
    }
}
