//! How much of a text each client owns.

use crate::document::chart::Chart;
use meshfold_experiment::results::TextCounts;
use serde_json::json;

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
    let tokens = json!({
        "type": "bar",
        "x": clients,
        "y": mean(&counts.tokens),
        "marker": { "color": "#7a7f88" },
        "hovertemplate": "client %{x}: %{y} tokens<extra></extra>",
    });
    let vocabulary = json!({
        "type": "bar",
        "x": clients,
        "y": mean(&counts.vocabulary),
        "yaxis": "y2",
        "marker": { "color": "#7a7f88" },
        "hovertemplate": "client %{x}: %{y} different tokens<extra></extra>",
    });
    let layout = json!({
        "xaxis": { "title": { "text": "client" }, "showgrid": false, "zeroline": false },
        "yaxis": { "title": { "text": "tokens" }, "domain": [0.0, 0.55] },
        "yaxis2": { "title": { "text": "different" }, "domain": [0.65, 1.0], "nticks": 3, "anchor": "x" },
        "bargap": 0.0,
        "showlegend": false,
    });
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
