//! The same rate throughout, after a warm-up.

use super::formula::{Formula, formula, is_positive};

formula!(
    /// Parameters of [`Schedule::Constant`](super::Schedule::Constant).
    Constant {
        /// The rate.
        rate: f64
    }
);

impl Formula for Constant {
    fn rate(&self, _t: f64) -> f64 {
        self.rate
    }

    fn fault(&self) -> Option<&'static str> {
        (!is_positive(self.rate)).then_some("constant needs rate > 0")
    }
}
