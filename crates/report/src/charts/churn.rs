//! Courses of simulations under churn.

use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use crate::document::quantity_text::significant;
use crate::evenly::evenly;
use meshfold_experiment::ChurnRun;
use meshfold_topology::protocol::{ChurnSample, ChurnTrace};
use plotly::common::{Line, LineShape, Mode};
use plotly::layout::Axis;
use plotly::{Scatter, Trace};

/// Most points of a line.
const POINTS: usize = 1000;

/// Share of the nodes with exactly the correct neighbours.
pub(crate) fn correct(runs: &[(ChurnRun, ChurnTrace)]) -> Chart {
    let axis = Axis::new()
        .title("nodes with the correct neighbours")
        .tick_format(".0%");
    let description =
        "Share of the nodes alive that have exactly the correct neighbours, over time";
    chart("correct", description, 440, runs, axis, |sample| {
        sample.correct
    })
}

/// Messages sent since the beginning, without heartbeats.
pub(crate) fn messages(runs: &[(ChurnRun, ChurnTrace)]) -> Chart {
    let axis = Axis::new().title("messages without heartbeats");
    let description = "Messages of the protocol sent since the beginning, without heartbeats";
    chart("messages", description, 340, runs, axis, |sample| {
        sample.messages as f64
    })
}

/// Heartbeats sent since the beginning.
pub(crate) fn heartbeats(runs: &[(ChurnRun, ChurnTrace)]) -> Chart {
    let axis = Axis::new().title("heartbeats");
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
    y_axis: Axis,
    figure: fn(&ChurnSample) -> f64,
) -> Chart {
    let line = |(index, (run, trace)): (usize, &(ChurnRun, ChurnTrace))| -> Box<dyn Trace> {
        let samples = evenly(&trace.samples, POINTS);
        let seconds = samples
            .iter()
            .map(|sample| significant(sample.seconds, 8))
            .collect();
        let figures = samples
            .iter()
            .map(|sample| significant(figure(sample), 8))
            .collect();
        let style = Line::new()
            .width(2.2)
            .shape(LineShape::Linear)
            .color(palette::colour(index))
            .dash(palette::dash(index));
        Scatter::new(seconds, figures)
            .mode(Mode::Lines)
            .name(plot_text(&run.label()))
            .line(style)
            .legend_group(trace_group(index))
    };
    let about = (id, description, height);
    let traces = runs.iter().enumerate().map(line).collect();
    Chart::over("simulated seconds", y_axis, about, traces)
}
