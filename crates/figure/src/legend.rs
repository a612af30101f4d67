//! The legend below a figure.

use crate::drawing::{Anchor, Colour, Line, Place, Shape, Text};
use crate::font;
use crate::style::{Key, Legend};

/// Width of a curve in points.
pub(crate) const CURVE: f64 = 1.2;
/// Lengths in heights of letters.
const SWATCH: f64 = 2.6;
const GAP: f64 = 0.5;
const BETWEEN: f64 = 1.4;
const ROW: f64 = 1.35;

/// A legend laid out in rows.
pub(crate) struct Rows {
    rows: Vec<Vec<Item>>,
    font_size: f64,
}

/// A part of a row.
enum Item {
    Title(String),
    Key(Key),
}

impl Item {
    /// In heights of letters.
    fn width(&self) -> f64 {
        match self {
            Self::Title(title) => font::width(title),
            Self::Key(key) => SWATCH + GAP + font::width(&key.label),
        }
    }
}

impl Rows {
    /// Breaks the legends into rows of at most `width` points. Each legend starts a row, with its title.
    pub(crate) fn of(legends: &[Legend], width: f64, font_size: f64) -> Self {
        let width = width / font_size;
        let mut rows = Vec::new();
        for legend in legends {
            let title = Item::Title(format!("{}:", legend.title.replace('_', " ")));
            let mut end = title.width();
            let mut row = vec![title];
            for key in &legend.keys {
                let key = Item::Key(key.clone());
                let needed = BETWEEN + key.width();
                if end + needed > width && !row.is_empty() {
                    rows.push(std::mem::take(&mut row));
                    end = -BETWEEN;
                }
                end += needed;
                row.push(key);
            }
            rows.push(row);
        }
        Self { rows, font_size }
    }

    /// In points.
    pub(crate) fn height(&self) -> f64 {
        self.rows.len() as f64 * ROW * self.font_size
    }

    /// The shapes, from `corner` to the right and down.
    pub(crate) fn shapes(&self, corner: Place, ink: Colour) -> Vec<Shape> {
        let mut shapes = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let baseline = corner.y + (index as f64 * ROW + 1.0) * self.font_size;
            let mut x = corner.x;
            for item in row {
                let start = Place { x, y: baseline };
                shapes.extend(self.item(item, start, ink));
                x += (item.width() + BETWEEN) * self.font_size;
            }
        }
        shapes
    }

    fn item(&self, item: &Item, start: Place, ink: Colour) -> Vec<Shape> {
        let text = |x, text: &str| {
            Shape::Text(Text {
                at: Place { x, y: start.y },
                anchor: Anchor::Start,
                is_turned: false,
                size: self.font_size,
                colour: ink,
                text: text.to_owned(),
            })
        };
        match item {
            Item::Title(title) => vec![text(start.x, title)],
            Item::Key(key) => {
                // At half the height of small letters.
                let y = start.y - 0.3 * self.font_size;
                let end = start.x + SWATCH * self.font_size;
                let swatch = Shape::Line(Line {
                    places: vec![Place { x: start.x, y }, Place { x: end, y }],
                    colour: key.style.colour(),
                    width: CURVE,
                    dash: key.style.dash(),
                });
                vec![swatch, text(end + GAP * self.font_size, &key.label)]
            }
        }
    }
}
