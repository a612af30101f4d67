//! An overlay as a small SVG picture.

use crate::document::palette;
use crate::document::quantity_text::percent;
use meshfold_experiment::results::RowAccuracy;
use meshfold_topology::picture::{self, sampled_edges};
use meshfold_topology::{Overlay, Topology};
use std::fmt::Write;

/// Up to this many nodes each says who it is when pointed at.
const NAMED_NODES: usize = 250;

/// Up to this many a click finds the nearest.
const POINTED_NODES: usize = 5000;

/// Half of the picture's side, in its own units.
const HALF: f64 = 500.0;

/// The accuracies that nodes are coloured by and the range of the colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colouring<'a> {
    /// One per node and ascending, or none.
    pub(crate) accuracies: &'a [RowAccuracy],
    /// Accuracies of the lowest and the highest colour.
    pub(crate) range: (f64, f64),
}

impl Colouring<'_> {
    fn accuracy(&self, node: usize) -> Option<f64> {
        let found = self
            .accuracies
            .binary_search_by_key(&node, |row| row.row)
            .ok()?;
        Some(self.accuracies[found].accuracy)
    }
}

/// The overlay as an `svg` element, its nodes coloured by accuracy; nodes without one stay empty.
///
/// Of more than `most_edges` edges a sample is drawn. All colours are classes of the page's style sheet, so the picture
/// follows its theme. `used_by` lists the groups that use the overlay.
pub(crate) fn svg(
    overlay: &Overlay,
    topology: Option<&Topology>,
    colouring: Colouring<'_>,
    most_edges: usize,
    used_by: &str,
) -> String {
    let places: Vec<[i32; 2]> = picture::places(overlay, topology)
        .into_iter()
        .map(|[x, y]| [(HALF * x).round() as i32, (HALF * y).round() as i32])
        .collect();
    let nodes = overlay.nodes();
    let radius = radius(&places);
    let frame = HALF + radius + 6.0;
    let edges: Vec<_> = sampled_edges(overlay, most_edges)
        .map(|(a, b)| (places[a as usize], places[b as usize]))
        .collect();
    let (width, opacity) = edge_stroke(&edges);
    let mut svg = format!(
        "<svg class=\"overlay\"{} viewBox=\"{:.0} {:.0} {:.0} {:.0}\" role=\"img\" \
         aria-label=\"{nodes} nodes and {} edges\">",
        identity(&places, used_by),
        -frame,
        -frame,
        2.0 * frame,
        2.0 * frame,
        overlay.edge_count(),
    );
    let mut add =
        |text: std::fmt::Arguments<'_>| svg.write_fmt(text).expect("a String takes any text");
    add(format_args!(
        "<path class=\"edges\" stroke-width=\"{width}\" stroke-opacity=\"{opacity}\" d=\""
    ));
    for ([x, y], [u, v]) in edges {
        add(format_args!("M{x} {y}L{u} {v}"));
    }
    add(format_args!("\"/>"));
    if nodes <= NAMED_NODES {
        for (node, [x, y]) in places.iter().enumerate() {
            let accuracy = colouring.accuracy(node);
            let class = class(accuracy, colouring.range);
            let neighbours = overlay.degree(node);
            add(format_args!(
                "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius:.0}\">"
            ));
            add(format_args!(
                "<title>node {node}: {neighbours} neighbours, {}</title></circle>",
                percent(accuracy)
            ));
        }
    } else {
        for (class, dots) in dots_by_class(&places, colouring) {
            add(format_args!(
                "<path class=\"dots {class}\" stroke-width=\"{:.0}\" d=\"{dots}\"/>",
                2.0 * radius
            ));
        }
    }
    svg.push_str("</svg>");
    svg
}

/// Attributes by which the page's script finds the node that a reader points at: the groups, and the nodes' places
/// where nodes are not elements.
fn identity(places: &[[i32; 2]], used_by: &str) -> String {
    let mut text = format!(" data-groups=\"{used_by}\"");
    if places.len() > NAMED_NODES && places.len() <= POINTED_NODES {
        let places: Vec<String> = places.iter().map(|[x, y]| format!("{x},{y}")).collect();
        write!(text, " data-places=\"{}\"", places.join(" ")).expect("a String takes any text");
    }
    text
}

/// Radius of the nodes: as large as a circle, or the whole square, has room for.
fn radius(places: &[[i32; 2]]) -> f64 {
    let nodes = places.len() as f64;
    let on_rim = places
        .iter()
        .all(|[x, y]| f64::from(*x).hypot(f64::from(*y)) > 0.98 * HALF);
    let spacing = if on_rim {
        std::f64::consts::TAU * HALF / nodes
    } else {
        2.0 * HALF / nodes.sqrt()
    };
    (if on_rim { 0.38 } else { 0.24 } * spacing).clamp(5.0, 32.0)
}

/// Width and opacity of edges: finer the more there are, fainter the more of the picture they cover.
fn edge_stroke(edges: &[([i32; 2], [i32; 2])]) -> (f64, f64) {
    let length =
        |([x, y], [u, v]): &([i32; 2], [i32; 2])| f64::from(u - x).hypot(f64::from(v - y)) / HALF;
    let total: f64 = edges.iter().map(length).sum();
    let width = match edges.len() {
        0..=150 => 4.0,
        151..=600 => 3.0,
        _ => 2.0,
    };
    let opacity = 0.8 * (250.0 / total.max(1e-9)).powf(0.6);
    (width, (100.0 * opacity.clamp(0.08, 0.75)).round() / 100.0)
}

fn class(accuracy: Option<f64>, range: (f64, f64)) -> String {
    match accuracy {
        Some(accuracy) => format!("level-{}", palette::level(accuracy, range.0, range.1)),
        None => "unknown".to_owned(),
    }
}

/// The path of the dots of every class: a line of no length with round ends is a dot of few characters.
fn dots_by_class(places: &[[i32; 2]], colouring: Colouring<'_>) -> Vec<(String, String)> {
    let mut classes: Vec<(String, String)> = Vec::new();
    for (node, [x, y]) in places.iter().enumerate() {
        let class = class(colouring.accuracy(node), colouring.range);
        let dot = format!("M{x} {y}h0");
        match classes.iter_mut().find(|(other, _)| *other == class) {
            Some((_, dots)) => dots.push_str(&dot),
            None => classes.push((class, dot)),
        }
    }
    // The worst are drawn last, above the others.
    classes.sort_by(|(a, _), (b, _)| b.cmp(a));
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(nodes: u32) -> Overlay {
        Overlay::from_edges(
            nodes as usize,
            (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))),
        )
        .unwrap()
    }

    #[test]
    fn nodes_are_coloured_by_their_accuracy() {
        let accuracies = [
            RowAccuracy {
                row: 0,
                accuracy: 0.5,
            },
            RowAccuracy {
                row: 2,
                accuracy: 0.9,
            },
        ];
        let colouring = Colouring {
            accuracies: &accuracies,
            range: (0.5, 0.9),
        };
        let picture = svg(&complete(3), None, colouring, 5000, "0");
        assert!(picture.contains("<circle class=\"level-0\""), "{picture}");
        assert!(picture.contains("class=\"unknown\"") && picture.contains("class=\"level-8\""));
        assert!(picture.contains("<title>node 2: 2 neighbours, 90.0\u{a0}%</title>"));
    }

    #[test]
    fn a_thousand_nodes_stay_light() {
        let colouring = Colouring {
            accuracies: &[],
            range: (0.0, 1.0),
        };
        assert!(svg(&complete(1000), None, colouring, 5000, "0").len() < 120_000);
    }
}
