//! What a figure shows.

use crate::axis::Axis;
use crate::drawing::Size;
use crate::style::{Legend, Style};

/// Curves over two axes.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Width and height of the page.
    pub size: Size,
    /// Height of the letters in points of 1/72 inch.
    pub font_size: f64,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What colours and dashes stand for; nothing is written if it is empty.
    pub legend: Vec<Legend>,
    /// The later ones are drawn over the earlier ones.
    pub curves: Vec<Curve>,
}

/// A line through points, with a band around it.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its colour and dash.
    pub style: Style,
    /// Ascending by `x`. What is not finite, or not above 0 on a logarithmic axis, is not drawn.
    pub points: Vec<Point>,
}

/// A place on a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where on the horizontal axis.
    pub x: f64,
    /// Where on the vertical axis.
    pub y: f64,
    /// Lower end of the band; `y` where there is none.
    pub low: f64,
    /// Upper end of the band; `y` where there is none.
    pub high: f64,
}
