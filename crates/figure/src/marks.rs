//! Marks at the points of a curve, with error bars.

use std::f64::consts::{FRAC_PI_2, TAU};

use crate::drawing::{Area, Place, Shape};
use crate::error_bar::ErrorBar;
use crate::figure::{Curve, Figure, Point};
use crate::style::{DASHES, Style};

/// How far the ends of an error bar reach to both sides, in points.
pub(crate) const REACH: f64 = 2.0;

/// The outline of a mark: a polygon, or a star with as many points as it has corners.
struct Outline {
    corners: usize,
    /// Distance of the corners from the middle, in points. All marks cover about the same area.
    radius: f64,
    /// Direction of the first corner, counted from the right side downwards.
    turn: f64,
    is_star: bool,
}

/// The marks of curves, one for each dash: a circle, a square, a triangle, a diamond, a triangle that stands on its corner and a star.
const OUTLINES: [Outline; DASHES] = [
    polygon(24, 1.7, 0.0),
    polygon(4, 2.1, 0.5 * FRAC_PI_2),
    polygon(3, 2.5, -FRAC_PI_2),
    polygon(4, 2.3, 0.0),
    polygon(3, 2.5, FRAC_PI_2),
    Outline {
        is_star: true,
        ..polygon(5, 2.7, -FRAC_PI_2)
    },
];

/// A circle.
pub(crate) fn circle(middle: Place, radius: f64) -> Vec<Place> {
    // Nobody sees the corners of a small one.
    let corners = if radius < 1.5 { 12 } else { 24 };
    polygon(corners, radius, 0.0).around(middle)
}

const fn polygon(corners: usize, radius: f64, turn: f64) -> Outline {
    Outline {
        corners,
        radius,
        turn,
        is_star: false,
    }
}

impl Outline {
    /// Where its corners are if its middle is at `middle`. Between two points of a star lies a corner near the middle.
    fn around(&self, middle: Place) -> Vec<Place> {
        let (count, inner) = match self.is_star {
            true => (2 * self.corners, 0.45 * self.radius),
            false => (self.corners, self.radius),
        };
        let corner = |index: usize| {
            let angle = self.turn + TAU * index as f64 / count as f64;
            let radius = if index.is_multiple_of(2) {
                self.radius
            } else {
                inner
            };
            Place {
                x: middle.x + radius * angle.cos(),
                y: middle.y + radius * angle.sin(),
            }
        };
        (0..count).map(corner).collect()
    }
}

impl Figure {
    /// The marks and error bars of a curve that has some, or a single point, which has no line. On a logarithmic axis error bars go down to `lowest` at most.
    pub(crate) fn marks(
        &self,
        curve: &Curve,
        lowest: f64,
        place: &impl Fn(Point, f64) -> Place,
    ) -> Vec<Shape> {
        let look = ErrorBar {
            reach: REACH,
            colour: curve.style.colour(),
        };
        let points = curve.points.iter().filter(|point| self.holds(point));
        let is_alone = points.clone().count() == 1;
        let points = points.filter(|_| curve.is_marked || is_alone);
        let shapes = points.flat_map(|point| {
            let mut shapes = self.error_bar(*point, &look, lowest, place);
            shapes.push(mark(place(*point, point.y), curve.style));
            shapes
        });
        shapes.collect()
    }
}

/// The mark of curves of such a style.
pub(crate) fn mark(middle: Place, style: Style) -> Shape {
    Shape::Area(Area {
        corners: OUTLINES[style.mark()].around(middle),
        colour: style.colour(),
        opacity: 1.0,
    })
}
