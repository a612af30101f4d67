//! Who owns how much of a text.

use crate::document::chart::Chart;
use meshfold_experiment::results::TextCounts;
use plotly::common::Marker;
use plotly::layout::Axis;
use plotly::{Bar, Layout};

/// Most bars; of more clients, neighbouring ones are taken together.
const BARS: usize = 2_000;

/// Tokens of each client from left to right, and the different ones above.
pub(crate) fn chart(id: String, counts: &TextCounts) -> Chart {
    let together = together(counts);
    let clients: Vec<usize> = (0..counts.clients()).step_by(together).collect();
    let mean = |figures: &[u32]| -> Vec<f64> {
        let mean = |chunk: &[u32]| {
            chunk.iter().map(|figure| f64::from(*figure)).sum::<f64>() / chunk.len() as f64
        };
        figures.chunks(together).map(mean).collect()
    };
    let tokens = Bar::new(clients.clone(), mean(&counts.tokens))
        .marker(Marker::new().color("#7a7f88"))
        .hover_template("client %{x}: %{y} tokens<extra></extra>");
    let vocabulary = Bar::new(clients, mean(&counts.vocabulary))
        .marker(Marker::new().color("#7a7f88"))
        .y_axis("y2")
        .hover_template("client %{x}: %{y} different tokens<extra></extra>");
    let layout = Layout::new()
        .x_axis(
            Axis::new()
                .title("client")
                .show_grid(false)
                .zero_line(false),
        )
        .y_axis(Axis::new().title("tokens").domain(&[0.0, 0.55]))
        .y_axis2(
            Axis::new()
                .title("different")
                .domain(&[0.65, 1.0])
                .n_ticks(3)
                .anchor("x"),
        )
        .bar_gap(0.0)
        .show_legend(false);
    Chart {
        id,
        description: "Bars of the tokens, and of the different tokens, that each client owns"
            .to_owned(),
        height: 360,
        traces: vec![tokens, vocabulary],
        layout,
    }
}

/// How many neighbouring clients share a bar.
pub(crate) fn together(counts: &TextCounts) -> usize {
    counts.clients().div_ceil(BARS).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_clients_share_bars() {
        let counts = TextCounts {
            examples: vec![1; 5000],
            tokens: vec![80; 5000],
            vocabulary: vec![30; 5000],
        };
        assert_eq!(together(&counts), 3);
        let data = &chart("partition".to_owned(), &counts).json()["data"];
        assert_eq!(data[0]["y"].as_array().map(Vec::len), Some(1667));
        assert_eq!(data[1]["y"][0], 30.0);
    }
}
