//! `meshfold status FILE|DIR`: how the runs of an experiment stand, wherever they are carried out.

mod standing;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::{Args, value_parser};
use meshfold_experiment::results::{Process, RunEntry, is_run};
use meshfold_experiment::{ExperimentSource, Own, RunPlan, brief, plan_elsewhere, work};
use serde::Serialize;

use crate::arguments::DataArguments;
use crate::commands::manage::find::{Experiment, runs_in};
use crate::commands::submit::queued_or_told;
use crate::failure::Failure;
use crate::figures::{duration, out_of, percent};
use crate::json_lines;
use crate::table::{Column, Table};
use crate::terminal;

pub(super) use standing::{Run, Standing};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  meshfold status sweep.yaml                 all runs of the sweep, those that nobody has begun as well
  meshfold status runs/sweep --watch         what lies in the folder, again and again
  meshfold status sweep.yaml --json")]
pub(crate) struct StatusArguments {
    /// The experiment's YAML file, or a folder of results
    #[arg(value_name = "FILE|DIR")]
    path: PathBuf,
    /// Override a value of the experiment; repeatable
    #[arg(long = "set", value_name = "A.B=C")]
    overrides: Vec<String>,
    #[command(flatten)]
    data: DataArguments,
    /// Folder of all results
    #[arg(long, value_name = "DIR", default_value = "runs")]
    results: PathBuf,
    /// Show it again every few seconds, until no run is left to wait for
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        default_missing_value = "5",
        value_parser = value_parser!(u32).range(1..=86_400)
    )]
    watch: Option<u32>,
    /// Print one JSON object per run, one a line
    #[arg(long, conflicts_with = "watch")]
    json: bool,
}

/// Shows how runs stand.
///
/// # Errors
/// [`Failure::Refused`] if the experiment cannot be planned, or the folder holds no run.
pub(crate) fn status(arguments: &StatusArguments, own: &Own) -> Result<(), Failure> {
    let plans = match arguments.path.is_dir() {
        true => None,
        false => Some(plans(arguments, own)?),
    };
    let mut known = BTreeMap::new();
    loop {
        let runs = match &plans {
            Some(plans) => of_plans(plans, &arguments.results, &mut known),
            None => of_folder(&arguments.path)?,
        };
        if arguments.json {
            return Ok(json_lines::print(runs.iter().map(Line::of))?);
        }
        if arguments.watch.is_some() && terminal::width().is_some() {
            console::Term::stdout().clear_screen()?;
        }
        print(&runs)?;
        match arguments.watch {
            Some(seconds) if runs.iter().any(Run::is_to_come) => {
                thread::sleep(Duration::from_secs(u64::from(seconds)));
            }
            _ => return Ok(()),
        }
    }
}

fn plans(arguments: &StatusArguments, own: &Own) -> Result<Vec<RunPlan>, Failure> {
    let source = ExperimentSource::read(&arguments.path)?;
    let source = source.with_overrides(arguments.overrides.iter().cloned());
    let source = source.with_own(own.clone());
    let folder = arguments.data.folder_for(&source)?;
    Ok(plan_elsewhere(None, &source, &folder)?)
}

/// How the runs of `plans` stand. What was found of a finished run is kept in `known` and not read again.
pub(super) fn of_plans(
    plans: &[RunPlan],
    results: &Path,
    known: &mut BTreeMap<String, RunEntry>,
) -> Vec<Run> {
    let mut jobs = BTreeMap::new();
    for name in plans.iter().map(|plan| &plan.config.name) {
        jobs.entry(name)
            .or_insert_with(|| queued_or_told(&results.join(name)));
    }
    let of_plan = |plan: &RunPlan| {
        let folder = plan.folder(results);
        let read = || is_run(&folder).then(|| RunEntry::of(&folder));
        let entry = known.get(&plan.id).cloned().or_else(read);
        let job = jobs[&plan.config.name].get(&plan.id);
        let run = Run {
            id: plan.id.clone(),
            label: plan.label(),
            rounds: Some(plan.config.rounds),
            work: work(plan),
            standing: Standing::of(entry.as_ref(), &folder, job),
            entry,
            folder,
        };
        if let (Standing::Finished, Some(entry)) = (&run.standing, &run.entry) {
            known.insert(plan.id.clone(), entry.clone());
        }
        run
    };
    plans.iter().map(of_plan).collect()
}

/// How the runs in `folder` stand.
fn of_folder(folder: &Path) -> Result<Vec<Run>, Failure> {
    let folders = runs_in(folder).map_err(Failure::refused)?;
    let mut runs = Vec::new();
    for experiment in Experiment::all(folders) {
        let jobs = queued_or_told(&experiment.folder);
        let labels = experiment.labels();
        for (entry, label) in experiment.runs.into_iter().zip(labels) {
            runs.push(Run {
                id: entry.id.clone(),
                label,
                rounds: entry
                    .settings
                    .as_ref()
                    .and_then(|settings| settings.rounds()),
                work: 1.0,
                standing: Standing::of(Some(&entry), &entry.folder, jobs.get(&entry.id)),
                folder: entry.folder.clone(),
                entry: Some(entry),
            });
        }
    }
    Ok(runs)
}

/// What is printed of a run for programs.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    label: &'a str,
    folder: String,
    /// `finished`, `running`, `failed`, `interrupted`, `damaged`, `queued` or `waiting`.
    state: &'static str,
    round: Option<usize>,
    rounds: Option<usize>,
    /// The mean test accuracy at the last evaluation.
    test_accuracy: Option<f64>,
    /// Where it runs.
    host: Option<&'a str>,
    pid: Option<u32>,
    since: Option<String>,
    /// The job of the scheduler that it is queued in.
    job: Option<&'a str>,
    seconds_left: Option<f64>,
    /// Seconds since the process that runs it gave a sign of life.
    last_sign_seconds: Option<f64>,
    /// Why it failed, or what is damaged.
    problem: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn of(run: &'a Run) -> Self {
        let holder = run.holder();
        let process: Option<&Process> = holder.map(|holder| &holder.process);
        Self {
            id: &run.id,
            label: &run.label,
            folder: run.folder.display().to_string(),
            state: run.standing.name(),
            round: run.round(),
            rounds: run.rounds,
            test_accuracy: run.accuracy(),
            host: process.map(|process| process.host.as_str()),
            pid: process.map(|process| process.pid),
            since: holder.map(|holder| holder.since.to_string()),
            job: run.job(),
            seconds_left: run.seconds_left(),
            last_sign_seconds: run.last_sign().map(|past| past.as_secs_f64().round()),
            problem: run.problem(),
        }
    }
}

/// A table, a line about all, and what is wrong with some.
fn print(runs: &[Run]) -> Result<(), Failure> {
    let mut table = Table::new(&[
        Column::Text("run"),
        Column::Text("id"),
        Column::Text("state"),
        Column::Figure("round"),
        Column::Figure("accuracy"),
        Column::Text("where"),
        Column::Figure("left"),
    ]);
    for run in runs {
        table.row(cells(run));
    }
    table.print()?;
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", standing::summary(runs))?;
    for run in runs {
        if let Some(problem) = run.problem() {
            writeln!(output, "{} ({}): {problem}", brief(&run.label), run.id)?;
        }
    }
    Ok(())
}

/// A process that has given no sign of life for so long may have died: it gives one every few seconds.
const LATE: Duration = Duration::from_secs(30);

fn cells(run: &Run) -> [String; 7] {
    let dash = || "-".to_owned();
    let place = run.holder().map(|holder| {
        let Process { host, pid, .. } = &holder.process;
        let still = run.last_sign().filter(|past| *past > LATE);
        let still = still.map_or_else(String::new, |past| {
            format!(", last sign {} ago", duration(past))
        });
        format!("{host}, process {pid}{still}")
    });
    let job = run.job().map(|job| format!("job {job}"));
    let left = run.seconds_left();
    let left = left.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    [
        brief(&run.label).into_owned(),
        run.id.clone(),
        run.standing.name().to_owned(),
        run.round()
            .map_or_else(dash, |round| out_of(round, run.rounds)),
        run.accuracy().map_or_else(dash, percent),
        place.or(job).unwrap_or_else(dash),
        left.map_or_else(dash, duration),
    ]
}
