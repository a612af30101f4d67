//! The eigenvalues of each overlay's mixing matrix.

use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use crate::document::quantity_text::significant;
use serde_json::{Value, json};

/// Above this many nodes eigenvalues are a line without points.
const POINTS: usize = 40;

/// The eigenvalues of each overlay in descending order, given with its group's index and label.
pub(crate) fn chart(spectra: &[(usize, &str, Vec<f64>)]) -> Chart {
    let mut traces: Vec<Value> = Vec::new();
    for (index, label, eigenvalues) in spectra {
        let ranks: Vec<usize> = (1..=eigenvalues.len()).collect();
        let values: Vec<f64> = eigenvalues
            .iter()
            .map(|&value| significant(value, 6))
            .collect();
        let (colour, dash) = (palette::colour(*index), palette::dash(*index));
        traces.push(json!({
            "type": "scatter",
            "mode": if eigenvalues.len() <= POINTS { "lines+markers" } else { "lines" },
            "name": plot_text(label),
            "x": ranks,
            "y": values,
            "line": { "width": 2.2, "color": colour, "dash": dash },
            "marker": { "size": 6, "color": colour },
            "hovertemplate": "λ<sub>%{x}</sub> = %{y}",
            "legendgroup": trace_group(*index),
        }));
    }
    let layout = json!({
        "xaxis": { "title": { "text": "rank of the eigenvalue" } },
        "yaxis": { "title": { "text": "eigenvalue of W" } },
        "showlegend": false,
    });
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
