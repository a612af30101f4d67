//! The curves of a figure of a paper, with the paper's numbers drawn in.

use std::collections::BTreeMap;

use meshfold_experiment::results::{FigureKind, Figures};
use meshfold_figure::{Axis, COLOURS, Curve, Figure, Legend, Panel, Point, Size, Unit};
use meshfold_statistics::Estimate;

use crate::planned::PlannedRow;
use crate::rows::ONLY_VALUE;

/// A curve: what it is called, the records of its runs, and the number that the paper gives.
struct Line {
    label: String,
    runs: Vec<Vec<Figures>>,
    stated: Option<f64>,
}

/// The figure `place` of a paper as SVG: each value's curve, the mean over its seeds with their range, and the paper's
/// numbers as level lines. `None` if no run is finished.
pub(crate) fn drawn(
    rows: &[&PlannedRow<'_>],
    records: &dyn Fn(usize) -> Option<Vec<Figures>>,
) -> Option<String> {
    let mut by_figure: BTreeMap<&str, Vec<Line>> = BTreeMap::new();
    for row in rows {
        for (name, value) in row
            .readings
            .first()
            .into_iter()
            .flat_map(|reading| &reading.values)
        {
            let Some(figure) = value.read.figure() else {
                continue;
            };
            let runs: Vec<_> = value.runs.iter().filter_map(|run| records(*run)).collect();
            let lines = by_figure.entry(figure).or_default();
            let label = match name.as_str() {
                ONLY_VALUE => row.row.id.clone(),
                name => name.to_owned(),
            };
            let is_drawn = lines.iter().any(|line| line.label == label);
            if runs.is_empty() || is_drawn || lines.len() == COLOURS {
                continue;
            }
            let stated = row
                .row
                .claims
                .iter()
                .find_map(|claim| claim.number_of(name));
            let is_level = !matches!(value.read, crate::reading::Reading::First { .. });
            lines.push(Line {
                label,
                runs,
                stated: stated.filter(|_| is_level),
            });
        }
    }
    // If a place is about several figures, the one for which the paper gives numbers is drawn.
    let weight = |lines: &[Line]| (lines.iter().any(|line| line.stated.is_some()), lines.len());
    let (figure, lines) = by_figure
        .into_iter()
        .max_by_key(|(_, lines)| weight(lines))?;
    (!lines.is_empty()).then(|| svg(figure, &lines))
}

fn svg(figure: &str, lines: &[Line]) -> String {
    let mut keys = Vec::new();
    let mut points = Vec::new();
    for line in lines {
        let curve = mean(figure, &line.runs);
        let last = curve.last().map_or(0.0, |point| point.x);
        keys.push(vec![line.label.clone(), "ours".to_owned()]);
        points.push(curve);
        if let Some(stated) = line.stated {
            let level = |x| Point {
                x,
                y: stated,
                low: stated,
                high: stated,
            };
            keys.push(vec![line.label.clone(), "the paper's number".to_owned()]);
            points.push(vec![level(0.0), level(last)]);
        }
    }
    let (legend, styles) = Legend::of(&["curve".to_owned(), "line".to_owned()], &keys);
    let curves = styles.into_iter().zip(points);
    let unit = match FigureKind::of(figure) {
        FigureKind::Share => Unit::Share,
        FigureKind::Seconds => Unit::Of("s"),
        FigureKind::Nats | FigureKind::Bytes | FigureKind::Number => Unit::Number,
    };
    Figure {
        size: Size::millimetres(150.0, 95.0),
        font_size: 8.0,
        x: Axis::linear("Rounds", Unit::Number),
        y: Axis::linear(figure.replace(['_', '.'], " "), unit),
        legend,
        panels: vec![Panel::whole(
            curves
                .map(|(style, points)| Curve {
                    style,
                    is_marked: false,
                    points,
                })
                .collect(),
        )],
    }
    .drawing()
    .svg()
}

/// The mean over the runs at the rounds that all have, with the range of the runs.
fn mean(figure: &str, runs: &[Vec<Figures>]) -> Vec<Point> {
    let mut by_round: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for record in runs.iter().flatten() {
        if let (Some(round), Some(value)) = (record.get("round"), record.get(figure)) {
            by_round.entry(*round as u64).or_default().push(*value);
        }
    }
    let complete = by_round
        .into_iter()
        .filter(|(_, values)| values.len() == runs.len());
    let point = |(round, values): (u64, Vec<f64>)| {
        let estimate = Estimate::of(&values)?;
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Point {
            x: round as f64,
            y: estimate.mean,
            low,
            high,
        })
    };
    complete.filter_map(point).collect()
}
