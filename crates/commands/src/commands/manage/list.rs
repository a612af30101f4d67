//! `meshfold runs list`.

use std::io::Write;
use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use meshfold_experiment::results::{RunEntry, RunStage};
use serde::Serialize;
use serde_json::{Map, Value};

use super::find::{Experiment, runs_in};
use super::{Choice, State};
use crate::failure::Failure;
use crate::figures::{ago, bytes, out_of, percent};
use crate::json_lines;
use crate::table::{Column, Table};
use crate::terminal;

#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// Folders of runs, of experiments, or of all results
    #[arg(value_name = "DIR", default_value = "runs")]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    choice: Choice,
    /// Print one JSON object per run, one a line
    #[arg(long)]
    json: bool,
}

/// Lists the runs in the folders.
///
/// # Errors
/// [`Failure::Refused`] if there is no run in a folder, or a setting or value stands for nothing.
pub(super) fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let mut folders = Vec::new();
    for folder in &arguments.folders {
        folders.extend(runs_in(folder).map_err(Failure::refused)?);
    }
    let mut experiments = Experiment::all(folders);
    Experiment::keep(&mut experiments, &arguments.choice)?;
    if arguments.json {
        return Ok(json_lines::print(lines(&experiments))?);
    }
    if experiments.is_empty() {
        terminal::line("there are runs, but none is among those asked for");
    }
    print(&experiments)
}

/// What is printed of a run for programs.
#[derive(Serialize)]
pub(super) struct Line {
    id: String,
    folder: String,
    /// The settings in which the runs of the experiment differ, by their paths.
    settings: Map<String, Value>,
    /// `finished`, `interrupted`, `failed`, `running` or `damaged`.
    state: &'static str,
    /// Whether an interrupted run has a checkpoint.
    checkpoint: Option<bool>,
    /// Why the run failed, or what is damaged.
    problem: Option<String>,
    /// The round of the last evaluation.
    round: Option<usize>,
    rounds: Option<usize>,
    /// The mean test accuracy at the last evaluation.
    test_accuracy: Option<f64>,
    bytes: u64,
    written: Option<String>,
}

/// The lines of all runs.
pub(super) fn lines(experiments: &[Experiment]) -> impl Iterator<Item = Line> {
    experiments.iter().flat_map(|experiment| {
        let runs = experiment.runs.iter().enumerate();
        runs.map(|(place, run)| Line::of(run, settings(experiment, place)))
    })
}

/// The settings of the run at `place` that differ among the runs of its experiment.
fn settings(experiment: &Experiment, place: usize) -> Map<String, Value> {
    let differences = experiment.differences.iter();
    let pairs = differences.map(|difference| {
        let value = difference.values[place].clone();
        (difference.path.clone(), value.unwrap_or_default())
    });
    pairs.collect()
}

impl Line {
    /// The folder of the run.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }

    fn of(run: &RunEntry, settings: Map<String, Value>) -> Self {
        let last = run.last.as_ref();
        Self {
            id: run.id.clone(),
            folder: run.folder.display().to_string(),
            settings,
            state: State::of(&run.stage).name(),
            checkpoint: match run.stage {
                RunStage::Interrupted { has_checkpoint, .. } => Some(has_checkpoint),
                _ => None,
            },
            problem: problem(run).map(str::to_owned),
            round: last.map(|last| last.round),
            rounds: rounds(run),
            test_accuracy: last.and_then(|last| last.test_accuracy.mean),
            bytes: run.bytes,
            written: run.written.map(|written| written.to_string()),
        }
    }
}

/// How many rounds the run was asked for.
fn rounds(run: &RunEntry) -> Option<usize> {
    run.settings.as_ref().and_then(|settings| settings.rounds())
}

/// What is wrong with the run, if anything is.
fn problem(run: &RunEntry) -> Option<&str> {
    match &run.stage {
        RunStage::Damaged { reason } => Some(reason),
        RunStage::Interrupted { failure, .. } => failure.as_deref(),
        RunStage::Finished | RunStage::Running => None,
    }
}

/// A table for each experiment, and what is wrong with its runs.
///
/// # Errors
/// The error of standard output.
pub(super) fn print(experiments: &[Experiment]) -> Result<(), Failure> {
    for experiment in experiments {
        let size = experiment.runs.iter().map(|run| run.bytes).sum();
        writeln!(
            std::io::stdout().lock(),
            "{}: {}, {}",
            experiment.folder.display(),
            counted(experiment.runs.len()),
            bytes(size)
        )?;
        table(experiment).print()?;
        for run in &experiment.runs {
            if let Some(problem) = problem(run) {
                writeln!(std::io::stdout().lock(), "{}: {problem}", run.id)?;
            }
        }
    }
    Ok(())
}

/// `1 run` or `12 runs`.
pub(super) fn counted(runs: usize) -> String {
    match runs {
        1 => "1 run".to_owned(),
        _ => format!("{runs} runs"),
    }
}

fn table(experiment: &Experiment) -> Table {
    let settings = experiment.differences.iter();
    let settings = settings.map(|difference| Column::Text(&difference.short));
    let mut columns = vec![Column::Text("run")];
    columns.extend(settings);
    columns.extend([
        Column::Text("state"),
        Column::Figure("round"),
        Column::Figure("accuracy"),
        Column::Figure("size"),
        Column::Figure("written"),
    ]);
    let mut table = Table::new(&columns);
    let mut settings: Vec<_> = experiment
        .differences
        .iter()
        .map(|difference| difference.texts())
        .collect();
    for run in &experiment.runs {
        let mut cells = vec![run.id.clone()];
        cells.extend(settings.iter_mut().filter_map(Iterator::next));
        cells.extend(figures(run));
        table.row(cells);
    }
    table
}

fn figures(run: &RunEntry) -> [String; 5] {
    let dash = || "-".to_owned();
    let last = run.last.as_ref();
    let accuracy = last.and_then(|last| last.test_accuracy.mean);
    let past = run
        .written
        .map(|written| SystemTime::now().duration_since(written.into()));
    [
        state(&run.stage).to_owned(),
        last.map_or_else(dash, |last| out_of(last.round, rounds(run))),
        accuracy.map_or_else(dash, percent),
        bytes(run.bytes),
        // A clock that was set back makes the future of a file.
        past.map_or_else(dash, |past| ago(past.unwrap_or_default())),
    ]
}

fn state(stage: &RunStage) -> &'static str {
    match stage {
        RunStage::Interrupted {
            has_checkpoint: true,
            failure: None,
        } => "interrupted, with checkpoint",
        RunStage::Interrupted { failure: None, .. } => "interrupted, no checkpoint",
        stage => State::of(stage).name(),
    }
}
