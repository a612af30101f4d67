//! How many neighbours the nodes of each overlay have.

use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use meshfold_topology::Overlay;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Up to this many different degrees stand at equal distances, however far apart they are.
const CATEGORIES: usize = 60;

/// Up to this many different degrees there is room for a bar of each overlay.
const GROUPED: usize = 12;

/// The degree histogram of each overlay, given with its group's index and label.
pub(crate) fn chart(overlays: &[(usize, &str, &Overlay)]) -> Chart {
    let histograms: Vec<Vec<usize>> = overlays
        .iter()
        .map(|(_, _, overlay)| overlay.degree_histogram())
        .collect();
    let present = |histogram: &Vec<usize>| -> Vec<usize> {
        let degrees = histogram.iter().enumerate();
        degrees
            .filter(|(_, nodes)| **nodes > 0)
            .map(|(degree, _)| degree)
            .collect()
    };
    let all: BTreeSet<usize> = histograms.iter().flat_map(present).collect();
    let holders = |degree: &usize| {
        histograms
            .iter()
            .filter(|histogram| histogram.get(*degree).is_some_and(|&nodes| nodes > 0))
            .count()
    };
    let grouped = all.len() <= GROUPED && all.iter().any(|degree| holders(degree) > 1);
    let mut traces: Vec<Value> = Vec::new();
    for ((index, label, _), histogram) in overlays.iter().zip(&histograms) {
        let degrees = present(histogram);
        let nodes: Vec<usize> = degrees.iter().map(|&degree| histogram[degree]).collect();
        traces.push(json!({
            "type": "bar",
            "name": plot_text(label),
            "x": words(&degrees),
            "y": nodes,
            "marker": { "color": palette::colour(*index) },
            "opacity": if grouped { 1.0 } else { 0.75 },
            "hovertemplate": "degree %{x}: %{y} nodes",
            "legendgroup": trace_group(*index),
        }));
    }
    let title = "degree: neighbours of a node";
    let axis = if all.len() <= CATEGORIES {
        let order = words(&all);
        json!({ "title": { "text": title }, "type": "category", "categoryorder": "array", "categoryarray": order })
    } else {
        json!({ "title": { "text": title }, "type": "linear" })
    };
    let layout = json!({
        "xaxis": axis,
        "yaxis": { "title": { "text": "nodes" } },
        "barmode": if grouped { "group" } else { "overlay" },
        "bargap": 0.45,
        "showlegend": false,
    });
    let description = "Degree histogram of each overlay".to_owned();
    Chart {
        id: "degrees".to_owned(),
        description,
        height: 320,
        traces,
        layout,
    }
}

/// Degrees as the names of categories.
fn words<'a>(degrees: impl IntoIterator<Item = &'a usize>) -> Vec<String> {
    degrees.into_iter().map(usize::to_string).collect()
}
