//! Accuracy, loss, consensus distance and what methods record themselves, over the rounds of the runs.

use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use crate::document::quantity_text::significant_values;
use crate::runs::curves::{Bands, CurveWithBands, Curves};
use crate::runs::group::Group;
use meshfold_experiment::results::FigureKind;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The title of the axis that curves are drawn over.
pub(crate) const ROUNDS: &str = "communication round";

/// Marks the traces that the page shows or hides as one.
const MEAN_MODEL: &str = "mean_model";

/// Marks the traces that the page draws a band around.
const MEAN: &str = "mean";

/// Most figures of methods' own that have a chart.
pub(crate) const OWN_CHARTS: usize = 24;

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

/// What the methods of the groups recorded themselves, a chart for each figure.
pub(crate) fn own(groups: &[Group<'_>]) -> Vec<Chart> {
    let charted = own_names(groups).into_iter().take(OWN_CHARTS);
    charted.map(|name| own_chart(name, groups)).collect()
}

/// The names of all figures that the methods recorded themselves.
pub(crate) fn own_names<'a>(groups: &'a [Group<'_>]) -> BTreeSet<&'a str> {
    let names = groups.iter().flat_map(|group| group.curves.own.keys());
    names.map(String::as_str).collect()
}

fn own_chart(name: &str, groups: &[Group<'_>]) -> Chart {
    let of_group = |(index, group): (usize, &Group<'_>)| {
        let values = &group.curves.own.get(name)?.mean;
        let mut trace = mean(index, group, values)?;
        // Not every round records every figure.
        trace["connectgaps"] = json!(true);
        if values.iter().flatten().count() == 1 {
            trace["mode"] = json!("markers");
            trace["marker"] = json!({ "size": 7 });
        }
        Some(trace)
    };
    let traces = groups.iter().enumerate().filter_map(of_group).collect();
    let recorded = format!("own.{name}");
    let mut axis = json!({ "title": { "text": name.replace('_', " ") } });
    if FigureKind::of(&recorded) == FigureKind::Share {
        axis["tickformat"] = json!(".0%");
    }
    let description = format!("{recorded}: what the method recorded");
    Chart::over(ROUNDS, axis, (&own_id(name), &description, 340), traces)
}

fn own_id(name: &str) -> String {
    format!("own-{name}")
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

/// What the page can draw around the curves of each group, by the id of the chart. Of charts that have their place here, the reader
/// chooses the horizontal axis and the band.
pub(crate) fn bands(groups: &[Group<'_>]) -> BTreeMap<String, Vec<Bands>> {
    let of = |curve: &dyn Fn(&Curves) -> Option<&CurveWithBands>| -> Vec<Bands> {
        let bands = |group: &Group<'_>| Some(curve(&group.curves)?.bands.clone());
        let all = groups.iter().map(bands);
        all.map(Option::unwrap_or_default).collect()
    };
    let mut all = BTreeMap::from([
        ("accuracy".to_owned(), of(&|curves| Some(&curves.accuracy))),
        ("loss".to_owned(), of(&|curves| Some(&curves.loss))),
        (
            "consensus".to_owned(),
            of(&|curves| Some(&curves.consensus)),
        ),
    ]);
    for name in own_names(groups).into_iter().take(OWN_CHARTS) {
        all.insert(own_id(name), of(&|curves| curves.own.get(name)));
    }
    all
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
