//! Dots at whole numbers of two axes.

use crate::drawing::{Area, Frame, Place, Shape};
use crate::figure::Dot;
use crate::layout::{Ranges, across, height};
use crate::marks::circle;
use crate::style::Style;

/// How much of the space between two places the largest dot or bar takes.
const MOST: f64 = 0.95;
/// The least space for a dot from place to place, in points.
const LEAST: f64 = 2.5;

/// The shapes of `dots`: circles, or bars from place to place along the axis that has less room for each of its numbers.
pub(crate) fn shapes(dots: &[Dot], ranges: &Ranges, frame: Frame) -> Vec<Shape> {
    let wide = frame.width() / (ranges.x.high - ranges.x.low).abs();
    let high = frame.height() / (ranges.y.high - ranges.y.low).abs();
    let corners = |dot: &Dot, middle: Place| {
        if wide.min(high) >= LEAST {
            return circle(middle, 0.5 * MOST * wide.min(high) * dot.share.sqrt());
        }
        let long = MOST * dot.share;
        match wide < high {
            // From below to above, from the left to the right.
            true => {
                let foot = middle.y + 0.5 * MOST * high;
                rectangle([middle.x - 0.5 * wide, foot], [wide, -long * high])
            }
            false => {
                let start = middle.x - 0.5 * MOST * wide;
                rectangle([start, middle.y - 0.5 * high], [long * wide, high])
            }
        }
    };
    let shape = |dot: &Dot| {
        let middle = Place {
            x: across(&ranges.x, frame, dot.x as f64),
            y: height(&ranges.y, frame, dot.y as f64),
        };
        Shape::Area(Area {
            corners: corners(dot, middle),
            colour: Style::first().colour(),
            opacity: 1.0,
        })
    };
    let seen = dots.iter().filter(|dot| dot.share > 0.0);
    seen.map(shape).collect()
}

fn rectangle([x, y]: [f64; 2], [width, height]: [f64; 2]) -> Vec<Place> {
    let corners = [
        (x, y),
        (x + width, y),
        (x + width, y + height),
        (x, y + height),
    ];
    corners.map(|(x, y)| Place { x, y }).to_vec()
}
