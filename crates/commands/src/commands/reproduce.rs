//! `meshfold reproduce [PAPER|ROW]...`: compares what papers state with our results.

mod deadline;
mod listing;
mod recording;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use clap::{Args, value_parser};
use meshfold_experiment::files::whole_file::write_atomically;
use meshfold_experiment::results::{Figures, RecordedRun};
use meshfold_experiment::{RunOptions, RunPlan, most_at_once, run_all};
use meshfold_reproduction::{Planned, Planning, RowOutcome, Rows, chosen, page, tasks};

use crate::arguments::{DataArguments, DeviceArguments};
use crate::commands::own_runs::is_broken;
use crate::commands::runs::Runs;
use crate::failure::Failure;
use crate::interruption::Interruption;
use deadline::{Deadline, Time};

/// The page, in the folder of all results.
const PAGE: &str = "reproduced.html";

#[derive(Debug, Args)]
#[command(after_help = "\
Runs that are finished are not run again, and those that were interrupted go on.

Examples:
  meshfold reproduce --within 10m
  meshfold reproduce hua --seeds 1
  meshfold reproduce --list")]
pub(crate) struct ReproduceArguments {
    /// Papers, such as hua, or rows, as --list names them [default: all]
    #[arg(value_name = "PAPER|ROW")]
    names: Vec<String>,
    /// Run only what fits into this time, such as 10m or 2h: the rows that tell most first
    #[arg(long, value_name = "TIME")]
    within: Option<Time>,
    /// Seeds from 1 on, in place of those of the files
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// List the rows, the time that each takes and the results of finished runs; run nothing
    #[arg(long)]
    list: bool,
    /// Run the other readings of the papers' texts as well, which do not decide
    #[arg(long)]
    all_readings: bool,
    /// Note what was measured in measured.json beside the file of rows, and bring the tables of the papers' READMEs up to date
    #[arg(long)]
    record: bool,
    /// What the papers state
    #[arg(long, value_name = "FILE", default_value = "experiments/rows.yaml")]
    rows: PathBuf,
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    device: DeviceArguments,
    /// Folder of all results
    #[arg(long, value_name = "DIR", default_value = "runs")]
    results: PathBuf,
    /// Most runs at the same time [default: as many as there is room for]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..))]
    at_once: Option<u16>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object per row, one a line, in place of the table
    #[arg(long)]
    json: bool,
}

/// Runs what the rows need and prints their verdicts.
///
/// # Errors
/// [`Failure::Refused`] if the rows or their experiments are at fault, [`Failure::Incomplete`] if a run failed,
/// [`Failure::Interrupted`] after Ctrl-C, [`Failure::Broken`] if the page cannot be written.
pub(crate) fn reproduce(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let deadline = arguments.within.map(Deadline::from_now);
    let rows = Rows::read(&arguments.rows)?;
    let named = rows.named(&arguments.names)?;
    let folder = arguments.data.folder()?;
    let options = RunOptions {
        device: arguments.device.open()?,
        results: arguments.results.clone(),
        again: false,
        commit: crate::COMMIT.map(str::to_owned),
    };
    let planning = Planning {
        device: &options.device,
        experiments: arguments.rows.parent().unwrap_or(Path::new("")),
        data: &folder,
        seeds: arguments.seeds,
        all_readings: arguments.all_readings,
    };
    let planned = Planned::of(&named, planning)?;
    let seconds = costs(&planned.plans, &arguments.results, options.device.threads());
    let done = match arguments.list {
        true => Ok(()),
        false => {
            let within = arguments.within.map(|time| time.seconds());
            let runs = chosen(&tasks(&planned, &seconds), &seconds, within);
            let plans: Vec<RunPlan> = runs.iter().map(|run| planned.plans[*run].clone()).collect();
            carry_out(&plans, &options, arguments, deadline)
        }
    };
    let all: Vec<Option<Vec<Figures>>> = planned
        .plans
        .iter()
        .map(|plan| finished(plan, &arguments.results))
        .collect();
    let records = |run: usize| all[run].clone();
    let outcomes = planned
        .rows
        .iter()
        .map(|row| RowOutcome::of(row, &planned.plans, &records));
    let outcomes = outcomes.collect::<Result<Vec<RowOutcome<'_>>, _>>()?;
    let left = |(run, seconds): (&Option<Vec<Figures>>, &f64)| match run {
        Some(_) => 0.0,
        None => *seconds,
    };
    let left: Vec<f64> = all.iter().zip(&seconds).map(left).collect();
    listing::print(&planned, &outcomes, &left, arguments.json)?;
    if !arguments.list {
        let file = arguments.results.join(PAGE);
        write(&file, &page(&rows, &planned, &outcomes, &records))?;
        if !arguments.json {
            writeln!(std::io::stdout().lock(), "page: {}", file.display())?;
        }
    }
    if arguments.record {
        recording::record(&arguments.rows, &rows, &outcomes, &options)?;
    }
    done
}

/// Carries out `plans` that are not finished, until the deadline.
fn carry_out(
    plans: &[RunPlan],
    options: &RunOptions,
    arguments: &ReproduceArguments,
    deadline: Option<Deadline>,
) -> Result<(), Failure> {
    let left = |plan: &&RunPlan| finished(plan, &arguments.results).is_none();
    let plans: Vec<RunPlan> = plans.iter().filter(left).cloned().collect();
    if plans.is_empty() {
        return Ok(());
    }
    let asked = Interruption::listen()?;
    let watch = deadline.map(|deadline| deadline.watch(&asked));
    let at_once = arguments.at_once.map(usize::from);
    let at_once = at_once.unwrap_or_else(|| most_at_once(&plans, options));
    let folder = arguments.data.folder()?;
    let runs = Runs::new(&plans, &folder, arguments.quiet, None);
    let reports = run_all(&plans, options, at_once, asked.flag(), &runs)?;
    runs.end();
    let is_late = watch.is_some_and(|watch| watch.end());
    if asked.flag().load(Ordering::Relaxed) && !is_late {
        return Err(asked.failure());
    }
    match reports.iter().any(|report| is_broken(&report.ending)) {
        true => Err(Failure::Incomplete),
        false => Ok(()),
    }
}

/// A run as its folder has it, if there is one.
fn recorded(plan: &RunPlan, results: &Path) -> Option<RecordedRun> {
    RecordedRun::read(&plan.folder(results)).ok()
}

/// The records of a run that is finished.
fn finished(plan: &RunPlan, results: &Path) -> Option<Vec<Figures>> {
    let run = recorded(plan, results)?;
    run.is_finished.then(|| run.figures().ok()).flatten()
}

/// Seconds that each run takes, 0 for one that is finished. The plans' estimates are corrected by the processor time of
/// runs that ran alone with `threads` threads. Wall-clock time would include the other work of the machine.
fn costs(plans: &[RunPlan], results: &Path, threads: Option<usize>) -> Vec<f64> {
    let finished: Vec<Option<RecordedRun>> = plans
        .iter()
        .map(|plan| recorded(plan, results).filter(|run| run.is_finished))
        .collect();
    let ratio = |(plan, run): (&RunPlan, &Option<RecordedRun>)| {
        let processor = run.as_ref()?.processor_seconds?;
        Some(processor / threads? as f64 / plan.seconds)
    };
    let mut ratios: Vec<f64> = plans.iter().zip(&finished).filter_map(ratio).collect();
    ratios.retain(|ratio| ratio.is_finite());
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios.get(ratios.len() / 2).copied().unwrap_or(1.0);
    let left = |(plan, run): (&RunPlan, &Option<RecordedRun>)| match run {
        Some(_) => 0.0,
        None => plan.seconds * ratio,
    };
    plans.iter().zip(&finished).map(left).collect()
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = written.and_then(|()| write_atomically(path, text.as_bytes()));
    written.map_err(|error| Failure::unwritten(path, error))
}
