//! Final accuracies as boxes, a box for each group.

use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::quantity_text::significant;
use crate::runs::group::Group;
use meshfold_statistics::quantile;
use serde_json::{Value, json};

/// Most groups that have a box.
pub(crate) const BOXES: usize = 60;

/// The clients of all seeds: from the 5 % to the 95 % quantile, the box from the first to the third quarter.
pub(crate) fn of_clients(groups: &[Group<'_>]) -> Option<Chart> {
    let accuracies = |group: &Group<'_>| group.client_accuracies();
    let description = "Boxes of the clients' final accuracies in each group of runs";
    chart(
        "client_boxes",
        description,
        "final test accuracy of a client",
        groups,
        accuracies,
    )
}

/// The seeds: the mean over the clients of each.
pub(crate) fn of_seeds(groups: &[Group<'_>]) -> Option<Chart> {
    let accuracies = |group: &Group<'_>| group.seed_accuracies();
    let description = "Boxes of the final mean accuracies of the seeds in each group of runs";
    chart(
        "seed_boxes",
        description,
        "final mean accuracy of a seed",
        groups,
        accuracies,
    )
}

/// Boxes of the groups that have two values or more; none if no group has.
fn chart(
    id: &str,
    description: &str,
    title: &str,
    groups: &[Group<'_>],
    values: fn(&Group<'_>) -> Vec<f64>,
) -> Option<Chart> {
    let mut boxes: Vec<Value> = groups
        .iter()
        .enumerate()
        .map(|(index, group)| (index, group, values(group)))
        .filter(|(_, _, values)| values.len() > 1)
        .take(BOXES)
        .filter_map(|(index, group, values)| quartiles(index, group, &values))
        .collect();
    // The axis goes from the bottom to the top.
    boxes.reverse();
    let count = boxes.len();
    (count > 0).then(|| Chart {
        id: id.to_owned(),
        description: description.to_owned(),
        height: (90 + 26 * count).clamp(180, 1600),
        traces: boxes,
        layout: json!({
            "xaxis": { "title": { "text": title }, "tickformat": ".0%", "zeroline": false },
            "yaxis": { "fixedrange": true, "automargin": true, "showticklabels": count <= 24 },
            "showlegend": false,
        }),
    })
}

/// A box whose edges are known.
fn quartiles(index: usize, group: &Group<'_>, values: &[f64]) -> Option<Value> {
    let at = |share| Some(significant(quantile(values, share)?, 5));
    Some(json!({
        "type": "box",
        "orientation": "h",
        "y": [plot_text(&group.label)],
        "lowerfence": [at(0.05)?],
        "q1": [at(0.25)?],
        "median": [at(0.5)?],
        "q3": [at(0.75)?],
        "upperfence": [at(0.95)?],
        "legendgroup": trace_group(index),
        "line": { "width": 1.6 },
    }))
}
