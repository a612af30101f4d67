//! Accuracy, loss and consensus distance over the course of the runs.

use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use crate::document::quantity_text::{figure, percent, significant_values};
use crate::runs::curves::{Band, Curves};
use crate::runs::group::Group;
use plotly::common::{DashType, ExponentFormat, Fill, HoverInfo, Line, Mode, Visible};
use plotly::layout::{Axis, AxisType};
use plotly::{Layout, Scatter, Trace};

/// Marks the traces that the page shows or hides as one.
const MEAN_MODEL: &str = "mean_model";

/// Mean accuracy of every group with its band, and the accuracy of the mean model.
pub(crate) fn accuracy(groups: &[Group<'_>]) -> Chart {
    let mut traces = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let curves = &group.curves;
        traces.extend(banded(index, group, &curves.accuracy, percent));
        if curves.mean_model_accuracy.iter().any(Option::is_some) {
            traces.push(mean_model(index, curves));
        }
    }
    let axis = Axis::new().title("test accuracy").tick_format(".0%");
    chart(
        "accuracy",
        "Test accuracy: mean of all clients, from the lowest to the highest",
        460,
        traces,
        axis,
    )
}

/// Mean test loss of every group with its band.
pub(crate) fn loss(groups: &[Group<'_>]) -> Chart {
    let traces = all_banded(groups, |curves| curves.loss.clone());
    let axis = Axis::new().title("test loss");
    chart(
        "loss",
        "Test loss: mean of all clients, from the lowest to the highest",
        340,
        traces,
        axis,
    )
}

/// Consensus distance of every group on a logarithmic axis, which does not show an exact agreement.
pub(crate) fn consensus(groups: &[Group<'_>]) -> Chart {
    let traces = all_banded(groups, |curves| positive(&curves.consensus));
    let scale = if traces.is_empty() {
        AxisType::Linear
    } else {
        AxisType::Log
    };
    let axis = Axis::new()
        .title("consensus distance")
        .type_(scale)
        .exponent_format(ExponentFormat::Power);
    chart(
        "consensus",
        "Consensus distance: how far the models are from their mean",
        340,
        traces,
        axis,
    )
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

fn chart(
    id: &str,
    description: &str,
    height: usize,
    traces: Vec<Box<dyn Trace>>,
    y_axis: Axis,
) -> Chart {
    let x_axis = Axis::new().title("communication round");
    let layout = Layout::new()
        .x_axis(x_axis)
        .y_axis(y_axis)
        .show_legend(false);
    Chart {
        id: id.to_owned(),
        description: description.to_owned(),
        height,
        traces,
        layout,
    }
}

/// The band where it has a place on a logarithmic axis.
fn positive(band: &Band) -> Band {
    let kept = |values: &[Option<f64>]| {
        values
            .iter()
            .map(|value| value.filter(|value| *value > 0.0))
            .collect()
    };
    Band {
        mean: kept(&band.mean),
        low: kept(&band.low),
        high: kept(&band.high),
    }
}

fn all_banded(groups: &[Group<'_>], band: fn(&Curves) -> Band) -> Vec<Box<dyn Trace>> {
    let traces =
        |(index, group): (usize, &Group<'_>)| banded(index, group, &band(&group.curves), figure);
    groups.iter().enumerate().flat_map(traces).collect()
}

/// Lower edge, upper edge filled down to it, and mean.
fn banded(
    index: usize,
    group: &Group<'_>,
    band: &Band,
    text: fn(Option<f64>) -> String,
) -> Vec<Box<dyn Trace>> {
    if band.mean.iter().all(Option::is_none) {
        return Vec::new();
    }
    let rounds = &group.curves.rounds;
    let edge = |values: &[Option<f64>]| {
        Scatter::new(rounds.clone(), significant_values(values, 5))
            .mode(Mode::Lines)
            .line(Line::new().width(0.0).color(palette::colour(index)))
            .hover_info(HoverInfo::Skip)
            .legend_group(trace_group(index))
    };
    let pointed = (0..rounds.len()).map(|at| {
        let (mean, low, high) = (text(band.mean[at]), text(band.low[at]), text(band.high[at]));
        if low == high {
            mean
        } else {
            format!("{mean}  ({low} to {high})")
        }
    });
    let mean = Scatter::new(rounds.clone(), significant_values(&band.mean, 5))
        .mode(Mode::Lines)
        .name(plot_text(&group.label))
        .line(
            Line::new()
                .width(2.6)
                .color(palette::colour(index))
                .dash(palette::dash(index)),
        )
        .hover_text_array(pointed.collect())
        .hover_template("%{hovertext}")
        .legend_group(trace_group(index));
    let upper = edge(&band.high)
        .fill(Fill::ToNextY)
        .fill_color(format!("{}22", palette::colour(index)));
    vec![edge(&band.low), upper, mean]
}

fn mean_model(index: usize, curves: &Curves) -> Box<dyn Trace> {
    Scatter::new(
        curves.rounds.clone(),
        significant_values(&curves.mean_model_accuracy, 5),
    )
    .mode(Mode::Lines)
    .name("mean model")
    .line(
        Line::new()
            .width(1.6)
            .color(palette::colour(index))
            .dash(DashType::Dot),
    )
    .hover_template("%{y:.1%}")
    .visible(Visible::False)
    .meta(MEAN_MODEL)
    .legend_group(trace_group(index))
}
