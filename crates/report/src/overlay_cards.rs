//! The overlays side by side, each with its figures and its clients' accuracies as colours.

use super::escape::html;
use super::group::Group;
use super::overlay_drawing::{self, Colouring};
use super::palette::{self, LEVELS};
use super::quantity_text::{bytes, count, lambda_range, mean, percent};
use meshfold_experiment::results::RowAccuracy;
use meshfold_topology::Overlay;
use std::fmt::Write;

/// Edges that all cards of a page may draw together.
const EDGES: usize = 20_000;

/// Cards for groups with their overlays, and the scale of the colours.
pub(super) fn section(groups: &[Group<'_>], overlays: &[Option<Overlay>]) -> String {
    let range = range(groups, overlays);
    let most_edges = (EDGES / groups.len().max(1)).clamp(1500, 5000);
    let mut section = String::from("<div class=\"cards\">");
    for (index, (group, overlay)) in groups.iter().zip(overlays).enumerate() {
        section.push_str(&card(
            index,
            group,
            overlay.as_ref(),
            Picture { range, most_edges },
        ));
    }
    section.push_str("</div>");
    if let Some((low, high)) = range {
        section.push_str(&scale(low, high));
    }
    section
}

/// What the pictures of a page have in common.
#[derive(Clone, Copy)]
struct Picture {
    /// Accuracies of the lowest and the highest colour.
    range: Option<(f64, f64)>,
    most_edges: usize,
}

fn card(index: usize, group: &Group<'_>, overlay: Option<&Overlay>, picture: Picture) -> String {
    let accuracy = group.final_accuracy();
    let mut card = format!(
        "<article class=\"card\" style=\"--series:var(--series-{})\"><h3>{}</h3>",
        palette::series(index),
        html(&group.label)
    );
    match overlay {
        Some(overlay) => {
            let accuracies = node_accuracies(group, overlay);
            let colouring = Colouring {
                accuracies,
                range: picture.range.unwrap_or((0.0, 1.0)),
            };
            let topology = group.first().settings.topology();
            card.push_str(&overlay_drawing::svg(
                overlay,
                topology.as_ref(),
                colouring,
                picture.most_edges,
            ));
        }
        None => card.push_str("<p class=\"no-overlay\">no overlay</p>"),
    }
    card.push_str("<div class=\"figures\">");
    if accuracy.mean.is_some() {
        let (low, high) = (percent(accuracy.min), percent(accuracy.max));
        let range = match low == high {
            true => "every model alike".to_owned(),
            false => format!("models from {low} to {high}"),
        };
        let mean = percent(accuracy.mean);
        add(
            &mut card,
            format_args!("<p class=\"accuracy\">{mean}</p><p class=\"range\">{range}</p>"),
        );
    }
    card.push_str("<dl>");
    if group.lambda().is_some() {
        add(
            &mut card,
            format_args!("<dt>λ</dt><dd>{}</dd>", lambda_range(group.lambda())),
        );
    }
    if let Some(summary) = &group.first().overlay_summary {
        let degree = &summary.degree;
        let spread = if degree.min == degree.max {
            String::new()
        } else {
            format!(" ({} to {})", degree.min, degree.max)
        };
        add(
            &mut card,
            format_args!("<dt>degree</dt><dd>{}{spread}</dd>", mean(degree.mean)),
        );
        add(
            &mut card,
            format_args!("<dt>edges</dt><dd>{}</dd>", count(summary.edges)),
        );
    }
    add(
        &mut card,
        format_args!(
            "<dt>traffic</dt><dd>{}</dd></dl>",
            bytes(group.final_figure(|last| last.bytes_total))
        ),
    );
    if let Some(note) = note(group, overlay, picture.most_edges) {
        add(
            &mut card,
            format_args!("<p class=\"note\">{}</p>", html(&note)),
        );
    }
    card.push_str("</div></article>");
    card
}

fn add(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.write_fmt(more).expect("a String takes any text");
}

/// What the picture does not show.
fn note(group: &Group<'_>, overlay: Option<&Overlay>, most_edges: usize) -> Option<String> {
    let mut notes = Vec::new();
    let edges = overlay?.edge_count();
    if edges > most_edges {
        notes.push(format!(
            "about {} of {} edges are drawn",
            count(most_edges),
            count(edges)
        ));
    }
    if group.runs.len() > 1 {
        let seed = group
            .first()
            .settings
            .seed()
            .map_or_else(String::new, |seed| format!(" of seed {seed}"));
        notes.push(format!(
            "the picture is{seed}; accuracies are over {}",
            group.seeds()
        ));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The accuracies of a group's first run, if its rows are the overlay's nodes.
fn node_accuracies<'a>(group: &Group<'a>, overlay: &Overlay) -> &'a [RowAccuracy] {
    let accuracies = &group.first().final_accuracies;
    let are_nodes = accuracies.len() > 1
        && accuracies
            .last()
            .is_some_and(|last| last.row < overlay.nodes());
    if are_nodes { accuracies } else { &[] }
}

fn range(groups: &[Group<'_>], overlays: &[Option<Overlay>]) -> Option<(f64, f64)> {
    let drawn = groups
        .iter()
        .zip(overlays)
        .filter_map(|(group, overlay)| Some((group, overlay.as_ref()?)));
    let all: Vec<f64> = drawn
        .flat_map(|(group, overlay)| node_accuracies(group, overlay))
        .map(|row| row.accuracy)
        .collect();
    Some((
        all.iter().copied().reduce(f64::min)?,
        all.iter().copied().reduce(f64::max)?,
    ))
}

fn scale(low: f64, high: f64) -> String {
    let mut scale = format!(
        "<p class=\"scale\"><span>each node is coloured by its final test accuracy</span><span>{}</span>",
        percent(Some(low))
    );
    scale.push_str("<span class=\"steps\" aria-hidden=\"true\">");
    for level in 0..LEVELS {
        add(
            &mut scale,
            format_args!("<i style=\"background:var(--level-{level})\"></i>"),
        );
    }
    add(
        &mut scale,
        format_args!("</span><span>{}</span></p>", percent(Some(high))),
    );
    scale
}
