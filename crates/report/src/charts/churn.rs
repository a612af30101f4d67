//! Courses of simulations under churn.

use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use crate::document::quantity_text::significant;
use crate::evenly::evenly;
use meshfold_experiment::ChurnRun;
use meshfold_topology::protocol::{ChurnSample, ChurnTrace};
use serde_json::{Value, json};

/// Most points of a line.
const POINTS: usize = 1000;

/// Share of the nodes with exactly the correct neighbours.
pub(crate) fn correct(runs: &[(ChurnRun, ChurnTrace)]) -> Chart {
    let title = "nodes with the correct neighbours";
    let axis = json!({ "title": { "text": title }, "tickformat": ".0%" });
    let description =
        "Share of the nodes alive that have exactly the correct neighbours, over time";
    chart("correct", description, 440, runs, axis, |sample| {
        sample.correct
    })
}

/// Messages sent since the beginning, without heartbeats.
pub(crate) fn messages(runs: &[(ChurnRun, ChurnTrace)]) -> Chart {
    let axis = json!({ "title": { "text": "messages without heartbeats" } });
    let description = "Messages of the protocol sent since the beginning, without heartbeats";
    chart("messages", description, 340, runs, axis, |sample| {
        sample.messages as f64
    })
}

/// Heartbeats sent since the beginning.
pub(crate) fn heartbeats(runs: &[(ChurnRun, ChurnTrace)]) -> Chart {
    let axis = json!({ "title": { "text": "heartbeats" } });
    let description = "Heartbeats sent since the beginning";
    chart("heartbeats", description, 340, runs, axis, |sample| {
        sample.heartbeats as f64
    })
}

fn chart(
    id: &str,
    description: &str,
    height: usize,
    runs: &[(ChurnRun, ChurnTrace)],
    y_axis: Value,
    figure: fn(&ChurnSample) -> f64,
) -> Chart {
    let line = |(index, (run, trace)): (usize, &(ChurnRun, ChurnTrace))| {
        let samples = evenly(&trace.samples, POINTS);
        let seconds: Vec<f64> = samples
            .iter()
            .map(|sample| significant(sample.seconds, 8))
            .collect();
        let figures: Vec<f64> = samples
            .iter()
            .map(|sample| significant(figure(sample), 8))
            .collect();
        let (colour, dash) = (palette::colour(index), palette::dash(index));
        json!({
            "type": "scatter",
            "mode": "lines",
            "name": plot_text(&run.label()),
            "x": seconds,
            "y": figures,
            "line": { "width": 2.2, "shape": "linear", "color": colour, "dash": dash },
            "legendgroup": trace_group(index),
        })
    };
    let about = (id, description, height);
    let traces = runs.iter().enumerate().map(line).collect();
    Chart::over("simulated seconds", y_axis, about, traces)
}
