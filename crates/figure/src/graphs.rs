//! Graphs: nodes and the links between them, without axes.

use crate::drawing::{Anchor, Area, Colour, Drawing, Line, Place, Shape, Size, Text};
use crate::layout::{EDGE, INK, ground};
use crate::marks::circle;
use crate::panels::{BELOW_TITLE, LINE, columns, part, titles_in_lines};
use crate::style::Style;

/// Space between two panels, in heights of letters.
const BETWEEN: f64 = 1.5;
/// The least and the largest radius of a node, in points.
const RADII: [f64; 2] = [0.7, 5.0];
/// The radius as a share of the distance to the nearest node, which is measured for so many nodes at most.
const SHARE: f64 = 0.38;
const MEASURED: usize = 2000;
/// Length and width of the head of an arrow, in radii of a node, and the longest in points.
const HEAD: [f64; 2] = [1.8, 1.3];
const LONGEST_HEAD: f64 = 4.0;

/// Graphs side by side.
#[derive(Clone, Debug)]
pub struct GraphFigure {
    /// Width of the page in points of 1/72 inch. Each graph has a square, and so the width decides the height.
    pub width: f64,
    /// Height of the letters in points.
    pub font_size: f64,
    /// From left to right and from top to bottom.
    pub panels: Vec<Graph>,
}

/// Nodes and links.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What is written above; nothing if it is empty.
    pub title: String,
    /// Where each node is in the square from -1 to 1, to the right and downwards.
    pub places: Vec<[f64; 2]>,
    /// Which nodes are linked, or who sends to whom.
    pub links: Vec<(u32, u32)>,
    /// Whether links have a direction, which is drawn as an arrow.
    pub is_directed: bool,
    /// The group of each node, which has a colour; all nodes have the same if it is empty.
    pub groups: Vec<usize>,
}

impl GraphFigure {
    /// The page with the graphs on it.
    pub fn drawing(&self) -> Drawing {
        let (count, letters) = (self.panels.len(), self.font_size);
        let columns = columns(count, self.width, letters);
        let between = BETWEEN * letters;
        let side = part(self.width - 2.0 * EDGE, columns, between);
        let titles = self.panels.iter().map(|panel| panel.title.as_str());
        let (titles, above) = titles_in_lines(titles, side, letters);
        let rows = count.div_ceil(columns);
        let size = Size {
            width: self.width,
            height: 2.0 * EDGE + part_of(rows, side + above, between),
        };
        let mut shapes = vec![ground(size)];
        for (place, (panel, title)) in self.panels.iter().zip(titles).enumerate() {
            let (row, column) = (place / columns, place % columns);
            let middle = Place {
                x: EDGE + column as f64 * (side + between) + 0.5 * side,
                y: EDGE + row as f64 * (side + above + between) + above + 0.5 * side,
            };
            let top = middle.y - 0.5 * side;
            for (lines, line) in title.into_iter().rev().enumerate() {
                let y = top - (BELOW_TITLE + lines as f64 * LINE) * letters;
                shapes.push(self.text(line, Place { x: middle.x, y }));
            }
            shapes.extend(panel.shapes(middle, side));
        }
        Drawing { size, shapes }
    }

    fn text(&self, text: String, at: Place) -> Shape {
        Shape::Text(Text {
            at,
            anchor: Anchor::Middle,
            is_turned: false,
            size: self.font_size,
            colour: INK,
            text,
        })
    }
}

/// The length of `count` parts with `between` between two.
fn part_of(count: usize, one: f64, between: f64) -> f64 {
    count as f64 * one + count.saturating_sub(1) as f64 * between
}

impl Graph {
    /// The links, and above them the nodes, in a square of `side` around `middle`.
    fn shapes(&self, middle: Place, side: f64) -> Vec<Shape> {
        let radius = self.radius(0.5 * side);
        let half = 0.5 * side - radius;
        let places: Vec<Place> = self
            .places
            .iter()
            .map(|[x, y]| Place {
                x: middle.x + half * x,
                y: middle.y + half * y,
            })
            .collect();
        let ends = |&(from, to): &(u32, u32)| [places[from as usize], places[to as usize]];
        let links: Vec<[Place; 2]> = self.links.iter().map(ends).collect();
        let (width, colour) = look(&links, half);
        let mut shapes: Vec<Shape> = links
            .iter()
            .map(|ends| {
                Shape::Line(Line {
                    places: ends.to_vec(),
                    colour,
                    width,
                    dash: &[],
                })
            })
            .collect();
        if self.is_directed {
            shapes.extend(links.iter().filter_map(|ends| head(*ends, radius, colour)));
        }
        shapes.extend(places.iter().enumerate().map(|(node, place)| {
            let group = self.groups.get(node).copied().unwrap_or(0);
            Shape::Area(Area {
                corners: circle(*place, radius),
                colour: Style::of_group(group).colour(),
                opacity: 1.0,
            })
        }));
        shapes
    }

    /// Radius of the nodes: as large as most of them have room for. A square has `half` of its side on either side of its middle.
    fn radius(&self, half: f64) -> f64 {
        let nearest = |node: &[f64; 2]| {
            let distance = |other: &[f64; 2]| (node[0] - other[0]).hypot(node[1] - other[1]);
            let others = self.places.iter().filter(|other| *other != node);
            others.map(distance).fold(f64::INFINITY, f64::min)
        };
        let mut distances: Vec<f64> = self.places.iter().take(MEASURED).map(nearest).collect();
        distances.sort_by(f64::total_cmp);
        let usual = distances.get(distances.len() / 4).copied();
        (SHARE * half * usual.unwrap_or(f64::INFINITY)).clamp(RADII[0], RADII[1])
    }
}

/// Width and colour of links: finer the more there are, fainter the more of the picture they cover.
fn look(links: &[[Place; 2]], half: f64) -> (f64, Colour) {
    let length = |[from, to]: &[Place; 2]| (to.x - from.x).hypot(to.y - from.y) / half;
    let total: f64 = links.iter().map(length).sum();
    let width = match links.len() {
        0..=150 => 0.7,
        151..=600 => 0.5,
        _ => 0.3,
    };
    let share = (0.8 * (250.0 / total.max(1e-9)).powf(0.6)).clamp(0.15, 0.65);
    let grey = 255.0 - share * 215.0;
    (width, Colour([grey.round() as u8; 3]))
}

/// The head of an arrow, at the rim of the node where it ends; none where there is no room between the nodes.
fn head([from, to]: [Place; 2], radius: f64, colour: Colour) -> Option<Shape> {
    let length = (to.x - from.x).hypot(to.y - from.y);
    let long = (HEAD[0] * radius).min(LONGEST_HEAD);
    if length < 2.0 * radius + long {
        return None;
    }
    let along = [(to.x - from.x) / length, (to.y - from.y) / length];
    let half = 0.5 * long * HEAD[1] / HEAD[0];
    let place = |back: f64, beside: f64| Place {
        x: to.x - back * along[0] - beside * along[1],
        y: to.y - back * along[1] + beside * along[0],
    };
    Some(Shape::Area(Area {
        corners: vec![
            place(radius, 0.0),
            place(radius + long, half),
            place(radius + long, -half),
        ],
        colour,
        opacity: 1.0,
    }))
}
