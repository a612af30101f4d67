//! A rate that falls with a power of time.

use super::formula::{Formula, formula, is_positive};

formula!(
    /// Parameters of [`Schedule::Power`](super::Schedule::Power).
    Power {
        /// Inverse of the first rate.
        r: f64,
        /// Exponent of the count.
        q: f64
    }
);

impl Formula for Power {
    /// # Source
    /// DFedRW (Wang et al.), section VI-B, with `k` that counts from 1.
    fn rate(&self, t: f64) -> f64 {
        1.0 / (self.r * (t + 1.0).powf(self.q))
    }

    fn fault(&self) -> Option<&'static str> {
        let is_fine = is_positive(self.r) && self.q >= 0.0;
        (!is_fine).then_some("power needs r > 0 and q >= 0")
    }
}
