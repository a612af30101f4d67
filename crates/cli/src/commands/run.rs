//! `meshfold run FILE`: the main job.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use meshfold_data::{DataFolder, DatasetConfig, Splits};
use meshfold_engine::Device;
use meshfold_experiment::{
    Ending, RunOptions, RunPlan, RunReport, Summary, finished, plan, run as carry_out, write_report,
};
use serde::Serialize;

use crate::arguments::RunArguments;
use crate::commands::plan::warn;
use crate::failure::Failure;
use crate::figures::{bytes, decimal, duration, percent};
use crate::interruption;
use crate::json_lines;
use crate::progress::Progress;
use crate::table::{Column, Table};
use crate::terminal;

/// Runs an experiment: all runs of its sweep, one after another.
///
/// # Errors
/// [`Failure::Refused`] if something asked for is wrong, before anything is written; [`Failure::Incomplete`] if a run
/// failed, the others having gone on; [`Failure::Interrupted`] after Ctrl-C; [`Failure::Broken`] if files fail.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let device = arguments.device.open()?;
    let folder = arguments.experiment.data.folder()?;
    let plans = plan(&arguments.experiment.source()?, &folder)?;
    let session = Session {
        options: RunOptions {
            device,
            results: arguments.results.clone(),
            again: arguments.again,
            commit: option_env!("MESHFOLD_COMMIT").map(str::to_owned),
        },
        quiet: arguments.quiet,
        folder,
    };
    session.greet(&plans);
    warn(&plans);
    let stop = interruption::listen()?;
    let reports = session.run_all(&plans, &stop)?;
    let pages = session.report(&plans, &reports)?;
    let lines = plans.iter().zip(&reports).zip(&pages.of_runs);
    let lines = lines.map(|((plan, report), page)| Line::of(plan, report, page));
    if arguments.json {
        json_lines::print(lines)?;
    } else {
        print(&lines.collect::<Vec<_>>(), &pages)?;
    }
    let any = |is: fn(&Ending) -> bool| reports.iter().any(|report| is(&report.ending));
    if reports.len() < plans.len() || any(|ending| matches!(ending, Ending::Interrupted)) {
        return Err(Failure::Interrupted);
    }
    if any(|ending| matches!(ending, Ending::Failed { .. })) {
        return Err(Failure::Incomplete);
    }
    Ok(())
}

/// What all runs of the command have in common.
struct Session {
    options: RunOptions,
    folder: DataFolder,
    quiet: bool,
}

impl Session {
    /// Says what is about to be done, and on which device.
    fn greet(&self, plans: &[RunPlan]) {
        let (Some(first), false) = (plans.first(), self.quiet) else {
            return;
        };
        let runs = if plans.len() == 1 {
            "1 run".to_owned()
        } else {
            format!("{} runs", plans.len())
        };
        let device = match &self.options.device {
            Device::Cpu(cpu) => {
                format!("cpu/{} with {} threads", cpu.instructions(), cpu.threads())
            }
            #[cfg(feature = "gpu")]
            gpu => gpu.kind(),
        };
        let version = env!("CARGO_PKG_VERSION");
        terminal::line(&format!(
            "meshfold {version}: {}, {runs} on {device}",
            first.config.name
        ));
    }

    /// The runs one after another, as far as they are begun before `stop`.
    fn run_all(&self, plans: &[RunPlan], stop: &AtomicBool) -> Result<Vec<RunReport>, Failure> {
        let mut reports: Vec<RunReport> = Vec::new();
        let mut loaded: Vec<(DatasetConfig, Splits)> = Vec::new();
        for (index, plan) in plans.iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let place = if plans.len() > 1 {
                format!("[{}/{}] ", index + 1, plans.len())
            } else {
                String::new()
            };
            let title = format!("{place}{}", plan.label());
            let began = Instant::now();
            let report = match finished(plan, &self.options)? {
                Some(report) => report,
                None => {
                    let data = self.data(plan, &mut loaded)?;
                    let mut progress = Progress::new(title.clone(), self.quiet);
                    carry_out(plan, &data, &self.options, stop, &mut progress)?
                }
            };
            self.tell(&title, plan, &report, began);
            reports.push(report);
            let is_needed = |dataset: &DatasetConfig| {
                plans[index + 1..]
                    .iter()
                    .any(|plan| plan.config.dataset == *dataset)
            };
            loaded.retain(|(dataset, _)| is_needed(dataset));
        }
        Ok(reports)
    }

    /// The examples of `plan`, kept in `loaded`.
    fn data(
        &self,
        plan: &RunPlan,
        loaded: &mut Vec<(DatasetConfig, Splits)>,
    ) -> Result<Splits, Failure> {
        let dataset = &plan.config.dataset;
        if let Some((_, splits)) = loaded.iter().find(|(known, _)| known == dataset) {
            return Ok(splits.clone());
        }
        let splits = dataset.load(&self.folder)?;
        loaded.push((dataset.clone(), splits.clone()));
        Ok(splits)
    }

    /// Says how a run ended; that it failed or was skipped is said even if `quiet`.
    fn tell(&self, title: &str, plan: &RunPlan, report: &RunReport, began: Instant) {
        let accuracy = report.last.as_ref().map(|last| {
            let spread = &last.test_accuracy;
            format!(
                "accuracy {} ({} to {})",
                percent(spread.mean),
                percent(spread.min),
                percent(spread.max)
            )
        });
        let accuracy = accuracy.unwrap_or_else(|| "no record".to_owned());
        let (is_news, text) = match &report.ending {
            Ending::Finished => (
                false,
                format!(
                    "{accuracy} after {} rounds, {}",
                    plan.config.rounds,
                    duration(began.elapsed())
                ),
            ),
            Ending::Skipped { by, differs } => {
                let other = if *differs {
                    ", which may differ in bits from a run here"
                } else {
                    ""
                };
                let text = format!(
                    "skipped, {accuracy}: finished before by meshfold {} on {}{other}; --again runs it again",
                    by.meshfold, by.device
                );
                (true, text)
            }
            Ending::Interrupted => {
                let next = match plan.config.checkpoint {
                    Some(_) => "the same command goes on from the last checkpoint",
                    None => "the same command starts it again, as `checkpoint` is not set",
                };
                (true, format!("interrupted, {accuracy}; {next}"))
            }
            Ending::Failed { error } => (true, format!("failed: {error}")),
        };
        if is_news || !self.quiet {
            terminal::line(&format!("{title}: {text}"));
        }
    }

    /// Writes a report for every run that has none yet, and one for the sweep if there is one.
    fn report(&self, plans: &[RunPlan], reports: &[RunReport]) -> Result<Pages, Failure> {
        let mut of_runs = Vec::new();
        for report in reports {
            let page = report.folder.join("report.html");
            if !page.is_file() {
                write_report(std::slice::from_ref(&report.folder), &page)?;
            }
            of_runs.push(page);
        }
        let of_all = match (plans, reports) {
            ([first, _, ..], [_, ..]) => {
                let page = self
                    .options
                    .results
                    .join(&first.config.name)
                    .join("report.html");
                let folders: Vec<PathBuf> =
                    reports.iter().map(|report| report.folder.clone()).collect();
                write_report(&folders, &page)?;
                Some(page)
            }
            _ => None,
        };
        Ok(Pages { of_runs, of_all })
    }
}

/// Where the reports are.
struct Pages {
    of_runs: Vec<PathBuf>,
    /// The report that compares the runs of a sweep.
    of_all: Option<PathBuf>,
}

/// What is printed of a run in the end.
#[derive(Serialize)]
struct Line {
    id: String,
    label: String,
    /// `finished`, `skipped`, `interrupted` or `failed`.
    ending: &'static str,
    error: Option<String>,
    folder: String,
    report: String,
    /// The content of `summary.json`.
    summary: Option<Summary>,
}

impl Line {
    fn of(plan: &RunPlan, report: &RunReport, page: &std::path::Path) -> Self {
        let (ending, error) = match &report.ending {
            Ending::Finished => ("finished", None),
            Ending::Skipped { .. } => ("skipped", None),
            Ending::Interrupted => ("interrupted", None),
            Ending::Failed { error } => ("failed", Some(error.to_string())),
        };
        Self {
            id: report.id.clone(),
            label: plan.label(),
            ending,
            error,
            folder: report.folder.display().to_string(),
            report: page.display().to_string(),
            summary: report.summary.clone(),
        }
    }

    fn cells(&self) -> [String; 7] {
        let overlay = self
            .summary
            .as_ref()
            .and_then(|summary| summary.overlay.as_ref());
        let last = self
            .summary
            .as_ref()
            .and_then(|summary| summary.last.as_ref());
        let dash = || "-".to_owned();
        let accuracy = |figure: fn(&meshfold_experiment::Spread) -> f64| {
            last.map_or_else(dash, |last| percent(figure(&last.test_accuracy)))
        };
        [
            self.label.clone(),
            decimal(overlay.and_then(|overlay| overlay.lambda)),
            accuracy(|spread| spread.mean),
            accuracy(|spread| spread.min),
            accuracy(|spread| spread.max),
            last.map_or_else(dash, |last| bytes(last.bytes_total)),
            self.ending.to_owned(),
        ]
    }
}

/// A table of the runs, and where to read more.
fn print(lines: &[Line], pages: &Pages) -> Result<(), Failure> {
    let mut table = Table::new(&[
        Column::Text("run"),
        Column::Figure("λ"),
        Column::Figure("mean accuracy"),
        Column::Figure("min"),
        Column::Figure("max"),
        Column::Figure("bytes sent"),
        Column::Text(""),
    ]);
    for line in lines {
        table.row(line.cells());
    }
    table.print()?;
    if let Some(page) = pages.of_all.as_ref().or(pages.of_runs.first()) {
        writeln!(std::io::stdout().lock(), "report: {}", page.display())?;
    }
    Ok(())
}
