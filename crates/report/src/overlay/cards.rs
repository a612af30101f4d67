//! The overlays side by side, each with its figures and its clients' accuracies as colours.

use super::drawing::{self, Colouring};
use crate::document::palette::{self, LEVELS};
use crate::document::quantity_text::{bytes, count, figure, lambda_range, mean, percent};
use crate::runs::group::Group;
use maud::{Markup, PreEscaped, html};
use meshfold_experiment::results::RowAccuracy;
use meshfold_topology::Overlay;

/// Edges that all cards of a page may draw together.
const EDGES: usize = 20_000;

/// From here on the gap 1 − λ says more than λ.
const NEAR_ONE: f64 = 0.99;

/// Cards for groups with their overlays, and the scale of the colours.
pub(crate) fn section(groups: &[Group<'_>], overlays: &[Option<Overlay>]) -> Markup {
    let range = range(groups, overlays);
    let most_edges = (EDGES / groups.len().max(1)).clamp(1500, 5000);
    let picture = Picture { range, most_edges };
    html! {
        div class="cards" {
            @for (index, (group, overlay)) in groups.iter().zip(overlays).enumerate() {
                (card(index, group, overlay.as_ref(), picture))
            }
        }
        @if let Some((low, high)) = range { (scale(low, high)) }
    }
}

/// What the pictures of a page have in common.
#[derive(Clone, Copy)]
struct Picture {
    /// Accuracies of the lowest and the highest colour.
    range: Option<(f64, f64)>,
    most_edges: usize,
}

fn card(index: usize, group: &Group<'_>, overlay: Option<&Overlay>, picture: Picture) -> Markup {
    html! {
        article class="card" style={ "--series:" (palette::of_group(index)) } {
            h3 { (group.label) }
            @match overlay {
                Some(overlay) => { (drawing(group, overlay, picture)) }
                None => { p class="no-overlay" { "no overlay" } }
            }
            div class="figures" {
                (figures(group))
                @if let Some(note) = note(group, overlay, picture.most_edges) { p class="note" { (note) } }
            }
        }
    }
}

fn drawing(group: &Group<'_>, overlay: &Overlay, picture: Picture) -> Markup {
    let colouring = Colouring {
        accuracies: node_accuracies(group, overlay),
        range: picture.range.unwrap_or((0.0, 1.0)),
    };
    let topology = group.first().settings.topology();
    // The drawing is made of numbers alone.
    PreEscaped(drawing::svg(
        overlay,
        topology.as_ref(),
        colouring,
        picture.most_edges,
    ))
}

fn figures(group: &Group<'_>) -> Markup {
    let accuracy = group.final_accuracy();
    let (low, high) = (percent(accuracy.min), percent(accuracy.max));
    let range = match low == high {
        true => "every model alike".to_owned(),
        false => format!("models from {low} to {high}"),
    };
    html! {
        @if accuracy.mean.is_some() {
            p class="accuracy" { (percent(accuracy.mean)) }
            p class="range" { (range) }
        }
        dl {
            @if let Some((_, high)) = group.lambda() {
                dt { "λ" }
                dd { (lambda_range(group.lambda())) }
                @if (NEAR_ONE..1.0).contains(&high) { dt { "1 − λ" } dd { (figure(Some(1.0 - high))) } }
            }
            @if let Some(summary) = &group.first().overlay_summary {
                dt { "degree" }
                dd {
                    (mean(summary.degree.mean))
                    @if summary.degree.min != summary.degree.max {
                        " (" (summary.degree.min) " to " (summary.degree.max) ")"
                    }
                }
                dt { "edges" }
                dd { (count(summary.edges)) }
            }
            dt { "traffic" }
            dd { (bytes(group.final_figure(|last| last.bytes_total))) }
        }
    }
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

fn scale(low: f64, high: f64) -> Markup {
    html! {
        p class="scale" {
            span { "each node is coloured by its final test accuracy" }
            span { (percent(Some(low))) }
            span class="steps" aria-hidden="true" {
                @for level in 0..LEVELS { i style={ "background:var(--level-" (level) ")" } {} }
            }
            span { (percent(Some(high))) }
        }
    }
}
