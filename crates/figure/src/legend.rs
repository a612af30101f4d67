//! The legend below a figure.

use crate::drawing::{Anchor, Area, Colour, Line, Place, Shape, Text};
use crate::font;
use crate::marks::mark;
use crate::style::{Key, Legend, Style, Swatch};

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
    Key(Key, Swatch),
    /// What a label is too long for, below its beginning.
    Rest(String),
}

impl Item {
    /// Width, in heights of letters.
    fn width(&self) -> f64 {
        match self {
            Self::Title(title) => font::width(title),
            Self::Key(Key { label: text, .. }, _) | Self::Rest(text) => {
                SWATCH + GAP + font::width(text)
            }
        }
    }
}

impl Rows {
    /// Breaks the legends into rows of at most `width` points. Each legend starts a row, with its title.
    pub(crate) fn of(legends: &[Legend], width: f64, font_size: f64) -> Self {
        let width = width / font_size;
        let rows = legends.iter().flat_map(|legend| rows(legend, width));
        Self {
            rows: rows.collect(),
            font_size,
        }
    }

    /// Height in points.
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
            Item::Rest(rest) => vec![text(start.x + (SWATCH + GAP) * self.font_size, rest)],
            Item::Key(key, swatch) => {
                let mut shapes = self.swatch(key.style, *swatch, start);
                shapes.push(text(start.x + (SWATCH + GAP) * self.font_size, &key.label));
                shapes
            }
        }
    }

    fn swatch(&self, style: Style, swatch: Swatch, start: Place) -> Vec<Shape> {
        let end = start.x + SWATCH * self.font_size;
        if swatch == Swatch::Area {
            let top = start.y - 0.7 * self.font_size;
            let corners = [
                (start.x, start.y),
                (start.x, top),
                (end, top),
                (end, start.y),
            ];
            return vec![Shape::Area(Area {
                corners: corners.map(|(x, y)| Place { x, y }).to_vec(),
                colour: style.colour(),
                opacity: 1.0,
            })];
        }
        // At half the height of small letters.
        let y = start.y - 0.3 * self.font_size;
        let line = Shape::Line(Line {
            places: vec![Place { x: start.x, y }, Place { x: end, y }],
            colour: style.colour(),
            width: CURVE,
            dash: style.dash(),
        });
        let middle = Place {
            x: 0.5 * (start.x + end),
            y,
        };
        let marks = (swatch == Swatch::Marked).then(|| mark(middle, style));
        std::iter::once(line).chain(marks).collect()
    }
}

/// The rows of a legend. What is wider than `width`, in heights of letters, goes on in the next row.
fn rows(legend: &Legend, width: f64) -> Vec<Vec<Item>> {
    let title = format!("{}:", legend.title);
    let titles = lines(&title, width).into_iter();
    let mut rows: Vec<Vec<Item>> = titles.map(|line| vec![Item::Title(line)]).collect();
    let mut end = rows.last().map_or(0.0, |row| row[0].width());
    for key in &legend.keys {
        for (place, label) in lines(&key.label, width - SWATCH - GAP)
            .into_iter()
            .enumerate()
        {
            let style = key.style;
            let item = match place {
                0 => Item::Key(Key { label, style }, legend.swatch),
                _ => Item::Rest(label),
            };
            let needed = item.width();
            match rows.last_mut() {
                Some(row) if place == 0 && end + BETWEEN + needed <= width => {
                    end += BETWEEN + needed;
                    row.push(item);
                }
                _ => {
                    end = needed;
                    rows.push(vec![item]);
                }
            }
        }
    }
    rows
}

/// `text` in lines of at most `width` heights of letters, broken at spaces. A word that is longer than a line is broken behind `_` or `-`, or
/// anywhere.
pub(crate) fn lines(text: &str, width: f64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_inclusive(' ') {
        if !line.is_empty() && font::width(&line) + font::width(word.trim_end()) > width {
            lines.push(std::mem::take(&mut line));
        }
        for letter in word.chars() {
            let is_full = !line.is_empty() && letter != ' ';
            if is_full && font::width(&line) + font::width(&letter.to_string()) > width {
                let joint = line.rfind(['_', '-', '=']).map(|place| place + 1);
                let rest = line.split_off(joint.unwrap_or(line.len()));
                lines.push(std::mem::replace(&mut line, rest));
            }
            line.push(letter);
        }
    }
    lines.push(line);
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_at_spaces_and_long_words_anywhere() {
        let width = font::width("share=0.25");
        assert_eq!(
            lines("share=0.25 policy=a b", width),
            ["share=0.25", "policy=a b"]
        );
        assert_eq!(lines("share=0.25", width), ["share=0.25"]);
        let long = lines("abcdefgabcdefg x", font::width("abcdefg"));
        assert_eq!(long, ["abcdefg", "abcdefg", "x"]);
        let number = lines(
            "failures=[clients.share=0.25 a",
            font::width("failures=[clients.share=0.2"),
        );
        assert_eq!(number, ["failures=[clients.share=", "0.25 a"]);
        let joined = lines("base_graph degree=1", font::width("base_grap"));
        assert_eq!(joined, ["base_", "graph", "degree=1"]);
        assert_eq!(
            lines("random_matching", font::width("matching")),
            ["random_", "matching"]
        );
        assert_eq!(lines("ab", 0.0), ["a", "b"]);
        assert_eq!(lines("", width), [""]);
    }

    #[test]
    fn no_item_of_a_legend_is_wider_than_the_page() {
        let curves = ["ring", "share=0.2 policy=isolate work=uniform", "star"];
        let curves = curves.map(|value| vec![value.to_owned()]);
        let (legends, _) = Legend::of(&["stragglers".to_owned()], &curves);
        let rows = Rows::of(&legends, 100.0, 8.0);
        let width = |row: &Vec<Item>| {
            let items = row.iter().map(Item::width).sum::<f64>();
            8.0 * (items + BETWEEN * (row.len() - 1) as f64)
        };
        assert!(rows.rows.iter().all(|row| width(row) <= 100.0));
        assert_eq!(rows.height(), rows.rows.len() as f64 * ROW * 8.0);
        let is_rest = |item: &Item| matches!(item, Item::Rest(_));
        assert_eq!(
            rows.rows
                .iter()
                .flatten()
                .filter(|item| is_rest(item))
                .count(),
            2
        );
    }
}
