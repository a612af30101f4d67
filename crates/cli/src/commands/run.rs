//! `meshfold run FILE`: the main job.

use std::io::Write;
use std::path::{Path, PathBuf};

use meshfold_engine::{Device, OwnModels};
use meshfold_experiment::{
    Ending, RunOptions, RunPlan, RunReport, Summary, finished, most_at_once, plan_on,
    prepare_reports, run_all, write_report,
};
use serde::Serialize;

use crate::arguments::RunArguments;
use crate::commands::plan::warn;
use crate::commands::runs::{PAGE, Runs, page_of};
use crate::failure::Failure;
use crate::figures::{bytes, decimal, percent};
use crate::interruption;
use crate::json_lines;
use crate::table::{Column, Table};
use crate::terminal;

/// Runs an experiment: all runs of its sweep, several at the same time.
///
/// # Errors
/// [`Failure::Refused`] if something asked for is wrong, before anything is written; [`Failure::Incomplete`] if a run
/// failed, the others having gone on; [`Failure::Interrupted`] after Ctrl-C; [`Failure::Broken`] if files fail.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let device = arguments.device.open()?;
    let folder = arguments.experiment.data.folder()?;
    let source = arguments.experiment.source()?;
    let plans = plan_on(&device, &source, &folder, &OwnModels::new())?;
    let session = Session {
        options: RunOptions {
            device,
            results: arguments.results.clone(),
            again: arguments.again,
            commit: option_env!("MESHFOLD_COMMIT").map(str::to_owned),
        },
        quiet: arguments.quiet,
    };
    session.greet(&plans);
    warn(&plans);
    let stop = interruption::listen()?;
    let at_once = arguments.at_once.map(usize::from);
    let at_once = at_once.unwrap_or_else(|| most_at_once(&plans, &session.options));
    let is_left = |plan: &RunPlan| matches!(finished(plan, &session.options), Ok(None));
    if plans.iter().any(is_left) {
        prepare_reports();
    }
    let runs = Runs::new(&plans, &folder, session.quiet);
    let reports = run_all(&plans, &session.options, at_once, &stop, &runs)?;
    let comparison = session.compare(&plans, &reports)?;
    let lines = plans
        .iter()
        .zip(&reports)
        .map(|(plan, report)| Line::of(plan, report));
    if arguments.json {
        json_lines::print(lines)?;
    } else {
        print(&lines.collect::<Vec<_>>(), comparison.as_deref())?;
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

/// How the runs of the command are carried out.
struct Session {
    options: RunOptions,
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

    /// Writes the report that compares the runs of a sweep, if there is one.
    fn compare(
        &self,
        plans: &[RunPlan],
        reports: &[RunReport],
    ) -> Result<Option<PathBuf>, Failure> {
        let ([first, _, ..], [_, ..]) = (plans, reports) else {
            return Ok(None);
        };
        let folder = self.options.results.join(&first.config.name);
        let page = folder.join(PAGE);
        let folders: Vec<PathBuf> = reports.iter().map(|report| report.folder.clone()).collect();
        write_report(&folders, &page)?;
        Ok(Some(page))
    }
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
    fn of(plan: &RunPlan, report: &RunReport) -> Self {
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
            report: page_of(report).display().to_string(),
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
fn print(lines: &[Line], comparison: Option<&Path>) -> Result<(), Failure> {
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
    let first = lines.first().map(|line| Path::new(&line.report));
    if let Some(page) = comparison.or(first) {
        writeln!(std::io::stdout().lock(), "report: {}", page.display())?;
    }
    Ok(())
}
