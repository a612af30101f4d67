//! Shapes on a page. Lengths are points of 1/72 inch, from the upper left corner.

/// Millimetres in a point, which is 1/72 inch.
const POINT: f64 = 25.4 / 72.0;

/// Width and height in points of 1/72 inch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// From left to right.
    pub width: f64,
    /// From top to bottom.
    pub height: f64,
}

impl Size {
    /// The size of so many millimetres.
    pub fn millimetres(width: f64, height: f64) -> Self {
        Self {
            width: width / POINT,
            height: height / POINT,
        }
    }
}

/// A page and what is on it, ready to be written to a file.
#[derive(Clone, Debug)]
pub struct Drawing {
    pub(crate) size: Size,
    /// The later ones lie over the earlier ones.
    pub(crate) shapes: Vec<Shape>,
}

/// What can be drawn.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Line(Line),
    Area(Area),
    Text(Text),
    /// Shapes that show only inside of a frame.
    Clipped {
        frame: Frame,
        shapes: Vec<Shape>,
    },
}

/// A place on the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Colour(pub(crate) [u8; 3]);

impl Colour {
    pub(crate) const WHITE: Self = Self([255; 3]);
}

/// A line from place to place.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) places: Vec<Place>,
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    /// Lengths of dashes and gaps in turn; none for a solid line.
    pub(crate) dash: &'static [f64],
}

/// A filled polygon.
#[derive(Clone, Debug)]
pub(crate) struct Area {
    pub(crate) corners: Vec<Place>,
    pub(crate) colour: Colour,
    /// From 0, not seen, to 1.
    pub(crate) opacity: f64,
}

/// One line of text.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    /// On the baseline.
    pub(crate) at: Place,
    pub(crate) anchor: Anchor,
    /// Whether it is read from bottom to top.
    pub(crate) is_turned: bool,
    pub(crate) size: f64,
    pub(crate) colour: Colour,
    pub(crate) text: String,
}

/// Which part of a text lies at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    /// How much of the text lies before its place.
    pub(crate) fn share_before(self) -> f64 {
        match self {
            Self::Start => 0.0,
            Self::Middle => 0.5,
            Self::End => 1.0,
        }
    }
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    pub(crate) fn width(self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(self) -> f64 {
        self.bottom - self.top
    }
}
