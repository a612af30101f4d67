//! `meshfold churn FILE`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use meshfold_experiment::{ChurnRun, ConfigError, ExperimentSource, brief, plan_churn};
use meshfold_report::write_churn_report;
use meshfold_topology::protocol::{ChurnSample, ChurnTrace, EventRecord, simulate};
use serde::Serialize;

use crate::failure::Failure;
use crate::figures::{count, percent};
use crate::json_lines;
use crate::table::{Column, Table};

#[derive(Debug, Args)]
#[command(after_help = "\
experiments/hua/churn.yaml is such a file, with every key.

Example:
  meshfold churn experiments/hua/churn.yaml --html churn.html")]
pub(crate) struct ChurnArguments {
    /// The YAML file: nodes, rings, latencies and what happens when
    file: PathBuf,
    /// Override a value of the file, such as heartbeat_seconds=2; repeatable
    #[arg(long = "set", value_name = "A.B=C")]
    overrides: Vec<String>,
    /// Write a page with the courses over time
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON object per simulation, one a line, with its events and samples
    #[arg(long)]
    json: bool,
}

impl ChurnArguments {
    /// The text of the file with the overrides.
    ///
    /// # Errors
    /// [`ConfigError`] if the file cannot be read.
    fn source(&self) -> Result<ExperimentSource, ConfigError> {
        Ok(ExperimentSource::read(&self.file)?.with_overrides(self.overrides.iter().cloned()))
    }

    /// The name of the file without its ending.
    fn title(&self) -> String {
        let name = self.file.file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

const COLUMNS: [Column<'_>; 11] = [
    Column::Text("event"),
    Column::Figure("at"),
    Column::Figure("nodes"),
    Column::Figure("alive"),
    Column::Figure("correct, right after"),
    Column::Figure("in the end"),
    Column::Figure("components"),
    Column::Figure("recovered after"),
    Column::Figure("messages"),
    Column::Figure("per node"),
    Column::Figure("hops per query"),
];

/// What is printed of a simulation with `--json`.
#[derive(Serialize)]
struct Line<'a> {
    label: String,
    /// Share of the nodes alive in the end that have exactly the correct neighbours.
    correct: f64,
    events: &'a [EventRecord],
    samples: &'a [ChurnSample],
}

/// Simulates what the file asks for, and shows what each event cost and how long it lasted.
///
/// # Errors
/// [`Failure::Refused`] if the file asks for what cannot work, [`Failure::Broken`] if the page cannot be written.
pub(crate) fn churn(arguments: &ChurnArguments) -> Result<(), Failure> {
    let mut runs = Vec::new();
    for run in plan_churn(&arguments.source()?)? {
        let trace = simulate(&run.churn)?;
        runs.push((run, trace));
    }
    if let Some(page) = &arguments.html {
        write_churn_report(&arguments.title(), &runs, page)?;
    }
    if arguments.json {
        return Ok(json_lines::print(runs.iter().map(line))?);
    }
    print(&runs, arguments.html.as_deref())
}

fn line((run, trace): &(ChurnRun, ChurnTrace)) -> Line<'_> {
    Line {
        label: run.label(),
        correct: final_share(trace),
        events: &trace.events,
        samples: &trace.samples,
    }
}

/// A table for each simulation, and where the page is.
fn print(runs: &[(ChurnRun, ChurnTrace)], page: Option<&Path>) -> Result<(), Failure> {
    for (run, trace) in runs {
        if runs.len() > 1 {
            writeln!(std::io::stdout().lock(), "{}", brief(&run.label()))?;
        }
        let mut table = Table::new(&COLUMNS);
        for record in &trace.events {
            table.row(cells(record));
        }
        table.print()?;
        let sent = trace.samples.last().map_or(0, |sample| sample.heartbeats);
        writeln!(
            std::io::stdout().lock(),
            "after {} s: {} of the nodes have the correct neighbours; {} heartbeats beside the messages",
            run.churn.until_seconds,
            percent(final_share(trace)),
            count(sent)
        )?;
    }
    if let Some(page) = page {
        writeln!(std::io::stdout().lock(), "report: {}", page.display())?;
    }
    Ok(())
}

fn final_share(trace: &ChurnTrace) -> f64 {
    let last_event = trace.events.last().map(|record| record.correct);
    let last_sample = trace.samples.last().map(|sample| sample.correct);
    last_event.or(last_sample).unwrap_or(1.0)
}

fn cells(record: &EventRecord) -> [String; 11] {
    let dash = || "-".to_owned();
    [
        record.kind.name().to_owned(),
        format!("{} s", record.at_seconds),
        count(record.nodes as u64),
        count(record.alive as u64),
        percent(record.correct_after),
        percent(record.correct),
        count(record.components as u64),
        record
            .recovered_seconds
            .map_or_else(dash, |seconds| format!("{seconds:.2} s")),
        count(record.messages),
        format!("{:.1}", record.messages_per_node),
        record
            .hops_per_search
            .map_or_else(dash, |hops| format!("{hops:.1}")),
    ]
}
