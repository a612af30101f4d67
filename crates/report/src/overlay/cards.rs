//! The overlays side by side, each with its figures and its clients' accuracies as colours.

use super::drawing::{self, Colouring};
use super::shared::SharedOverlay;
use crate::document::palette::{self, LEVELS};
use crate::document::quantity_text::{bytes, count, figure, mean, percent};
use crate::document::swatch;
use crate::runs::group::Group;
use maud::{Markup, PreEscaped, html};
use meshfold_experiment::results::RowAccuracy;
use meshfold_topology::Overlay;
use std::collections::BTreeMap;

/// Edges that all cards of a page may draw together.
const EDGES: usize = 20_000;

/// From here on the gap 1 − λ says more than λ.
const NEAR_ONE: f64 = 0.99;

/// Cards for overlays with the groups that use them, and the scale of the colours.
pub(crate) fn section(shared: &[SharedOverlay<'_>]) -> Markup {
    let accuracies: Vec<Vec<RowAccuracy>> = shared.iter().map(node_accuracies).collect();
    let range = range(&accuracies);
    let most_edges = (EDGES / shared.len().max(1)).clamp(1500, 5000);
    html! {
        div class="cards" {
            @for (shared, accuracies) in shared.iter().zip(&accuracies) {
                @let picture = Picture { accuracies, range: range.unwrap_or((0.0, 1.0)), most_edges };
                (card(shared, picture))
            }
        }
        @if let Some((low, high)) = range { (scale(low, high)) }
    }
}

/// What a picture shows besides its overlay.
#[derive(Clone, Copy)]
struct Picture<'a> {
    /// Of the nodes, ascending.
    accuracies: &'a [RowAccuracy],
    /// Accuracies of the lowest and the highest colour on the page.
    range: (f64, f64),
    most_edges: usize,
}

fn card(shared: &SharedOverlay<'_>, picture: Picture<'_>) -> Markup {
    let (index, group) = shared.groups[0];
    html! {
        article class="card" style={ "--series:" (palette::of_group(index)) } {
            h3 { (shared.name()) }
            @match &shared.overlay {
                Some(overlay) => { (drawing(shared, overlay, picture)) }
                None => { p class="no-overlay" { "no overlay" } }
            }
            div class="figures" {
                @if shared.groups.len() == 1 { (reached(group)) }
                (figures(group))
                @if shared.groups.len() > 1 { (users(shared)) }
                @if let Some(note) = note(shared, picture.most_edges) { p class="note" { (note) } }
            }
        }
    }
}

/// The groups that use an overlay, each with its accuracy.
fn users(shared: &SharedOverlay<'_>) -> Markup {
    html! {
        ul class="users" {
            @for (index, group) in &shared.groups {
                li { (swatch(*index)) (group.label) " " small { (percent(group.final_accuracy().mean)) } }
            }
        }
    }
}

fn drawing(shared: &SharedOverlay<'_>, overlay: &Overlay, picture: Picture<'_>) -> Markup {
    let colouring = Colouring {
        accuracies: picture.accuracies,
        range: picture.range,
    };
    let topology = shared.first().first().settings.topology();
    let used_by: Vec<String> = shared
        .groups
        .iter()
        .map(|(index, _)| index.to_string())
        .collect();
    let used_by = used_by.join(" ");
    // The drawing is made of numbers alone.
    PreEscaped(drawing::svg(
        overlay,
        topology.as_ref(),
        colouring,
        picture.most_edges,
        &used_by,
    ))
}

/// The accuracy of a group.
fn reached(group: &Group<'_>) -> Markup {
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
    }
}

fn figures(group: &Group<'_>) -> Markup {
    html! {
        dl {
            @if let (Some((_, high)), Some(lambda)) = (group.lambda(), group.lambda_text()) {
                dt { "λ" }
                dd { (lambda) }
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
fn note(shared: &SharedOverlay<'_>, most_edges: usize) -> Option<String> {
    let group = shared.first();
    let mut notes = Vec::new();
    let edges = shared.overlay.as_ref()?.edge_count();
    if edges > most_edges {
        notes.push(format!(
            "about {} of {} edges are drawn",
            count(most_edges),
            count(edges)
        ));
    }
    if group.overlay_changes() {
        notes.push("picture, degree and edges are those of the overlay in round 1".to_owned());
    }
    if shared.groups.len() > 1 {
        notes.push("colours are means over these runs; traffic is that of the first".to_owned());
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

/// The final accuracy of each node, mean over the first runs of the groups whose rows are the overlay's nodes.
fn node_accuracies(shared: &SharedOverlay<'_>) -> Vec<RowAccuracy> {
    let nodes = shared.overlay.as_ref().map_or(0, Overlay::nodes);
    let mut of_nodes: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (_, group) in &shared.groups {
        let run = group.first();
        let rows = &run.final_accuracies;
        // Walkers are nowhere. Of a run that goes on it is not known yet how many models it has.
        let are_as_many = run.rows.is_none_or(|rows| rows == nodes);
        let are_nodes = rows.len() > 1 && rows.last().is_some_and(|last| last.row < nodes);
        let are_nodes = are_nodes && are_as_many;
        for row in rows.iter().filter(|_| are_nodes) {
            of_nodes.entry(row.row).or_default().push(row.accuracy);
        }
    }
    let mean = |(row, values): (usize, Vec<f64>)| RowAccuracy {
        row,
        accuracy: values.iter().sum::<f64>() / values.len() as f64,
    };
    of_nodes.into_iter().map(mean).collect()
}

fn range(accuracies: &[Vec<RowAccuracy>]) -> Option<(f64, f64)> {
    let all = || accuracies.iter().flatten().map(|row| row.accuracy);
    Some((all().reduce(f64::min)?, all().reduce(f64::max)?))
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
