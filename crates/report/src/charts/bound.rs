//! What theorems bound, and the bounds, over the course of the runs.

use super::curve::ROUNDS;
use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use crate::document::quantity_text::significant_values;
use crate::runs::group::Group;
use plotly::common::{DashType, ExponentFormat, Line, Mode};
use plotly::layout::{Axis, AxisType};
use plotly::{Scatter, Trace};
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
    let axis = Axis::new()
        .title(&words)
        .type_(AxisType::Log)
        .exponent_format(ExponentFormat::Power);
    let traces = groups.iter().enumerate().flat_map(pair).collect();
    let (id, description) = (format!("bound-{name}"), format!("{words} and its bound"));
    Chart::over(ROUNDS, axis, (&id, &description, 340), traces)
}

/// A line of a group where it has a place on a logarithmic axis.
fn line(index: usize, group: &Group<'_>, values: &[Option<f64>], is_bound: bool) -> Box<dyn Trace> {
    let positive = |value: &Option<f64>| value.filter(|value| *value > 0.0);
    let values: Vec<Option<f64>> = values.iter().map(positive).collect();
    let style = Line::new().color(palette::colour(index));
    let (name, style) = match is_bound {
        true => ("bound".to_owned(), style.width(1.6).dash(DashType::Dot)),
        false => {
            let style = style.width(2.6).dash(palette::dash(index));
            (plot_text(&group.label), style)
        }
    };
    let scatter = Scatter::new(group.curves.rounds.clone(), significant_values(&values, 5))
        .mode(Mode::Lines)
        .name(name)
        .line(style)
        .legend_group(trace_group(index));
    match is_bound {
        true => scatter.meta(BOUND),
        false => scatter,
    }
}
