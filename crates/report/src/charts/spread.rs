//! How the clients' final accuracies are distributed.

use crate::document::chart::{Chart, trace_group};
use crate::document::escape::plot_text;
use crate::document::palette;
use crate::document::quantity_text::{percent, significant};
use crate::runs::group::Group;
use serde_json::{Value, json};

/// Most groups that have a row.
const ROWS: usize = 24;

/// Most bins over the range of all groups.
const BINS: usize = 48;

/// A row for each group that has several clients' accuracies: their histogram, its mean and the mean's value.
///
/// All rows share the accuracy axis; a row's height is relative to its own fullest bin.
pub(crate) fn chart(groups: &[Group<'_>]) -> Option<Chart> {
    let rows: Vec<(usize, &Group<'_>, Vec<f64>)> = groups
        .iter()
        .enumerate()
        .map(|(index, group)| (index, group, group.client_accuracies()))
        .filter(|(_, _, accuracies)| accuracies.len() > 1)
        .take(ROWS)
        .collect();
    let all = || {
        rows.iter()
            .flat_map(|(_, _, accuracies)| accuracies.iter().copied())
    };
    let (low, high) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let most = rows
        .iter()
        .map(|(_, _, accuracies)| accuracies.len())
        .max()?;
    let bins = Bins::over(low, high, most);
    let mut traces: Vec<Value> = Vec::new();
    let mut labels = Vec::new();
    for (row, (index, group, accuracies)) in rows.iter().enumerate() {
        let base = (rows.len() - 1 - row) as f64;
        traces.push(outline(*index, &bins.histogram(accuracies), &bins, base));
        traces.push(mean(*index, accuracies, base));
        labels.push((base, wrapped(&group.label)));
    }
    let (bases, texts): (Vec<f64>, Vec<String>) = labels.into_iter().unzip();
    let rows_axis = json!({
        "tickvals": bases,
        "ticktext": texts,
        "range": [-0.12, rows.len() as f64],
        "zeroline": false,
        "fixedrange": true,
        "automargin": true,
    });
    let title = "final test accuracy of a client";
    Some(Chart {
        id: "spread".to_owned(),
        description: "Distribution of the clients' final accuracies in each group of runs"
            .to_owned(),
        height: (110 + 92 * rows.len()).clamp(240, 1600),
        traces,
        layout: json!({
            "xaxis": { "title": { "text": title }, "tickformat": ".0%", "zeroline": false },
            "yaxis": rows_axis,
            "showlegend": false,
        }),
    })
}

/// Equal bins over a range of accuracies.
struct Bins {
    count: usize,
    start: f64,
    width: f64,
}

impl Bins {
    /// Bins from `low` to `high`, at least half a point of accuracy in all, the more the more values there are.
    fn over(low: f64, high: f64, values: usize) -> Self {
        let count = ((2.4 * (values as f64).sqrt()) as usize).clamp(8, BINS);
        let width = (high - low).max(0.005) / count as f64;
        Self {
            count,
            start: 0.5 * (low + high - width * count as f64),
            width,
        }
    }

    fn histogram(&self, values: &[f64]) -> Vec<usize> {
        let mut counts = vec![0; self.count];
        for value in values {
            let bin = ((value - self.start) / self.width).max(0.0) as usize;
            counts[bin.min(self.count - 1)] += 1;
        }
        counts
    }

    fn edge(&self, bin: usize) -> f64 {
        significant(self.start + self.width * bin as f64, 6)
    }
}

fn outline(index: usize, counts: &[usize], bins: &Bins, base: f64) -> Value {
    let fullest = counts.iter().copied().max().unwrap_or(1).max(1) as f64;
    let (mut x, mut y) = (vec![bins.edge(0)], vec![base]);
    for (bin, &count) in counts.iter().enumerate() {
        let height = significant(base + 0.82 * count as f64 / fullest, 5);
        x.extend([bins.edge(bin), bins.edge(bin + 1)]);
        y.extend([height, height]);
    }
    x.push(bins.edge(counts.len()));
    y.push(base);
    let colour = palette::colour(index);
    json!({
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": { "width": 1.4, "color": colour },
        "fill": "toself",
        "fillcolor": format!("{colour}55"),
        "hoverinfo": "skip",
        "legendgroup": trace_group(index),
    })
}

fn mean(index: usize, accuracies: &[f64], base: f64) -> Value {
    let mean = accuracies.iter().sum::<f64>() / accuracies.len() as f64;
    let low = accuracies.iter().copied().fold(f64::INFINITY, f64::min);
    let high = accuracies.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let text = format!(
        "mean {}, lowest {}, highest {}",
        percent(Some(mean)),
        percent(Some(low)),
        percent(Some(high))
    );
    let x = [low, mean, high].map(|value| significant(value, 5));
    let y = [base; 3];
    let colour = palette::colour(index);
    json!({
        "type": "scatter",
        "mode": "lines+markers",
        "x": x,
        "y": y,
        "line": { "width": 1.4, "color": colour },
        "marker": { "size": [6, 11, 6], "symbol": "diamond", "color": colour },
        "hovertext": text,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "legendgroup": trace_group(index),
    })
}

/// The label in lines that a plot has room for beside its rows.
fn wrapped(label: &str) -> String {
    const CHARACTERS: usize = 24;
    let mut lines = vec![String::new()];
    for word in label.split(' ') {
        let line = lines.last_mut().expect("there is a first line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= CHARACTERS {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    let lines: Vec<String> = lines.iter().map(|line| plot_text(line)).collect();
    lines.join("<br>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_bin() {
        let values = [0.2, 0.3, 0.5, 0.8];
        let bins = Bins::over(0.2, 0.8, 4);
        let counts = bins.histogram(&values);
        assert_eq!(counts.iter().sum::<usize>(), 4);
        assert_eq!((counts[0], counts[bins.count - 1]), (1, 1));
        assert_eq!(Bins::over(0.2, 0.8, 100_000).count, BINS);
        assert_eq!(
            Bins::over(0.7, 0.7, 5)
                .histogram(&[0.7; 5])
                .iter()
                .sum::<usize>(),
            5
        );
    }

    #[test]
    fn long_labels_are_wrapped_and_whole() {
        assert_eq!(wrapped("ring"), "ring");
        assert_eq!(
            wrapped("3-regular · learning_rate 0.01 · <b>"),
            "3-regular ·<br>learning_rate 0.01 · &lt;b&gt;"
        );
    }
}
