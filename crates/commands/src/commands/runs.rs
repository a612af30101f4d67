//! What the runs of one command need while they are carried out: their examples, and somebody to report their progress.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use meshfold_data::{DataFolder, Examples, Splits};
use meshfold_experiment::{Ending, Observer, RunHost, RunPlan, RunReport, SharedDatasets, brief};
use meshfold_report::{PAGE, write_run_report};

use crate::commands::event_logs::{EventLogs, LoggedProgress};
use crate::failure::Failure;
use crate::figures::{duration, percent};
use crate::progress::Progress;
use crate::sweep::{RunOfSweep, Sweep};
use crate::terminal;

/// The rounds that the run of `plan` went through: `40 rounds`, or `10 of 40 rounds` where its budget or its targets ended it.
fn rounds(plan: &RunPlan, report: &RunReport) -> String {
    let all = plan.config.rounds;
    let plural = if all == 1 { "" } else { "s" };
    match report.last.as_ref().map(|last| last.round) {
        Some(done) if done < all => format!("{done} of {all} round{plural}"),
        _ => format!("{all} round{plural}"),
    }
}

/// Where the report of a run is.
pub(super) fn page_of(report: &RunReport) -> PathBuf {
    report.folder.join(PAGE)
}

/// The runs of one command.
pub(super) struct Runs<'a> {
    plans: &'a [RunPlan],
    quiet: bool,
    datasets: SharedDatasets<'a>,
    /// Whether the report of a run could not be written.
    lacks_page: AtomicBool,
    /// Runs that have been reported as another process's. A run may come twice, as that process may have died
    /// meanwhile.
    elsewhere: Mutex<BTreeSet<usize>>,
    /// The line about all runs, if there are several and somebody is watching.
    line: Option<SweepLine>,
    /// Their event files, if any are to be written.
    events: Option<&'a EventLogs>,
}

/// The line about all runs, below their bars.
struct SweepLine {
    sweep: Arc<Sweep>,
    bar: ProgressBar,
}

impl SweepLine {
    fn show(plans: &[RunPlan]) -> Self {
        let sweep = Arc::new(Sweep::of(plans));
        let shown = Arc::clone(&sweep);
        let line = move |_: &ProgressState, out: &mut dyn Write| {
            // Writing to text cannot fail.
            write!(out, "{}", shown.line()).ok();
        };
        let style = ProgressStyle::with_template("{sweep}").expect("the template is valid");
        let bar = ProgressBar::hidden().with_style(style.with_key("sweep", line));
        let bar = terminal::show_below(bar);
        bar.enable_steady_tick(Duration::from_secs(1));
        Self { sweep, bar }
    }
}

impl Drop for SweepLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl<'a> Runs<'a> {
    /// The runs `plans`, with datasets in `folder`. If `quiet`, only failures and skipped runs are reported.
    pub(super) fn new(
        plans: &'a [RunPlan],
        folder: &'a DataFolder,
        quiet: bool,
        events: Option<&'a EventLogs>,
    ) -> Self {
        let has_line = plans.len() > 1 && !quiet && terminal::is_watched();
        Self {
            plans,
            quiet,
            datasets: SharedDatasets::new(plans, folder),
            lacks_page: AtomicBool::new(false),
            elsewhere: Mutex::default(),
            line: has_line.then(|| SweepLine::show(plans)),
            events,
        }
    }

    /// Removes the line after the runs. Returns whether the report of a run could not be written, which has been
    /// reported.
    pub(super) fn end(self) -> bool {
        self.lacks_page.into_inner()
    }

    /// What a run is called, with its place among the runs.
    fn title(&self, index: usize) -> String {
        let (label, runs) = (self.plans[index].label(), self.plans.len());
        let label = brief(&label);
        match runs {
            1 => label.into_owned(),
            _ => format!("[{}/{runs}] {label}", index + 1),
        }
    }

    /// Writes the report of a run, if it has none yet. If that fails, the run itself goes on.
    fn write_page(&self, index: usize, report: &RunReport) {
        let Err(error) = write_run_report(&report.folder, self.plans.len() > 1) else {
            return;
        };
        self.lacks_page.store(true, Ordering::Relaxed);
        let (title, folder) = (self.title(index), report.folder.display());
        terminal::line(&format!(
            "{title}: no report: {error}; `meshfold report {folder}` writes it later"
        ));
    }

    /// Whether a run is another process's, and was reported as such before.
    fn was_elsewhere(&self, index: usize, report: &RunReport) -> bool {
        let told = &mut self
            .elsewhere
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        matches!(report.ending, Ending::Elsewhere) && !told.insert(index)
    }

    /// Reports how a run ended. If `quiet`, success is not reported.
    fn tell(&self, index: usize, report: &RunReport, took: Duration) {
        let plan = &self.plans[index];
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
                    "{accuracy} after {}, {}",
                    rounds(plan, report),
                    duration(took)
                ),
            ),
            Ending::Skipped { by, .. } => {
                let notice = report.ending.notice();
                let is_news = notice.is_some();
                let told = notice.unwrap_or_else(|| by.to_string());
                let text = format!("skipped, {accuracy}: {told}; --again runs it again");
                (is_news, text)
            }
            Ending::Elsewhere => (
                true,
                "left to another process, which carries it out".to_owned(),
            ),
            Ending::Interrupted => {
                let next = match (report.checkpoint, &plan.config.checkpoint) {
                    (Some(round), _) => format!("the same command resumes it after round {round}"),
                    (None, Some(_)) => {
                        "the same command starts it again, as there is no checkpoint yet".to_owned()
                    }
                    (None, None) => {
                        "the same command starts it again, as `checkpoint` is not set".to_owned()
                    }
                };
                (true, format!("interrupted, {accuracy}; {next}"))
            }
            Ending::Damaged { problem } => (true, format!("finished before, but {problem}")),
            Ending::Failed { error } => (true, format!("failed: {error}")),
        };
        if is_news || !self.quiet {
            terminal::line(&format!("{}: {text}", self.title(index)));
        }
    }
}

impl RunHost for Runs<'_> {
    type Error = Failure;

    fn data(&self, index: usize, next: usize) -> Result<Splits, Failure> {
        Ok(self.datasets.splits(index, next)?)
    }

    fn data_in_pieces(
        &self,
        index: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, Self::Error> {
        Ok(self.datasets.in_pieces(index, see)?)
    }

    fn observer(&self, index: usize) -> Box<dyn Observer + '_> {
        let progress = Progress::new(self.title(index), self.quiet);
        let shown: Box<dyn Observer + '_> = match &self.line {
            Some(SweepLine { sweep, .. }) => Box::new(RunOfSweep {
                sweep,
                index,
                progress,
            }),
            None => Box::new(progress),
        };
        match self.events {
            Some(logs) => Box::new(LoggedProgress {
                logs,
                plan: &self.plans[index],
                shown,
                has_begun: false,
            }),
            None => shown,
        }
    }

    fn ended(&self, index: usize, report: &RunReport, took: Duration) -> Result<(), Failure> {
        if let Some(SweepLine { sweep, .. }) = &self.line {
            sweep.ended(index, &report.ending);
        }
        if let Some(events) = self.events {
            events.ended(&self.plans[index], report);
        }
        if !self.was_elsewhere(index, report) {
            self.tell(index, report, took);
        }
        if report.has_all_files() {
            self.write_page(index, report);
        }
        Ok(())
    }
}
