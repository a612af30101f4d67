//! A table in words.

use meshfold_experiment::results::{FigureKind, more_is_better};
use meshfold_statistics::{Estimate, Paired};

use crate::table::{Outcome, Row, Table};

/// Titles, and for each row its cells.
#[derive(Clone, Debug)]
pub struct Grid {
    /// One for each column.
    pub titles: Vec<String>,
    /// How many columns, from the first, hold words; the others hold figures.
    pub words: usize,
    /// In the order of the table.
    pub rows: Vec<GridRow>,
    /// What stands below the table.
    pub notes: Vec<String>,
}

/// The cells of a row.
#[derive(Clone, Debug)]
pub struct GridRow {
    /// One for each column.
    pub cells: Vec<String>,
    /// Whether its mean is the best of the rows that differ from it in the last setting only.
    pub is_best: bool,
}

impl Grid {
    /// The table as people read it: accuracies in per cent, `mean ± half of the 95 % interval`.
    pub fn of(table: &Table) -> Self {
        let request = &table.request;
        let mut titles: Vec<String> = request.by.iter().chain(&request.best).cloned().collect();
        let words = titles.len();
        let is_target = table
            .rows
            .iter()
            .any(|row| matches!(row.outcome, Outcome::Target(_)));
        titles.extend(match is_target {
            true => ["reached", "rounds", "bytes", "seconds"]
                .map(str::to_owned)
                .to_vec(),
            false => ["n".to_owned(), request.metric.clone(), "sd".to_owned()].to_vec(),
        });
        if let Some((_, value)) = &request.compare {
            titles.extend([
                format!("minus {value}"),
                "effect".to_owned(),
                "p".to_owned(),
            ]);
        }
        let percent = FigureKind::of(&request.metric) == FigureKind::Share;
        let with_comparison = request.compare.is_some();
        let rows = table.rows.iter().map(|row| GridRow {
            cells: cells(row, percent, with_comparison),
            is_best: is_best(row, table),
        });
        let rows: Vec<GridRow> = rows.collect();
        Self {
            titles,
            words,
            notes: notes(table, &rows),
            rows,
        }
    }
}

/// The notes of `table`, and what the signs in its `rows` mean.
fn notes(table: &Table, rows: &[GridRow]) -> Vec<String> {
    let over = &table.request.over;
    let mut notes = table.notes.clone();
    let mut cells = rows.iter().flat_map(|row| &row.cells);
    if cells.any(|cell| cell.contains('±')) {
        notes.push(format!(
            "± is half of the 95 % interval of the mean (Student's t) over {over}"
        ));
    }
    if let Some((field, value)) = &table.request.compare {
        notes.push(format!(
            "minus {value}: mean difference to the row with {field}={value} over the same {over}; effect: Cohen's d of the \
             pairs; p: paired t test, two-sided, not corrected for several comparisons"
        ));
    }
    notes
}

fn cells(row: &Row, percent: bool, with_comparison: bool) -> Vec<String> {
    let mut cells: Vec<String> = row.keys.iter().chain(&row.chosen).cloned().collect();
    match &row.outcome {
        Outcome::Figure(estimate) => {
            let n = estimate.map_or(0, |estimate| estimate.n);
            let sd = estimate.and_then(|estimate| estimate.sd);
            cells.push(n.to_string());
            cells.push(mean(estimate.as_ref(), percent));
            cells.push(sd.map_or_else(dash, |sd| figure(sd, percent)));
        }
        Outcome::Target(reaching) => {
            cells.push(format!("{} of {}", reaching.reached, reaching.runs));
            let costs = [reaching.rounds, reaching.bytes, reaching.seconds];
            cells.extend(costs.map(|cost| mean(cost.as_ref(), false)));
        }
    }
    if with_comparison {
        cells.extend(comparison(row.comparison.as_ref(), percent));
    }
    cells
}

fn comparison(paired: Option<&Paired>, percent: bool) -> [String; 3] {
    let test = paired.and_then(|paired| paired.test);
    [
        mean(paired.map(|paired| &paired.difference), percent),
        test.map_or_else(dash, |test| format!("{:.2}", test.effect)),
        test.map_or_else(dash, |test| match test.p_value < 0.001 {
            true => "< 0.001".to_owned(),
            false => format!("{:.3}", test.p_value),
        }),
    ]
}

/// `88.8 ± 1.2 %`; without an interval the mean alone.
fn mean(estimate: Option<&Estimate>, percent: bool) -> String {
    let Some(estimate) = estimate else {
        return dash();
    };
    let unit = if percent { " %" } else { "" };
    let mean = number(estimate.mean, percent);
    match estimate.interval {
        Some(interval) => format!("{mean} ± {}{unit}", number(interval.half_width(), percent)),
        None => format!("{mean}{unit}"),
    }
}

fn figure(value: f64, percent: bool) -> String {
    format!(
        "{}{}",
        number(value, percent),
        if percent { " %" } else { "" }
    )
}

/// Two decimals of a per cent; other figures with four significant digits.
fn number(value: f64, percent: bool) -> String {
    if percent {
        return format!("{:.2}", 100.0 * value);
    }
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..1e6).contains(&size) => {
            let decimals = (3 - size.log10().floor() as i32).max(0) as usize;
            format!("{value:.decimals$}")
        }
        _ => format!("{value:.3e}"),
    }
}

fn dash() -> String {
    "–".to_owned()
}

fn is_best(row: &Row, table: &Table) -> bool {
    let above = |row: &Row| row.keys.split_last().map(|(_, above)| above.to_vec());
    let mean = |row: &Row| match row.outcome {
        Outcome::Figure(estimate) => estimate.map(|estimate| estimate.mean),
        Outcome::Target(_) => None,
    };
    let sign = if more_is_better(&table.request.metric) {
        1.0
    } else {
        -1.0
    };
    let Some(own) = mean(row) else { return false };
    let mut rivals = table.rows.iter().filter(|other| above(other) == above(row));
    rivals.all(|other| mean(other).is_none_or(|other| sign * own >= sign * other))
}
