//! `meshfold runs remove`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use meshfold_experiment::results::Removal;
use serde::Serialize;

use super::Choice;
use super::find::{Experiment, runs_of};
use super::list::{Line, counted, lines, print};
use crate::commands::experiment_page;
use crate::failure::Failure;
use crate::figures::bytes;
use crate::json_lines;
use crate::terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
A run that a process works on is not removed. The page and the tables of the experiment are written again.

Examples:
  meshfold runs remove 3fa2                                  show what would be removed
  meshfold runs remove 3fa2 91c0 --yes
  meshfold runs remove runs/first --state interrupted --yes")]
pub(super) struct RemoveArguments {
    /// Ids of runs, the beginning of them, or folders with runs, of which all are meant
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Where ids are looked up
    #[arg(long, value_name = "DIR", default_value = "runs")]
    results: PathBuf,
    #[command(flatten)]
    choice: Choice,
    /// Remove them
    #[arg(short, long)]
    yes: bool,
    /// Print one JSON object per run, one a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct Told {
    #[serde(flatten)]
    run: Line,
    /// Whether it has been removed.
    removed: bool,
}

/// Shows the chosen runs and, if asked to, removes them.
///
/// # Errors
/// [`Failure::Refused`] if a word stands for no run, or a run may not be removed: then none is. [`Failure::Incomplete`] if a
/// file cannot be removed, or what is about all runs cannot be written.
pub(super) fn remove(arguments: &RemoveArguments) -> Result<(), Failure> {
    let mut folders = Vec::new();
    for word in &arguments.runs {
        folders.extend(runs_of(word, &arguments.results)?);
    }
    let mut experiments = Experiment::all(folders);
    Experiment::keep(&mut experiments, &arguments.choice)?;
    let runs: Vec<&Path> = experiments
        .iter()
        .flat_map(|experiment| experiment.runs.iter().map(|run| run.folder.as_path()))
        .collect();
    expect_removable(&runs)?;
    if !arguments.json {
        print(&experiments)?;
    }
    // What is printed of each run is looked up while it is there.
    let shown: Vec<Line> = lines(&experiments).collect();
    let tell = |shown: Vec<Line>, removed: bool| match arguments.json {
        true => json_lines::print(shown.into_iter().map(|run| Told { run, removed })),
        false => Ok(()),
    };
    let size = experiments.iter().flat_map(|experiment| &experiment.runs);
    let size = bytes(size.map(|run| run.bytes).sum());
    let counted = counted(runs.len());
    if !arguments.yes || runs.is_empty() {
        terminal::line(&match runs.is_empty() {
            true => "there are runs, but none is among those asked for".to_owned(),
            false => format!("nothing is removed yet: add --yes to remove {counted}, {size}"),
        });
        return Ok(tell(shown, false)?);
    }
    let mut is_whole = true;
    for experiment in &experiments {
        is_whole &= remove_from(experiment);
    }
    let (gone, left) = shown
        .into_iter()
        .partition(|run| !Path::new(run.folder()).exists());
    tell(gone, true)?;
    tell(left, false)?;
    if !is_whole {
        return Err(Failure::Incomplete);
    }
    if !arguments.json {
        writeln!(std::io::stdout().lock(), "removed {counted}, {size}")?;
    }
    Ok(())
}

/// Requires that every one of `runs` may be removed.
///
/// # Errors
/// [`Failure::Refused`], which names all others.
fn expect_removable(runs: &[&Path]) -> Result<(), Failure> {
    let refusals = runs.iter().filter_map(|run| Removal::of(run).err());
    let refusals: Vec<String> = refusals.map(|error| error.to_string()).collect();
    match refusals.is_empty() {
        true => Ok(()),
        false => Err(Failure::refused(format_args!(
            "nothing is removed:\n{}",
            refusals.join("\n")
        ))),
    }
}

/// Removes the runs of an experiment and brings its folder up to date. Returns whether all went well; failures have
/// been reported.
fn remove_from(experiment: &Experiment) -> bool {
    let mut removed = Vec::new();
    let mut is_whole = true;
    for run in &experiment.runs {
        match Removal::of(&run.folder).and_then(Removal::carry_out) {
            Ok(()) => removed.push(run.id.as_str()),
            Err(error) => {
                terminal::line(&error.to_string());
                is_whole = false;
            }
        }
    }
    if let Err(error) = experiment_page::forget(&experiment.folder, &removed) {
        let folder = experiment.folder.display();
        terminal::line(&format!(
            "no report of the runs that are left: {error}; `meshfold report {folder}` writes it later"
        ));
        is_whole = false;
    }
    is_whole
}
