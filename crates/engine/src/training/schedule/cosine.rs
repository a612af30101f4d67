//! A rate that falls along half a period of a cosine.

use super::formula::{Formula, formula, is_positive};
use std::f64::consts::PI;

formula!(
    /// Parameters of [`Schedule::Cosine`](super::Schedule::Cosine).
    Cosine {
        /// Rate at the start.
        initial: f64,
        /// Rate in the end.
        #[serde(default)]
        last: f64,
        /// Counts until the end; the last rate stays.
        length: f64
    }
);

impl Formula for Cosine {
    /// # Source
    /// Loshchilov and Hutter, SGDR (2017), equation (5), without restarts.
    fn rate(&self, t: f64) -> f64 {
        let done = (t / self.length).min(1.0);
        self.last + 0.5 * (self.initial - self.last) * (1.0 + (PI * done).cos())
    }

    fn fault(&self) -> Option<&'static str> {
        let is_fine = is_positive(self.initial)
            && (0.0..=self.initial).contains(&self.last)
            && self.length >= 1.0
            && self.length.is_finite();
        (!is_fine).then_some("cosine needs initial > 0, last from 0 to initial and length >= 1")
    }
}
