//! Ticks at the values of the points.

use crate::axis::{Range, Tick};
use crate::drawing::Frame;
use crate::figure::Figure;
use crate::font;

/// The most values that have a tick each.
const MOST: usize = 8;
/// The least space between two labels, in heights of letters.
const BETWEEN: f64 = 0.5;

impl Figure {
    /// A tick of the horizontal axis at each value, if the axis has values, they are few, and their labels have room in `frame`.
    pub(crate) fn value_ticks(&self, range: &Range, frame: Frame) -> Option<Vec<Tick>> {
        let ticks = self.x.ticks_at_values(range);
        let end = |tick: &Tick, side: f64| {
            let middle = range.share(tick.value) * frame.width();
            middle + 0.5 * side * (font::width(&tick.label) + BETWEEN) * self.font_size
        };
        let are_apart = |pair: &[Tick]| end(&pair[0], 1.0) <= end(&pair[1], -1.0);
        let are_few = (1..=MOST).contains(&ticks.len());
        (are_few && ticks.windows(2).all(are_apart)).then_some(ticks)
    }

    /// A tick of the vertical axis at each value, if the axis has values and a line of text has room at each of them in `frame`.
    pub(crate) fn y_value_ticks(&self, range: &Range, frame: Frame) -> Option<Vec<Tick>> {
        let ticks = self.y.ticks_at_values(range);
        let height = |tick: &Tick| range.share(tick.value) * frame.height();
        let are_apart = |pair: &[Tick]| height(&pair[1]) - height(&pair[0]) >= self.font_size;
        (!ticks.is_empty() && ticks.windows(2).all(are_apart)).then_some(ticks)
    }
}
