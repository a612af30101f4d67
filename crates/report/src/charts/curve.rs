//! Accuracy, loss and consensus distance over the rounds of the runs.

use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use crate::document::quantity_text::significant_values;
use crate::runs::curves::{Bands, Curves};
use crate::runs::group::Group;
use serde::Serialize;
use serde_json::{Value, json};

/// The title of the axis that curves are drawn over.
pub(crate) const ROUNDS: &str = "communication round";

/// Marks the traces that the page shows or hides as one.
const MEAN_MODEL: &str = "mean_model";

/// Marks the traces that the page draws a band around.
const MEAN: &str = "mean";

/// Mean accuracy of every group, and the accuracy of the mean model.
pub(crate) fn accuracy(groups: &[Group<'_>]) -> Chart {
    let mut traces = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let curves = &group.curves;
        traces.extend(mean(index, group, &curves.accuracy.mean));
        if curves.mean_model_accuracy.iter().any(Option::is_some) {
            traces.push(mean_model(index, curves));
        }
    }
    let axis = json!({ "title": { "text": "test accuracy" }, "tickformat": ".0%" });
    let about = ("accuracy", "Test accuracy: mean of all clients", 460);
    Chart::over(ROUNDS, axis, about, traces)
}

/// Mean test loss of every group.
pub(crate) fn loss(groups: &[Group<'_>]) -> Chart {
    let traces = means(groups, |curves| curves.loss.mean.clone());
    let axis = json!({ "title": { "text": "test loss" } });
    let about = ("loss", "Test loss: mean of all clients", 340);
    Chart::over(ROUNDS, axis, about, traces)
}

/// Consensus distance of every group on a logarithmic axis, which does not show an exact agreement.
pub(crate) fn consensus(groups: &[Group<'_>]) -> Chart {
    let traces = means(groups, |curves| positive(&curves.consensus.mean));
    let scale = if traces.is_empty() { "linear" } else { "log" };
    let title = "consensus distance";
    let axis = json!({ "title": { "text": title }, "type": scale, "exponentformat": "power" });
    let description = "Consensus distance: how far the models are from their mean";
    Chart::over(ROUNDS, axis, ("consensus", description, 340), traces)
}

/// Groups whose models agree exactly at every evaluation after the start: a logarithmic axis cannot show them.
pub(crate) fn in_exact_agreement<'a>(groups: &'a [Group<'_>]) -> Vec<&'a str> {
    let agrees = |group: &&Group<'_>| {
        let mut distances = group.curves.consensus.mean.iter().skip(1).peekable();
        distances.peek().is_some() && distances.all(|distance| *distance == Some(0.0))
    };
    groups
        .iter()
        .filter(agrees)
        .map(|group| group.label.as_str())
        .collect()
}

/// What the page can draw around the curves of each chart, by the chart's name and the group.
#[derive(Debug, Serialize)]
pub(crate) struct AllBands {
    accuracy: Vec<Bands>,
    loss: Vec<Bands>,
    consensus: Vec<Bands>,
}

/// The bands of all charts of curves.
pub(crate) fn bands(groups: &[Group<'_>]) -> AllBands {
    let of =
        |bands: fn(&Curves) -> Bands| groups.iter().map(|group| bands(&group.curves)).collect();
    AllBands {
        accuracy: of(|curves| curves.accuracy.bands.clone()),
        loss: of(|curves| curves.loss.bands.clone()),
        consensus: of(|curves| curves.consensus.bands.clone()),
    }
}

/// The values that have a place on a logarithmic axis.
pub(super) fn positive(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let positive = |value: &Option<f64>| value.filter(|value| *value > 0.0);
    values.iter().map(positive).collect()
}

fn means(groups: &[Group<'_>], curve: fn(&Curves) -> Vec<Option<f64>>) -> Vec<Value> {
    let trace = |(index, group): (usize, &Group<'_>)| mean(index, group, &curve(&group.curves));
    groups.iter().enumerate().filter_map(trace).collect()
}

/// The line of a group, unless nothing is known of it.
fn mean(index: usize, group: &Group<'_>, values: &[Option<f64>]) -> Option<Value> {
    if values.iter().all(Option::is_none) {
        return None;
    }
    Some(json!({
        "type": "scatter",
        "mode": "lines",
        "name": plot_text(&group.label),
        "x": group.curves.rounds,
        "y": significant_values(values, 5),
        "line": { "width": 2.6, "color": palette::colour(index), "dash": palette::dash(index) },
        "meta": MEAN,
        "legendgroup": trace_group(index),
    }))
}

fn mean_model(index: usize, curves: &Curves) -> Value {
    json!({
        "type": "scatter",
        "mode": "lines",
        "name": "mean model",
        "x": curves.rounds,
        "y": significant_values(&curves.mean_model_accuracy, 5),
        "line": { "width": 1.6, "color": palette::colour(index), "dash": "dot" },
        "hovertemplate": "%{y:.1%}",
        "visible": false,
        "meta": MEAN_MODEL,
        "legendgroup": trace_group(index),
    })
}
