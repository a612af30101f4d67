//! How many neighbours the nodes of each overlay have.

use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use meshfold_topology::Overlay;
use plotly::common::Marker;
use plotly::layout::{Axis, AxisType, BarMode, CategoryOrder};
use plotly::{Bar, Layout, Trace};
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
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for ((index, label, _), histogram) in overlays.iter().zip(&histograms) {
        let degrees = present(histogram);
        let nodes: Vec<usize> = degrees.iter().map(|&degree| histogram[degree]).collect();
        let degrees = degrees
            .into_iter()
            .map(|degree| degree.to_string())
            .collect();
        let bars = Bar::new(degrees, nodes)
            .name(plot_text(label))
            .marker(Marker::new().color(palette::colour(*index)))
            .opacity(if grouped { 1.0 } else { 0.75 })
            .hover_template("degree %{x}: %{y} nodes")
            .legend_group(trace_group(*index));
        traces.push(bars);
    }
    let axis = Axis::new().title("degree: neighbours of a node");
    let axis = if all.len() <= CATEGORIES {
        axis.type_(AxisType::Category)
            .category_order(CategoryOrder::Array)
            .category_array(all.iter().map(usize::to_string).collect::<Vec<_>>())
    } else {
        axis.type_(AxisType::Linear)
    };
    let layout = Layout::new()
        .x_axis(axis)
        .y_axis(Axis::new().title("nodes"))
        .bar_mode(if grouped {
            BarMode::Group
        } else {
            BarMode::Overlay
        })
        .bar_gap(0.45)
        .show_legend(false);
    let description = "Degree histogram of each overlay".to_owned();
    Chart {
        id: "degrees".to_owned(),
        description,
        height: 320,
        traces,
        layout,
    }
}
