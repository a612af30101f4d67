//! The event files for TensorBoard that `run --tensorboard` writes while runs go on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use meshfold_experiment::{Ending, Observer, Record, Resumed, RoundProgress, RunPlan, RunReport};
use meshfold_tensorboard::{End, LogFolder, RunLog, TensorboardError};

use crate::failure::Failure;
use crate::terminal;

/// The event files of the runs of one command.
pub(super) struct EventLogs {
    folder: LogFolder,
    results: PathBuf,
    /// The event files of the runs in progress, by the runs' ids.
    open: Mutex<BTreeMap<String, RunLog>>,
    /// Whether one could not be written, which has been reported.
    is_lacking: AtomicBool,
}

impl EventLogs {
    /// Event files in `folder` of runs in `results`.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the folder cannot be written to.
    pub(super) fn open(folder: &Path, results: &Path) -> Result<Self, Failure> {
        Ok(Self {
            folder: LogFolder::open(folder).map_err(Failure::refused)?,
            results: results.to_owned(),
            open: Mutex::default(),
            is_lacking: AtomicBool::new(false),
        })
    }

    /// Where they lie.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Whether one could not be written, which has been reported.
    pub(super) fn is_lacking(&self) -> bool {
        self.is_lacking.load(Ordering::Relaxed)
    }

    /// Begins the event file of the run of `plan`, new or resumed, whose folder is there.
    fn begin(&self, plan: &RunPlan) {
        let folder = plan.folder(&self.results);
        let known = Some((plan.label(), plan.settings()));
        match self.folder.begin(&folder, known) {
            Ok(log) => drop(self.logs().insert(plan.id.clone(), log)),
            Err(error) => self.lacks(plan, &error),
        }
    }

    fn record(&self, plan: &RunPlan, record: &Record) {
        let mut logs = self.logs();
        let Some(log) = logs.get_mut(&plan.id) else {
            return;
        };
        let record = serde_json::to_value(record).unwrap_or_default();
        if let Err(error) = log.append(&record) {
            // Later records would leave a gap.
            logs.remove(&plan.id);
            self.lacks(plan, &error);
        }
    }

    /// Ends the event file of the run of `plan`. A run that was finished before gets its file now, if it has none.
    pub(super) fn ended(&self, plan: &RunPlan, report: &RunReport) {
        let log = self.logs().remove(&plan.id);
        let end = match &report.ending {
            Ending::Finished => End::Finished,
            Ending::Failed { .. } => End::Failed,
            _ => End::Open,
        };
        let written = match (log, &report.ending) {
            (Some(log), _) => log.end(end),
            (None, Ending::Skipped { .. }) => self.write(plan, &report.folder),
            (None, _) => Ok(()),
        };
        if let Err(error) = written {
            self.lacks(plan, &error);
        }
    }

    fn write(&self, plan: &RunPlan, folder: &Path) -> Result<(), TensorboardError> {
        if !self.folder.has(folder)? {
            let known = Some((plan.label(), plan.settings()));
            self.folder.begin(folder, known)?;
        }
        Ok(())
    }

    /// Reports why an event file is not whole. The run itself goes on.
    fn lacks(&self, plan: &RunPlan, error: &TensorboardError) {
        self.is_lacking.store(true, Ordering::Relaxed);
        let (label, results) = (plan.label(), self.results.join(&plan.config.name));
        terminal::line(&format!(
            "{label}: no events for TensorBoard: {error}; `meshfold tensorboard {}` writes them later",
            results.display()
        ));
    }

    fn logs(&self) -> MutexGuard<'_, BTreeMap<String, RunLog>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches one run for its event file, and lets another one watch as well.
pub(super) struct LoggedProgress<'a> {
    pub(super) logs: &'a EventLogs,
    pub(super) plan: &'a RunPlan,
    pub(super) shown: Box<dyn Observer + 'a>,
    /// Whether the event file has begun.
    pub(super) has_begun: bool,
}

impl LoggedProgress<'_> {
    fn begin(&mut self) {
        if !self.has_begun {
            self.has_begun = true;
            self.logs.begin(self.plan);
        }
    }
}

impl Observer for LoggedProgress<'_> {
    fn started(&mut self, plan: &RunPlan) {
        self.shown.started(plan);
    }

    fn preparing(&mut self, what: &str) {
        self.shown.preparing(what);
    }

    fn resumed(&mut self, from: &Resumed) {
        self.begin();
        self.shown.resumed(from);
    }

    fn round(&mut self, progress: &RoundProgress) {
        self.shown.round(progress);
    }

    fn record(&mut self, record: &Record) {
        // What the run takes no more account of is cut off its records before the first of them is told of.
        self.begin();
        self.logs.record(self.plan, record);
        self.shown.record(record);
    }

    fn asks_to_stop(&mut self) -> bool {
        self.shown.asks_to_stop()
    }
}
