//! The eigenvalues of each overlay's mixing matrix.

use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use crate::document::quantity_text::significant;
use plotly::common::{Line, Marker, Mode};
use plotly::layout::Axis;
use plotly::{Layout, Scatter, Trace};

/// Above this many nodes eigenvalues are a line without points.
const POINTS: usize = 40;

/// The eigenvalues of each overlay in descending order, given with its group's index and label.
pub(crate) fn chart(spectra: &[(usize, &str, Vec<f64>)]) -> Chart {
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for (index, label, eigenvalues) in spectra {
        let ranks: Vec<usize> = (1..=eigenvalues.len()).collect();
        let mode = if eigenvalues.len() <= POINTS {
            Mode::LinesMarkers
        } else {
            Mode::Lines
        };
        let line = Scatter::new(
            ranks,
            eigenvalues
                .iter()
                .map(|&value| significant(value, 6))
                .collect(),
        )
        .mode(mode)
        .name(plot_text(label))
        .line(
            Line::new()
                .width(2.2)
                .color(palette::colour(*index))
                .dash(palette::dash(*index)),
        )
        .marker(Marker::new().size(6).color(palette::colour(*index)))
        .hover_template("λ<sub>%{x}</sub> = %{y}")
        .legend_group(trace_group(*index));
        traces.push(line);
    }
    let layout = Layout::new()
        .x_axis(Axis::new().title("rank of the eigenvalue"))
        .y_axis(Axis::new().title("eigenvalue of W"))
        .show_legend(false);
    let description =
        "Eigenvalues of the mixing matrix of each overlay, in descending order".to_owned();
    Chart {
        id: "spectrum".to_owned(),
        description,
        height: 320,
        traces,
        layout,
    }
}
