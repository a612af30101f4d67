//! Quantities that theorems bound, and their bounds, over the course of the runs.

use super::curve::{ROUNDS, positive};
use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use crate::document::quantity_text::significant_values;
use crate::runs::group::Group;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Marks the traces that keep their own dash.
const BOUND: &str = "bound";

/// A chart for each quantity that has a bound, on a logarithmic axis.
pub(crate) fn charts(groups: &[Group<'_>]) -> Vec<Chart> {
    let names: BTreeSet<&String> = groups
        .iter()
        .flat_map(|group| group.curves.bounded.keys())
        .collect();
    names.into_iter().map(|name| of(name, groups)).collect()
}

fn of(name: &str, groups: &[Group<'_>]) -> Chart {
    let pair = |(index, group): (usize, &Group<'_>)| {
        let found = group.curves.bounded.get(name);
        let lines = found.map(|found| {
            [
                line(index, group, &found.value, false),
                line(index, group, &found.bound, true),
            ]
        });
        lines.into_iter().flatten()
    };
    let words = name.replace('_', " ");
    let axis = json!({ "title": { "text": words }, "type": "log", "exponentformat": "power" });
    let traces = groups.iter().enumerate().flat_map(pair).collect();
    let (id, description) = (format!("bound-{name}"), format!("{words} and its bound"));
    Chart::over(ROUNDS, axis, (&id, &description, 340), traces)
}

/// A line of a group where it has a place on a logarithmic axis.
fn line(index: usize, group: &Group<'_>, values: &[Option<f64>], is_bound: bool) -> Value {
    let (name, width, dash) = match is_bound {
        true => ("bound".to_owned(), 1.6, "dot"),
        false => (plot_text(&group.label), 2.6, palette::dash(index)),
    };
    let mut trace = json!({
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": group.curves.rounds,
        "y": significant_values(&positive(values), 5),
        "line": { "width": width, "color": palette::colour(index), "dash": dash },
        "legendgroup": trace_group(index),
    });
    if is_bound {
        trace["meta"] = json!(BOUND);
    }
    trace
}
