//! Marks at the points of a curve, with error bars.

use std::f64::consts::TAU;

use crate::drawing::{Area, Colour, Place, Shape};
use crate::error_bar::ErrorBar;
use crate::figure::{Curve, Figure, Point};

/// Radius of a mark, and how far the ends of an error bar reach to both sides, in points.
const RADIUS: f64 = 1.7;
const REACH: f64 = 2.0;
/// How many corners stand for a circle.
const CORNERS: usize = 24;

impl Figure {
    /// The marks and error bars of a curve that has some. On a logarithmic axis error bars go down to `lowest` at most.
    pub(crate) fn marks(
        &self,
        curve: &Curve,
        lowest: f64,
        place: &impl Fn(Point, f64) -> Place,
    ) -> Vec<Shape> {
        let colour = curve.style.colour();
        let look = ErrorBar {
            reach: REACH,
            colour,
        };
        let points = curve.points.iter();
        let points = points.filter(|point| curve.is_marked && self.holds(point));
        let shapes = points.flat_map(|point| {
            let mut shapes = self.error_bar(*point, &look, lowest, place);
            shapes.push(mark(place(*point, point.y), colour));
            shapes
        });
        shapes.collect()
    }
}

/// A filled circle.
fn mark(middle: Place, colour: Colour) -> Shape {
    let corner = |index: usize| {
        let (sine, cosine) = (TAU * index as f64 / CORNERS as f64).sin_cos();
        Place {
            x: middle.x + RADIUS * cosine,
            y: middle.y + RADIUS * sine,
        }
    };
    Shape::Area(Area {
        corners: (0..CORNERS).map(corner).collect(),
        colour,
        opacity: 1.0,
    })
}
