//! How many examples of each label each client owns.

use crate::document::chart::Chart;
use crate::document::escape::plot_text;
use meshfold_experiment::results::{LabelCounts, Names};
use serde_json::{Value, json};

/// Most labels that are named on the axis.
const MOST_NAMES: usize = 24;

/// Characters that a name may have there.
const MOST_CHARACTERS: usize = 14;

/// A name as it stands on the axis.
fn short(name: &str) -> String {
    let is_long = name.chars().nth(MOST_CHARACTERS).is_some();
    let kept = name.chars().take(MOST_CHARACTERS - usize::from(is_long));
    let kept: String = kept.collect();
    plot_text(&match is_long {
        true => kept + "…",
        false => kept,
    })
}

/// Most cells of the map; of more clients, neighbouring ones are taken together.
const CELLS: usize = 60_000;

/// The heat map of a partition, clients from left to right, and the examples of each client above it.
pub(crate) fn chart(id: String, counts: &LabelCounts, names: &Names) -> Chart {
    let together = together(counts);
    let columns: Vec<usize> = (0..counts.clients).step_by(together).collect();
    let merged = |values: &[u32]| -> Vec<u32> {
        let mean = |chunk: &[u32]| {
            (f64::from(chunk.iter().sum::<u32>()) / chunk.len() as f64).round() as u32
        };
        values.chunks(together).map(mean).collect()
    };
    let cells: Vec<Vec<u32>> = counts.counts.iter().map(|row| merged(row)).collect();
    let map = json!({
        "type": "heatmap",
        "x": columns,
        "y": (0..counts.classes()).collect::<Vec<usize>>(),
        "z": cells,
        "zmin": 0.0,
        "colorbar": { "title": { "text": "examples" }, "thickness": 12, "outlinewidth": 0 },
        "hovertemplate": "client %{x}, label %{y}: %{z} examples<extra></extra>",
    });
    let totals = json!({
        "type": "bar",
        "x": columns,
        "y": merged(&counts.examples()),
        "yaxis": "y2",
        "marker": { "color": "#7a7f88" },
        "hovertemplate": "client %{x}: %{y} examples<extra></extra>",
    });
    let layout = json!({
        "xaxis": { "title": { "text": "client" }, "showgrid": false, "zeroline": false },
        "yaxis": labels(counts, names),
        "yaxis2": { "title": { "text": "examples" }, "domain": [0.82, 1.0], "nticks": 3, "anchor": "x" },
        "bargap": 0.0,
        "showlegend": false,
    });
    Chart {
        id,
        description: "Heat map of the examples of each label that each client owns".to_owned(),
        height: (190 + 22 * counts.classes()).clamp(320, 640),
        traces: vec![map, totals],
        layout,
    }
}

/// The axis of the labels, which names them where there is room.
fn labels(counts: &LabelCounts, names: &Names) -> Value {
    let mut axis = json!({ "title": { "text": "label" }, "domain": [0.0, 0.76], "zeroline": false, "showgrid": false });
    let labels = 0..counts.classes();
    if !names.labels.is_empty() && labels.len() <= MOST_NAMES {
        axis["title"]["text"] = json!("");
        axis["tickvals"] = labels.clone().map(|label| label as f64).collect();
        axis["ticktext"] = labels.map(|label| short(&names.label(label))).collect();
    } else if labels.len() <= 12 {
        axis["dtick"] = json!(1.0);
        axis["tick0"] = json!(0.0);
    }
    axis
}

/// How many neighbouring clients share a column of the map.
pub(crate) fn together(counts: &LabelCounts) -> usize {
    (counts.clients * counts.classes().max(1))
        .div_ceil(CELLS)
        .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_clients_share_columns() {
        let few = LabelCounts {
            counts: vec![vec![1; 1000]; 10],
            clients: 1000,
        };
        let many = LabelCounts {
            counts: vec![vec![2; 20_000]; 10],
            clients: 20_000,
        };
        assert_eq!((together(&few), together(&many)), (1, 4));
        let cells = &chart("partition".to_owned(), &many, &Names::default()).json()["data"][0]["z"];
        assert_eq!(cells.as_array().map(Vec::len), Some(10));
        assert_eq!(cells[0].as_array().map(Vec::len), Some(5000));
        assert_eq!(cells[0][0], 2);
    }
}
