//! The rate of many theorems.

use super::formula::{Formula, formula, is_positive};

formula!(
    /// Parameters of [`Schedule::Harmonic`](super::Schedule::Harmonic).
    Harmonic {
        /// Numerator.
        delta: f64,
        /// Offset of the count.
        gamma: f64
    }
);

impl Formula for Harmonic {
    /// # Source
    /// P-FedAvg (Liu et al.), Theorem 1.
    fn rate(&self, t: f64) -> f64 {
        self.delta / (t + self.gamma)
    }

    fn fault(&self) -> Option<&'static str> {
        let is_fine = is_positive(self.delta) && is_positive(self.gamma);
        (!is_fine).then_some("harmonic needs delta > 0 and gamma > 0")
    }
}
