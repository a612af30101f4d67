//! Who owns examples of which label.

use crate::document::chart::Chart;
use crate::document::escape::plot_text;
use meshfold_experiment::results::{LabelCounts, Names};
use plotly::common::{ColorBar, Marker};
use plotly::layout::Axis;
use plotly::{Bar, HeatMap, Layout};

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
    let map = HeatMap::new(columns.clone(), (0..counts.classes()).collect(), cells)
        .zmin(0.0)
        .color_bar(
            ColorBar::new()
                .title("examples")
                .thickness(12)
                .outline_width(0),
        )
        .hover_template("client %{x}, label %{y}: %{z} examples<extra></extra>");
    let totals = Bar::new(columns, merged(&counts.examples()))
        .marker(Marker::new().color("#7a7f88"))
        .y_axis("y2")
        .hover_template("client %{x}: %{y} examples<extra></extra>");
    let every_label = counts.classes() <= 12;
    let labels = Axis::new()
        .title("label")
        .domain(&[0.0, 0.76])
        .zero_line(false)
        .show_grid(false);
    let labels = match (names.labels.is_empty(), every_label) {
        (false, _) if counts.classes() <= MOST_NAMES => labels
            .title("")
            .tick_values((0..counts.classes()).map(|label| label as f64).collect())
            .tick_text(
                (0..counts.classes())
                    .map(|label| short(&names.label(label)))
                    .collect(),
            ),
        (_, true) => labels.dtick(1.0).tick0(0.0),
        (_, false) => labels,
    };
    let layout = Layout::new()
        .x_axis(
            Axis::new()
                .title("client")
                .show_grid(false)
                .zero_line(false),
        )
        .y_axis(labels)
        .y_axis2(
            Axis::new()
                .title("examples")
                .domain(&[0.82, 1.0])
                .n_ticks(3)
                .anchor("x"),
        )
        .bar_gap(0.0)
        .show_legend(false);
    Chart {
        id,
        description: "Heat map of the examples of each label that each client owns".to_owned(),
        height: (190 + 22 * counts.classes()).clamp(320, 640),
        traces: vec![map, totals],
        layout,
    }
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
