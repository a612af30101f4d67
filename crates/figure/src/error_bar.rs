//! Error bars.

use crate::drawing::{Colour, Line, Place, Shape};
use crate::figure::{Figure, Point};

/// Width of the strokes in points.
const STROKE: f64 = 0.8;

/// The look of an error bar.
pub(crate) struct ErrorBar {
    /// How far the strokes at its ends reach to both sides, in points.
    pub(crate) reach: f64,
    pub(crate) colour: Colour,
}

impl Figure {
    /// The error bar of `point`; nothing if it has no length. On a logarithmic axis one that reaches 0 or less goes down to `lowest`, the lower
    /// end of the axis.
    pub(crate) fn error_bar(
        &self,
        point: Point,
        look: &ErrorBar,
        lowest: f64,
        place: &impl Fn(Point, f64) -> Place,
    ) -> Vec<Shape> {
        let scale = self.y.scale;
        let has_length = point.low != point.high;
        if !(has_length && point.low.is_finite() && scale.holds(point.high)) {
            return Vec::new();
        }
        let low = match scale.holds(point.low) {
            true => point.low,
            false => lowest,
        };
        let [from, to] = [low, point.high].map(|end| place(point, end));
        let rule = |places: [Place; 2]| {
            Shape::Line(Line {
                places: places.to_vec(),
                colour: look.colour,
                width: STROKE,
                dash: &[],
            })
        };
        let across = |Place { x, y }: Place| {
            let beside = |way: f64| Place {
                x: x + way * look.reach,
                y,
            };
            rule([beside(-1.0), beside(1.0)])
        };
        vec![rule([from, to]), across(from), across(to)]
    }
}
