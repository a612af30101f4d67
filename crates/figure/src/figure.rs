//! What a figure shows.

use crate::axis::Axis;
use crate::drawing::Size;
use crate::style::{Legend, Style};

/// Panels of curves or bars over the same two axes.
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
    /// Side by side, from left to right and from top to bottom.
    pub panels: Vec<Panel>,
}

/// A part of a figure with curves and bars of its own.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// What its curves have in common; nothing is written if it is empty.
    pub title: String,
    /// The later ones are drawn over the earlier ones.
    pub curves: Vec<Curve>,
    /// Those of a linear axis begin at 0.
    pub bars: Vec<Bar>,
    /// At whole numbers of both axes.
    pub dots: Vec<Dot>,
}

impl Panel {
    /// All curves of a figure in one panel.
    pub fn whole(curves: Vec<Curve>) -> Self {
        Self {
            title: String::new(),
            curves,
            ..Self::default()
        }
    }
}

/// A line through points, with a band around it.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its colour and dash.
    pub style: Style,
    /// Whether each point has a mark, and an error bar from `low` to `high` in place of the band.
    pub is_marked: bool,
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

/// A dot whose area says how much is there. Where dots of neighbouring places would be too small to be seen, bars are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Where on the horizontal axis, a whole number.
    pub x: usize,
    /// Where on the vertical axis, a whole number.
    pub y: usize,
    /// How much, as a share of the most that a dot may stand for: 0 to 1.
    pub share: f64,
}

/// A bar, with an error bar at its end.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// Its colour.
    pub style: Style,
    /// The middle of its end; the error bar goes from `low` to `high`.
    pub end: Point,
    /// From side to side, on the horizontal axis.
    pub width: f64,
}
