//! Bars, and what is written below them.

use crate::axis::{Range, Scale};
use crate::drawing::{Area, Frame, Shape};
use crate::error_bar::ErrorBar;
use crate::figure::{Bar, Figure, Point};
use crate::font;
use crate::layout::{INK, Ranges, frame_place};
use crate::legend::lines;
use crate::panels::LINE;

/// How wide the ends of an error bar are, as a share of the bar.
const ENDS: f64 = 0.3;
/// Space between names, in heights of letters.
const BETWEEN_NAMES: f64 = 0.5;

impl Figure {
    /// The range of an axis with names: half a place more at both ends.
    pub(crate) fn named_range(&self) -> Option<Range> {
        let count = self.x.names.len();
        (count > 0).then(|| Range {
            scale: Scale::Linear,
            low: -0.5,
            high: count as f64 - 0.5,
        })
    }

    /// A label of the horizontal axis in lines. A name is broken where it is wider than its share of a panel of `width` points.
    pub(crate) fn label_lines(&self, label: &str, width: f64) -> Vec<String> {
        match self.x.names.len() {
            0 => vec![label.to_owned()],
            count => {
                let share = width / count as f64 / self.font_size - BETWEEN_NAMES;
                lines(label, share)
            }
        }
    }

    /// Whether names are written from below to above, as in a panel of `width` points a number or a word would be broken otherwise.
    pub(crate) fn are_labels_turned(&self, width: f64) -> bool {
        let count = self.x.names.len() as f64;
        let share = width / count / self.font_size - BETWEEN_NAMES;
        let is_broken = |name: &String| {
            let is_number = name.parse::<f64>().is_ok();
            let mut parts = name.split_inclusive([' ', '_', '-']);
            match is_number {
                true => font::width(name) > share,
                false => parts.any(|part| font::width(part.trim_end()) > share),
            }
        };
        self.x.names.iter().any(is_broken)
    }

    /// How much higher than a line the labels of the horizontal axis are in a panel of `width` points, in heights of letters.
    pub(crate) fn more_than_a_line(&self, width: f64) -> f64 {
        let names = self.x.names.iter();
        if self.are_labels_turned(width) {
            let lengths = names.map(|name| font::width(name));
            return (lengths.fold(0.0, f64::max) - 1.0).max(0.0);
        }
        let counts = names.map(|name| self.label_lines(name, width).len());
        LINE * (counts.max().unwrap_or(1) - 1) as f64
    }

    /// A bar from 0, or from the lower end of a logarithmic axis, and its error bar.
    pub(crate) fn bar(&self, bar: &Bar, ranges: &Ranges, frame: Frame) -> Vec<Shape> {
        let scale = self.y.scale;
        let end = bar.end;
        if !self.holds(&end) {
            return Vec::new();
        }
        let place = |x: f64, y: f64| frame_place(ranges, frame, x, y);
        let base = match scale {
            Scale::Linear => 0.0,
            Scale::Logarithmic => ranges.y.low,
        };
        let [left, right] = [-0.5, 0.5].map(|side| end.x + side * bar.width);
        let corners = [(left, base), (left, end.y), (right, end.y), (right, base)];
        let area = Shape::Area(Area {
            corners: corners.map(|(x, y)| place(x, y)).to_vec(),
            colour: bar.style.colour(),
            opacity: 1.0,
        });
        let look = ErrorBar {
            reach: 0.5 * ENDS * (place(right, base).x - place(left, base).x),
            colour: INK,
        };
        let of_point = |point: Point, y: f64| place(point.x, y);
        let error = self.error_bar(end, &look, ranges.y.low, &of_point);
        [area].into_iter().chain(error).collect()
    }
}
