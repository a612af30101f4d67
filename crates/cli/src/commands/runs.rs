//! What the runs of one command need while they are carried out: their examples, and someone who says how they go.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use meshfold_data::{DataFolder, DatasetConfig, Splits};
use meshfold_experiment::{Attendant, Ending, Observer, RunPlan, RunReport, write_report};

use crate::failure::Failure;
use crate::figures::{duration, percent};
use crate::progress::Progress;
use crate::terminal;

/// The file name of a report.
pub(super) const PAGE: &str = "report.html";

/// Where the report of a run is.
pub(super) fn page_of(report: &RunReport) -> PathBuf {
    report.folder.join(PAGE)
}

/// The runs of one command.
pub(super) struct Runs<'a> {
    plans: &'a [RunPlan],
    folder: &'a DataFolder,
    quiet: bool,
    /// The datasets that runs need which have yet to begin.
    loaded: Mutex<Vec<(DatasetConfig, Splits)>>,
}

impl<'a> Runs<'a> {
    /// The runs `plans`, with datasets in `folder`; only failures and skipped runs are told of if `quiet`.
    pub(super) fn new(plans: &'a [RunPlan], folder: &'a DataFolder, quiet: bool) -> Self {
        Self {
            plans,
            folder,
            quiet,
            loaded: Mutex::new(Vec::new()),
        }
    }

    /// What a run is called, with its place among the runs.
    fn title(&self, index: usize) -> String {
        let (label, runs) = (self.plans[index].label(), self.plans.len());
        match runs {
            1 => label,
            _ => format!("[{}/{runs}] {label}", index + 1),
        }
    }

    /// Says how a run ended; that it failed or was skipped is said even if `quiet`.
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
                    "{accuracy} after {} rounds, {}",
                    plan.config.rounds,
                    duration(took)
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
            terminal::line(&format!("{}: {text}", self.title(index)));
        }
    }
}

impl Attendant for Runs<'_> {
    type Error = Failure;

    /// Every dataset is read once, and let go of when no run that has yet to begin needs it.
    fn data(&self, index: usize, next: usize) -> Result<Splits, Failure> {
        let dataset = &self.plans[index].config.dataset;
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let splits = match loaded.iter().find(|(known, _)| known == dataset) {
            Some((_, splits)) => splits.clone(),
            None => {
                let splits = dataset.load(self.folder)?;
                loaded.push((dataset.clone(), splits.clone()));
                splits
            }
        };
        let to_come = self.plans.get(next..).unwrap_or_default();
        loaded.retain(|(known, _)| to_come.iter().any(|plan| plan.config.dataset == *known));
        Ok(splits)
    }

    fn observer(&self, index: usize) -> Box<dyn Observer + '_> {
        Box::new(Progress::new(self.title(index), self.quiet))
    }

    /// Writes the report of the run, if it has none yet.
    fn ended(&self, index: usize, report: &RunReport, took: Duration) -> Result<(), Failure> {
        self.tell(index, report, took);
        let page = page_of(report);
        if !page.is_file() {
            write_report(std::slice::from_ref(&report.folder), &page)?;
        }
        Ok(())
    }
}
