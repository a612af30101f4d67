//! `meshfold run FILE`: the main job.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, value_parser};
use meshfold_comparison::{Grid, Table as Comparisons};
use meshfold_data::DataFolder;
use meshfold_engine::{Device, Ranks};
use meshfold_experiment::results::RecordedRun;
use meshfold_experiment::{
    Ending, LeaderGuard, Own, RunOptions, RunPlan, RunReport, Summary, brief, most_at_once,
    plan_on, run_part,
};
use meshfold_report::{PAGE, ReportError};
use meshfold_tensorboard::FOLDER;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::arguments::{DeviceArguments, ExperimentArguments};
use crate::commands::event_logs::EventLogs;
use crate::commands::experiment_page;
use crate::commands::own_runs::{OwnRuns, is_broken};
use crate::commands::plan::warn;
use crate::commands::runs::{Runs, page_of};
use crate::commands::tabulate;
use crate::commands::tensorboard;
use crate::failure::Failure;
use crate::figures::{bytes, count, eigenvalue, percent};
use crate::interruption::{Interruption, expect_room_to_start};
use crate::json_lines;
use crate::lambda::explain_lambda;
use crate::ranks;
use crate::selection::Selection;
use crate::table::{Column, Table};
use crate::terminal;

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    experiment: ExperimentArguments,
    #[command(flatten)]
    device: DeviceArguments,
    /// Folder of all results
    #[arg(long, value_name = "DIR", default_value = "runs")]
    results: PathBuf,
    /// Run again what is finished
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    selection: Selection,
    /// Most runs of a sweep at the same time [default: as many as there is room for]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..))]
    at_once: Option<u16>,
    /// Write event files for TensorBoard while runs go on, to DIR/NAME/LABEL [default DIR: tensorboard in the folder of all
    /// results]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    tensorboard: Option<Option<PathBuf>>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
    /// Write no page that compares the runs; `meshfold report` writes it later
    #[arg(long)]
    no_report: bool,
    /// Print one JSON object per run, one a line, in place of the table
    #[arg(long)]
    json: bool,
}

/// Runs an experiment: all runs of its sweep, several at the same time.
///
/// # Errors
/// [`Failure::Refused`] if something asked for is wrong, before anything is written; [`Failure::Incomplete`] if a run
/// failed, is damaged or got no report, the others having gone on; [`Failure::Interrupted`] after Ctrl-C;
/// [`Failure::Stopped`] if the system asked to end.
pub(crate) fn run(arguments: &RunArguments, own: &Own) -> Result<(), Failure> {
    expect_room_to_start()?;
    let device = ranks::device(&arguments.device)?;
    let planned = planned(arguments, own, &device);
    let (sweep, plans, folder) = ranks::agreed(&device, planned, |(_, plans, _)| plans)?;
    if device.ranks().is_some_and(|ranks| !ranks.leads()) {
        return ranks::take_part(&arguments.results, &device, &plans, &folder);
    }
    let leader = LeaderGuard::new(&device);
    let session = Session {
        options: RunOptions {
            device,
            results: arguments.results.clone(),
            again: arguments.again,
            commit: crate::COMMIT.map(str::to_owned),
        },
        quiet: arguments.quiet,
    };
    let events = event_logs(arguments)?;
    session.greet(&plans, &sweep, &arguments.selection);
    warn(&plans);
    let asked = Interruption::listen()?;
    let at_once = arguments.at_once.map(usize::from);
    let at_once = at_once.unwrap_or_else(|| most_at_once(&plans, &session.options));
    let runs = Runs::new(&plans, &folder, session.quiet, events.as_ref());
    let reports = run_part(
        &plans,
        &sweep,
        &session.options,
        at_once,
        asked.flag(),
        &runs,
    );
    drop(leader);
    session.tell_of_messages();
    let reports = reports?;
    let lacks_page = runs.end() || events.as_ref().is_some_and(EventLogs::is_lacking);
    let comparison = match arguments.no_report {
        true => Comparison::None,
        false => session.compare(&plans, &reports, sweep.len() > 1),
    };
    let lines = plans
        .iter()
        .zip(&reports)
        .map(|(plan, report)| Line::of(plan, report));
    if arguments.json {
        json_lines::print(lines)?;
    } else {
        print(&lines.collect::<Vec<_>>(), &plans, &comparison)?;
        print_over_seeds(&comparison)?;
        if let Some(events) = &events {
            tensorboard::say(events.path())?;
        }
    }
    match plans.len() - reports.len() {
        0 => {}
        1 => terminal::line("1 run has not begun"),
        waiting => terminal::line(&format!("{waiting} runs have not begun")),
    }
    let lacks_page = lacks_page || comparison.is_lacking();
    verdict(&plans, &reports, lacks_page, &asked)
}

/// The event files that the command is to write, if any.
///
/// # Errors
/// [`Failure::Refused`] if their folder cannot be written to.
fn event_logs(arguments: &RunArguments) -> Result<Option<EventLogs>, Failure> {
    let results = &arguments.results;
    let open = |folder: &Option<PathBuf>| match folder {
        Some(folder) => EventLogs::open(folder, results),
        None => EventLogs::open(&results.join(FOLDER), results),
    };
    arguments.tensorboard.as_ref().map(open).transpose()
}

/// The runs of the sweep, those of them that `arguments` ask for, and the folder of their datasets.
type Planned = (Vec<RunPlan>, Vec<RunPlan>, DataFolder);

/// Plans what `arguments` ask for.
///
/// # Errors
/// [`Failure::Refused`] and [`Failure::Mistakes`] if something asked for is wrong.
fn planned(arguments: &RunArguments, own: &Own, device: &Device) -> Result<Planned, Failure> {
    let source = arguments.experiment.source()?.with_own(own.clone());
    let folder = arguments.experiment.data.folder_for(&source)?;
    let sweep = plan_on(device, &source, &folder)?;
    let plans = arguments.selection.of(&sweep)?;
    Ok((sweep, plans, folder))
}

/// How the command ends after its runs; what went wrong has been told of.
///
/// # Errors
/// [`Failure::Interrupted`], [`Failure::Stopped`] and [`Failure::Incomplete`].
fn verdict(
    plans: &[RunPlan],
    reports: &[RunReport],
    lacks_page: bool,
    asked: &Interruption,
) -> Result<(), Failure> {
    let any = |is: fn(&Ending) -> bool| reports.iter().any(|report| is(&report.ending));
    if reports.len() < plans.len() || any(|ending| matches!(ending, Ending::Interrupted)) {
        return Err(asked.failure());
    }
    if lacks_page || any(is_broken) {
        return Err(Failure::Incomplete);
    }
    Ok(())
}

/// The report that compares the runs of a sweep.
enum Comparison {
    /// There is nothing to compare.
    None,
    /// It holds all runs of the command.
    Page {
        page: PathBuf,
        /// The runs of the command.
        runs: Vec<RecordedRun>,
    },
    /// It lacks a run, which has been reported.
    Lacking {
        page: PathBuf,
        runs: Vec<RecordedRun>,
    },
    /// It could not be written, which has been reported.
    Failed,
}

impl Comparison {
    fn is_lacking(&self) -> bool {
        matches!(self, Self::Lacking { .. } | Self::Failed)
    }
}

/// How the runs of the command are carried out.
struct Session {
    options: RunOptions,
    quiet: bool,
}

impl Session {
    /// Says what is about to be done, and on which device.
    fn greet(&self, plans: &[RunPlan], sweep: &[RunPlan], selection: &Selection) {
        let (Some(first), false) = (sweep.first(), self.quiet) else {
            return;
        };
        let mut runs = match sweep.len() {
            1 => "1 run".to_owned(),
            runs => format!("{runs} runs"),
        };
        if plans.len() < sweep.len() {
            runs = format!("{} of {runs}{}", plans.len(), selection.remark());
        }
        let mut device = self.options.device.kind();
        if let Some(threads) = self.options.device.threads() {
            device.push_str(&format!(" with {threads} threads"));
        }
        if let Some(count) = self.options.device.ranks().map(Ranks::count) {
            device.push_str(&format!(" on each of {count} ranks"));
        }
        let version = env!("CARGO_PKG_VERSION");
        terminal::line(&format!(
            "meshfold {version}: {}, {runs} on {device}",
            first.config.name
        ));
    }

    /// Reports the messages and bytes that the ranks of the command sent each other, if there are several.
    fn tell_of_messages(&self) {
        let sent = self.options.device.ranks().map(ranks::sent_by_all);
        if let (Some(sent), false) = (sent, self.quiet) {
            terminal::line(&format!(
                "between ranks: {} messages, {} bytes, {} of them in place",
                count(sent.messages),
                count(sent.bytes),
                count(sent.bytes_in_place)
            ));
        }
    }

    /// Writes what is about all runs of an experiment: the report that compares them, and their tables. They show the
    /// runs of this command and all others that are finished. A command of one run updates them if they are there. A
    /// failure is only reported: the runs are done.
    fn compare(&self, plans: &[RunPlan], reports: &[RunReport], is_sweep: bool) -> Comparison {
        let ([first, ..], [_, ..]) = (plans, reports) else {
            return Comparison::None;
        };
        let folder = self.options.results.join(&first.config.name);
        if !is_sweep && !experiment_page::exists(&folder) {
            return Comparison::None;
        }
        let own = OwnRuns::of(reports);
        if own.is_empty() {
            return Comparison::None;
        }
        let gathered = match own.with_others() {
            Ok(gathered) => gathered,
            Err(ReportError::NothingLeft { left_out }) => {
                own.tell(&left_out);
                return Comparison::Failed;
            }
            Err(error) => return failed(&folder, &error),
        };
        if let Err(error) = experiment_page::write(&gathered, &folder) {
            return failed(&folder, &*error);
        }
        own.tell(&gathered.left_out);
        if !is_sweep {
            return Comparison::None;
        }
        let is_lacking = gathered.left_out.iter().any(|run| own.lacks(run));
        let page = folder.join(PAGE);
        let runs = own.only(gathered.runs);
        match is_lacking {
            true => Comparison::Lacking { page, runs },
            false => Comparison::Page { page, runs },
        }
    }
}

/// Says why what is about all runs could not be written.
fn failed(folder: &Path, error: &dyn Error) -> Comparison {
    let folder = folder.display();
    terminal::line(&format!(
        "no report of the sweep: {error}; `meshfold report {folder}` writes it later"
    ));
    Comparison::Failed
}

/// What is printed of a run in the end.
#[derive(Serialize)]
struct Line {
    id: String,
    label: String,
    /// The settings that the sweep varies, by their paths.
    settings: Map<String, Value>,
    /// `finished`, `skipped`, `elsewhere`, `damaged`, `interrupted` or `failed`.
    ending: &'static str,
    error: Option<String>,
    folder: String,
    report: String,
    /// The content of `summary.json`.
    summary: Option<Summary>,
    /// `λ` as the table has it; summaries of earlier versions lack it.
    #[serde(skip)]
    lambda: Option<f64>,
}

impl Line {
    fn of(plan: &RunPlan, report: &RunReport) -> Self {
        Self {
            id: report.id.clone(),
            label: plan.label(),
            settings: plan.settings(),
            ending: report.ending.name(),
            error: report.ending.error(),
            folder: report.folder.display().to_string(),
            report: page_of(report).display().to_string(),
            summary: report.summary.clone(),
            lambda: plan.overlay.as_ref().and_then(|planned| planned.lambda()),
        }
    }

    fn cells(&self) -> [String; 7] {
        let last = self
            .summary
            .as_ref()
            .and_then(|summary| summary.last.as_ref());
        let dash = || "-".to_owned();
        let accuracy = |figure: fn(&meshfold_experiment::Spread) -> f64| {
            last.map_or_else(dash, |last| percent(figure(&last.test_accuracy)))
        };
        [
            brief(&self.label).into_owned(),
            eigenvalue(self.lambda),
            accuracy(|spread| spread.mean),
            accuracy(|spread| spread.min),
            accuracy(|spread| spread.max),
            last.map_or_else(dash, |last| bytes(last.bytes_total)),
            self.ending.to_owned(),
        ]
    }
}

/// What the runs say of each setting, if the sweep repeats settings under several seeds.
fn print_over_seeds(comparison: &Comparison) -> Result<(), Failure> {
    let (Comparison::Page { runs, .. } | Comparison::Lacking { runs, .. }) = comparison else {
        return Ok(());
    };
    if let Ok(Some(table)) = Comparisons::over_seeds(runs) {
        let text = tabulate::lines(&Grid::of(&table), terminal::width());
        write!(std::io::stdout().lock(), "{text}")?;
    }
    Ok(())
}

/// A table of the runs, and where to read more.
fn print(lines: &[Line], plans: &[RunPlan], comparison: &Comparison) -> Result<(), Failure> {
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
    explain_lambda(plans)?;
    let only = match lines {
        [line] => Some(Path::new(&line.report)),
        _ => None,
    };
    let page = match comparison {
        Comparison::None => only.filter(|page| page.is_file()),
        Comparison::Page { page, .. } | Comparison::Lacking { page, .. } => Some(page.as_path()),
        Comparison::Failed => None,
    };
    if let Some(page) = page {
        writeln!(std::io::stdout().lock(), "report: {}", page.display())?;
    }
    Ok(())
}
