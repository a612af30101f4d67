//! Drawings as SVG.

use svg::node::element::{
    ClipPath, Definitions, Group, Polygon, Polyline, Rectangle, Text as Element,
};
use svg::{Document, Node};

use crate::drawing::{Anchor, Area, Colour, Drawing, Frame, Line, Place, Shape, Text};
use crate::font;

impl Drawing {
    /// An SVG whose texts stay texts, in Roboto where it is installed.
    pub fn svg(&self) -> String {
        let (width, height) = (self.size.width, self.size.height);
        let mut document = Document::new()
            .set("width", format!("{}pt", rounded(width)))
            .set("height", format!("{}pt", rounded(height)))
            .set("viewBox", (0, 0, rounded(width), rounded(height)))
            .set("font-family", font::FAMILY);
        let mut frames = 0;
        for shape in &self.shapes {
            append(&mut document, shape, &mut frames);
        }
        format!("{document}\n")
    }
}

/// Appends a shape. `frames` counts the frames so far, which go by their numbers.
fn append(parent: &mut impl Node, shape: &Shape, frames: &mut usize) {
    match shape {
        Shape::Line(line) => parent.append(polyline(line)),
        Shape::Area(area) => parent.append(polygon(area)),
        Shape::Text(text) => parent.append(element(text)),
        Shape::Clipped { frame, shapes } => {
            *frames += 1;
            let id = format!("frame{frames}");
            parent.append(Definitions::new().add(clip(*frame, &id)));
            let mut group = Group::new().set("clip-path", format!("url(#{id})"));
            for shape in shapes {
                append(&mut group, shape, frames);
            }
            parent.append(group);
        }
    }
}

fn clip(frame: Frame, id: &str) -> ClipPath {
    let rectangle = Rectangle::new()
        .set("x", rounded(frame.left))
        .set("y", rounded(frame.top))
        .set("width", rounded(frame.width()))
        .set("height", rounded(frame.height()));
    ClipPath::new().set("id", id).add(rectangle)
}

fn polyline(line: &Line) -> Polyline {
    let polyline = Polyline::new()
        .set("points", points(&line.places))
        .set("fill", "none")
        .set("stroke", hexadecimal(line.colour))
        .set("stroke-width", rounded(line.width))
        .set("stroke-linejoin", "round");
    match line.dash {
        [] => polyline,
        dash => polyline.set("stroke-dasharray", dash.to_vec()),
    }
}

fn polygon(area: &Area) -> Polygon {
    let polygon = Polygon::new()
        .set("points", points(&area.corners))
        .set("fill", hexadecimal(area.colour));
    match area.opacity < 1.0 {
        true => polygon.set("fill-opacity", area.opacity),
        false => polygon,
    }
}

fn element(text: &Text) -> Element {
    let (x, y) = (rounded(text.at.x), rounded(text.at.y));
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    // XML has no control characters.
    let words = text.text.replace(char::is_control, " ");
    let element = Element::new(words)
        .set("x", x)
        .set("y", y)
        .set("font-size", rounded(text.size))
        .set("fill", hexadecimal(text.colour))
        .set("text-anchor", anchor);
    match text.is_turned {
        true => element.set("transform", format!("rotate(-90 {x} {y})")),
        false => element,
    }
}

fn points(places: &[Place]) -> String {
    let points = places
        .iter()
        .map(|place| format!("{},{}", rounded(place.x), rounded(place.y)));
    points.collect::<Vec<_>>().join(" ")
}

fn hexadecimal(Colour([red, green, blue]): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// `length` rounded to a hundredth of a point.
fn rounded(length: f64) -> f64 {
    (100.0 * length).round() / 100.0
}
