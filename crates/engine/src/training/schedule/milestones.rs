//! A rate that falls at given counts.

use super::formula::{Formula, formula, is_positive};

formula!(
    /// Parameters of [`Schedule::Milestones`](super::Schedule::Milestones).
    Milestones {
        /// Rate at the start.
        initial: f64,
        /// What the rate is multiplied by at each milestone.
        factor: f64,
        /// The milestones: counts, ascending.
        at: Vec<f64>
    }
);

impl Formula for Milestones {
    fn rate(&self, t: f64) -> f64 {
        let passed = self.at.iter().take_while(|milestone| **milestone <= t);
        self.initial * self.factor.powi(passed.count() as i32)
    }

    fn fault(&self) -> Option<&'static str> {
        let ascend = self.at.windows(2).all(|pair| pair[0] < pair[1]);
        let is_fine = is_positive(self.initial)
            && is_positive(self.factor)
            && ascend
            && self.at.iter().all(|milestone| is_positive(*milestone));
        (!is_fine).then_some(
            "milestones needs initial > 0, factor > 0 and ascending counts above 0 in at",
        )
    }
}
