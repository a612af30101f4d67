//! Final accuracies over two settings.

use crate::document::chart::Chart;
use crate::document::escape::plot_text;
use crate::document::quantity_text::significant_values;
use crate::runs::curves::mean;
use crate::runs::factor::Factor;
use crate::runs::group::Group;
use serde_json::json;

/// The map of the first two settings that vary. The page's script draws that of two others in its place.
pub(crate) fn chart(groups: &[Group<'_>], factors: &[Factor]) -> Option<Chart> {
    let [across, up, ..] = factors else {
        return None;
    };
    let (of_across, of_up) = (across.of_groups(groups.len()), up.of_groups(groups.len()));
    let cell = |x: usize, y: usize| {
        let is_here = |group: &usize| of_across[*group] == x && of_up[*group] == y;
        let accuracies = (0..groups.len())
            .filter(is_here)
            .filter_map(|group| groups[group].final_accuracy().mean);
        mean(accuracies.map(Some))
    };
    let row = |y| {
        let cells: Vec<Option<f64>> = (0..across.values.len()).map(|x| cell(x, y)).collect();
        significant_values(&cells, 4)
    };
    let cells: Vec<Vec<Option<f64>>> = (0..up.values.len()).map(row).collect();
    let words = |factor: &Factor| -> Vec<String> {
        factor
            .values
            .iter()
            .map(|value| plot_text(&value.text))
            .collect()
    };
    let axis = |factor: &Factor| {
        let title = plot_text(&factor.key);
        json!({ "title": { "text": title }, "type": "category", "showgrid": false, "zeroline": false })
    };
    let map = json!({
        "type": "heatmap",
        "x": words(across),
        "y": words(up),
        "z": cells,
        "colorbar": { "title": { "text": "accuracy" }, "thickness": 12, "outlinewidth": 0, "tickformat": ".0%" },
        "hovertemplate": "%{x}, %{y}: %{z:.1%}<extra></extra>",
    });
    Some(Chart {
        id: "heat".to_owned(),
        description: "Heat map of the final mean accuracy over two settings".to_owned(),
        height: 420,
        traces: vec![map],
        layout: json!({ "xaxis": axis(across), "yaxis": axis(up), "showlegend": false }),
    })
}
