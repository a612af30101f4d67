//! Curves with error bars, which stand beside each other where they have points at one place of the horizontal axis.

use crate::drawing::Frame;
use crate::figure::{Curve, Figure, Panel};
use crate::layout::{BESIDE_VALUES, Ranges, across};
use crate::marks::REACH;

/// From curve to curve, in points, where there is room.
const APART: f64 = 2.0 * REACH + 0.6;
/// How much of the space between two values all curves take together, at most.
const MOST: f64 = 0.5;

impl Figure {
    /// How far each curve of `panel` is moved to the right, in points: nothing if no two of them have error bars.
    pub(crate) fn shifts(&self, panel: &Panel, ranges: &Ranges, frame: Frame) -> Vec<f64> {
        let have_bars = panel.curves.iter().filter(|curve| has_error_bar(curve));
        let count = panel.curves.len();
        if have_bars.count() < 2 {
            return vec![0.0; count];
        }
        let between = (count - 1) as f64;
        let apart = APART.min(self.room(panel, ranges, frame) / between);
        let shift = |index: usize| (index as f64 - 0.5 * between) * apart;
        (0..count).map(shift).collect()
    }

    /// The width that all curves together may take at a value of the axis, in points; or, if it has none, where any of them has a point.
    fn room(&self, panel: &Panel, ranges: &Ranges, frame: Frame) -> f64 {
        let values = self.x.values.iter().map(|value| value.number);
        let mut values: Vec<f64> = match self.x.values.is_empty() {
            true => panel
                .curves
                .iter()
                .flat_map(|curve| &curve.points)
                .map(|point| point.x)
                .collect(),
            false => values.collect(),
        };
        values.retain(|value| self.x.scale.holds(*value));
        values.sort_by(f64::total_cmp);
        values.dedup();
        let places: Vec<f64> = values
            .into_iter()
            .map(|value| across(&ranges.x, frame, value))
            .collect();
        let gaps = places.windows(2).map(|pair| pair[1] - pair[0]);
        // Beside the first and the last value there is less space.
        let beside = 2.0 * (BESIDE_VALUES * frame.width() - REACH);
        (MOST * gaps.fold(f64::INFINITY, f64::min)).min(beside)
    }
}

fn has_error_bar(curve: &Curve) -> bool {
    curve.is_marked && curve.points.iter().any(|point| point.low != point.high)
}
