//! The rows in a table, or as JSON.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use meshfold_reproduction::{Planned, RowOutcome, Verdict, tasks};
use serde::Serialize;

use crate::failure::Failure;
use crate::figures::duration;
use crate::json_lines;
use crate::table::{Column, Table};

/// A row as `--json` prints it.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    paper: &'a str,
    place: &'a str,
    says: &'a str,
    verdict: Verdict,
    reason: &'a str,
    /// Seconds that its missing runs take.
    seconds: f64,
    /// The values of the reading that decides, by name and seed; `null` where a level was never reached.
    values: BTreeMap<&'a str, BTreeMap<u64, Option<f64>>>,
}

/// Prints the rows with what finished runs say of them, and what the others take.
///
/// # Errors
/// [`Failure::Unread`] and [`Failure::Broken`] if standard output does not take it.
pub(super) fn print(
    planned: &Planned<'_>,
    outcomes: &[RowOutcome<'_>],
    seconds: &[f64],
    as_json: bool,
) -> Result<(), Failure> {
    let costs = costs(planned, seconds);
    let rows = outcomes.iter().zip(&costs);
    if as_json {
        return Ok(json_lines::print(
            rows.map(|(outcome, cost)| line(outcome, *cost)),
        )?);
    }
    let mut table = Table::new(&[
        Column::Text("row"),
        Column::Text("place"),
        Column::Text("verdict"),
        Column::Figure("left"),
        Column::Text("why"),
    ]);
    for (outcome, cost) in rows {
        let left = match *cost > 0.0 {
            true => duration(Duration::from_secs_f64(*cost)),
            false => String::new(),
        };
        let row = outcome.row;
        let cells = [
            &row.id,
            &row.place,
            outcome.verdict.words(),
            &left,
            &outcome.reason,
        ];
        table.row(cells.map(str::to_owned));
    }
    table.print()?;
    let counts = Verdict::counts_in_words(outcomes);
    let left = seconds_left(planned, seconds);
    let mut output = std::io::stdout().lock();
    match left > 0.0 {
        true => writeln!(
            output,
            "{counts}; the runs that are left take about {}",
            duration(Duration::from_secs_f64(left))
        )?,
        false => writeln!(output, "{counts}")?,
    }
    Ok(())
}

/// Seconds that the missing runs of each row take.
fn costs(planned: &Planned<'_>, seconds: &[f64]) -> Vec<f64> {
    let mut costs = vec![0.0; planned.rows.len()];
    for task in tasks(planned, seconds) {
        costs[task.row] += task.runs.iter().map(|run| seconds[*run]).sum::<f64>();
    }
    costs
}

/// Seconds that all missing runs take, each once.
fn seconds_left(planned: &Planned<'_>, seconds: &[f64]) -> f64 {
    let tasks = tasks(planned, seconds);
    let mut runs: Vec<usize> = tasks.into_iter().flat_map(|task| task.runs).collect();
    runs.sort_unstable();
    runs.dedup();
    runs.into_iter().map(|run| seconds[run]).sum()
}

fn line<'a>(outcome: &'a RowOutcome<'_>, seconds: f64) -> Line<'a> {
    let first = outcome
        .readings
        .first()
        .into_iter()
        .flat_map(|reading| &reading.values);
    let values =
        first.map(|(name, values)| (name.as_str(), values.by_seed().iter().copied().collect()));
    Line {
        id: &outcome.row.id,
        paper: &outcome.row.paper,
        place: &outcome.row.place,
        says: &outcome.row.says,
        verdict: outcome.verdict,
        reason: &outcome.reason,
        seconds,
        values: values.collect(),
    }
}
