//! A table for programs: each row an object of plain numbers.

use meshfold_statistics::{Estimate, Paired, Quartiles};
use serde_json::{Map, Value};

use crate::centre::{Centre, Summary};
use crate::cost_figure::CostFigure;
use crate::name::without_star;
use crate::table::{Outcome, Row, Table};

/// One object for each row, all with the same keys in the same order. Accuracies are fractions, settings that are numbers are
/// numbers, and what is not known or set is null.
pub fn records(table: &Table) -> Vec<Map<String, Value>> {
    table.rows.iter().map(|row| record(row, table)).collect()
}

/// The [`records`] as CSV with a line of titles.
///
/// # Errors
/// None that a table can cause: what the writer of CSV answers.
pub fn csv(table: &Table) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for (place, record) in records(table).iter().enumerate() {
        if place == 0 {
            writer.write_record(record.keys())?;
        }
        writer.write_record(record.values().map(cell))?;
    }
    let bytes = writer.into_inner().map_err(|error| error.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn record(row: &Row, table: &Table) -> Map<String, Value> {
    let request = &table.request;
    let mut record = Map::new();
    let names = request.by.iter().chain(&request.best);
    let texts = row.keys.iter().chain(&row.chosen);
    for ((name, text), value) in names.zip(texts).zip(&row.settings) {
        let plain = match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(_) | Value::Array(_) | Value::Object(_) => text.clone().into(),
        };
        record.insert(without_star(name).to_owned(), plain);
    }
    let summary = request.summary;
    match &row.outcome {
        Outcome::Figure(centre) if !request.also.is_empty() => {
            let centres = [*centre].into_iter().chain(row.also.iter().copied());
            for (figure, centre) in request.figures().zip(centres) {
                put_figure(&mut record, &format!("{figure}_"), figure, centre, summary);
            }
        }
        Outcome::Figure(centre) => {
            record.insert("metric".to_owned(), request.metric.clone().into());
            put_figure(&mut record, "", &request.metric, *centre, summary);
        }
        Outcome::Target(reaching) => {
            record.insert("runs".to_owned(), reaching.runs.into());
            record.insert("reached".to_owned(), reaching.reached.into());
            put_centre(&mut record, "rounds_", reaching.rounds, summary);
            put_centre(&mut record, "bytes_", reaching.bytes, summary);
            put_centre(&mut record, "seconds_", reaching.seconds, summary);
        }
    }
    if request.compare.is_some() {
        put_comparison(&mut record, row.comparison.as_ref());
        record.insert("p_value_holm".to_owned(), row.corrected.into());
    }
    record
}

/// What runs say of `figure`. Of a median of what it takes to reach a target, the runs that never reach it count, too.
fn put_figure(
    record: &mut Map<String, Value>,
    prefix: &str,
    figure: &str,
    centre: Option<Centre>,
    summary: Summary,
) {
    put_centre(record, prefix, centre, summary);
    if summary == Summary::Median && CostFigure::parse(figure).is_some() {
        let runs = centre.map_or(0, |centre| centre.runs());
        record.insert(format!("{prefix}runs"), runs.into());
    }
}

fn put_centre(
    record: &mut Map<String, Value>,
    prefix: &str,
    centre: Option<Centre>,
    summary: Summary,
) {
    let (estimate, quartiles) = match &centre {
        None => (None, None),
        Some(Centre::Mean(estimate)) => (Some(estimate), None),
        Some(Centre::Median(quartiles)) => (None, Some(quartiles)),
    };
    match summary {
        Summary::Mean => put_estimate(record, prefix, estimate),
        Summary::Median => put_quartiles(record, prefix, quartiles),
    }
}

fn put_quartiles(record: &mut Map<String, Value>, prefix: &str, quartiles: Option<&Quartiles>) {
    let n = quartiles.map_or(0, |quartiles| quartiles.known);
    record.insert(format!("{prefix}n"), n.into());
    let numbers = [
        ("median", quartiles.map(|quartiles| quartiles.median)),
        ("q1", quartiles.map(|quartiles| quartiles.low)),
        ("q3", quartiles.map(|quartiles| quartiles.high)),
    ];
    for (name, quantile) in numbers {
        let number = quantile.and_then(|quantile| quantile.number());
        record.insert(format!("{prefix}{name}"), number.into());
    }
}

fn put_estimate(record: &mut Map<String, Value>, prefix: &str, estimate: Option<&Estimate>) {
    let n = estimate.map_or(0, |estimate| estimate.n);
    let interval = estimate.and_then(|estimate| estimate.interval);
    record.insert(format!("{prefix}n"), n.into());
    let numbers = [
        ("mean", estimate.map(|estimate| estimate.mean)),
        ("sd", estimate.and_then(|estimate| estimate.sd)),
        ("low", interval.map(|interval| interval.low)),
        ("high", interval.map(|interval| interval.high)),
    ];
    for (name, number) in numbers {
        record.insert(format!("{prefix}{name}"), number.into());
    }
}

fn put_comparison(record: &mut Map<String, Value>, paired: Option<&Paired>) {
    let test = paired.and_then(|paired| paired.test);
    put_estimate(
        record,
        "difference_",
        paired.map(|paired| &paired.difference),
    );
    let numbers = [
        ("effect", test.map(|test| test.effect)),
        ("t", test.map(|test| test.t)),
        ("p_value", test.map(|test| test.p_value)),
    ];
    for (name, number) in numbers {
        record.insert(name.to_owned(), number.into());
    }
}
