//! The folder of a run, read and checked.

use std::fs;
use std::path::Path;

use meshfold_topology::OverlaySummary;

use crate::results::clients::last_evaluation::final_accuracies;
use crate::results::finished_run;
use crate::results::holdings::Holdings;
use crate::results::metrics::evaluations::{self, Evaluation};
use crate::results::outcome::RunOutcome;
use crate::results::recorded_run::RecordedRun;
use crate::results::recorded_schedule::RecordedSchedule;
use crate::results::results_error::ResultsError;
use crate::results::run_folder::{CONFIG, DONE, METRICS};
use crate::results::run_text::{expect_whole_lines, object, parsed};
use crate::results::settings::Settings;

/// The most nodes of an overlay, so that a damaged file cannot ask for all memory.
const MOST_NODES: usize = 10_000_000;

impl RecordedRun {
    /// Reads the folder of one run. What a run that goes on has yet to write is left out. Overlay and partition are read
    /// as well and let go of, so that damage to them is known here.
    ///
    /// # Errors
    /// [`ResultsError::NotARun`] if no run has begun in the folder. [`ResultsError::Missing`] if a file is not there though
    /// the run is past the point where it was written, [`ResultsError::Read`] and [`ResultsError::Content`] for files that
    /// cannot be read.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        let settings = Settings::read(folder)?;
        let is_finished = folder.join(DONE).is_file();
        if is_finished {
            finished_run::expect_files(folder, &settings)?;
        }
        let outcome = RunOutcome::read(folder)?;
        let evaluations = parsed(&folder.join(METRICS), evaluations::parse)?.unwrap_or_default();
        let mut notices = Vec::new();
        if !is_finished {
            notices.push(unfinished(&settings, &evaluations));
            let failure = outcome.error.as_ref();
            notices.extend(failure.map(|error| format!("it failed: {error}")));
        }
        let (overlay_summary, schedule) = overlay_figures(folder, &settings, &outcome)?.unzip();
        let schedule = schedule.unwrap_or_default();
        let varies = settings.topology().is_some_and(|known| known.varies());
        let (models_of, final_accuracies) = final_accuracies(folder)?;
        let mut run = Self {
            folder: folder.to_owned(),
            id: folder_name(folder),
            swept: outcome.swept(),
            clients: outcome.clients.or(settings.clients()),
            rows: outcome.rows,
            overlay_summary,
            overlay_changes: schedule.changes || varies,
            lambda_per_exchange: schedule.lambda(),
            lambda_of_period: schedule.lambda_of_period(),
            parameters: outcome.parameters,
            processor_seconds: outcome
                .seconds
                .as_ref()
                .and_then(|seconds| seconds.processor),
            models_of,
            final_accuracies,
            settings,
            evaluations,
            is_finished,
            failure: outcome.error.clone().filter(|_| !is_finished),
            notices,
        };
        let (_, holdings) = (run.overlay()?, run.partition()?);
        let held = holdings.as_ref().map_or(0, Holdings::examples);
        for evaluation in run.evaluations.iter_mut().filter(|_| held > 0) {
            evaluation.epochs = evaluation.examples_seen.map(|seen| seen / held as f64);
        }
        if is_finished {
            finished_run::expect_end(&run, &outcome, holdings.as_ref())?;
            finished_run::expect_unaltered(folder)?;
        }
        Ok(run)
    }
}

/// Whether a run has written to the folder.
pub fn is_run(folder: &Path) -> bool {
    let exists = |file: &str| folder.join(file).symlink_metadata().is_ok();
    exists(CONFIG) || has_records(folder)
}

/// Whether a run in the folder came so far that it must have written its configuration before.
fn has_records(folder: &Path) -> bool {
    let metrics = folder.join(METRICS).metadata();
    folder.join(DONE).is_file()
        || metrics.is_ok_and(|metrics| metrics.is_file() && metrics.len() > 0)
}

impl Settings {
    /// The configuration of the run in `folder`.
    ///
    /// # Errors
    /// [`ResultsError::NotARun`] if no run has begun in the folder. [`ResultsError::Missing`], [`ResultsError::Read`] and
    /// [`ResultsError::Content`] of a `config.yaml` that is not there though there are records, or cannot be read.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        let path = folder.join(CONFIG);
        let parse = |text: &str| {
            expect_whole_lines(text)?;
            Self::parse(text)
        };
        match parsed(&path, parse)? {
            Some(settings) => Ok(settings),
            None if has_records(folder) => Err(ResultsError::Missing { path }),
            None => Err(ResultsError::NotARun {
                folder: folder.to_owned(),
            }),
        }
    }
}

/// The content of `overlay.json`: the figures of the overlay, and what is known of those that follow it.
fn overlay_figures(
    folder: &Path,
    settings: &Settings,
    outcome: &RunOutcome,
) -> Result<Option<(OverlaySummary, RecordedSchedule)>, ResultsError> {
    let most = outcome.clients.or(settings.clients());
    let most = most.unwrap_or(MOST_NODES).min(MOST_NODES);
    parsed(&folder.join("overlay.json"), |text| {
        let summary: OverlaySummary = object(text)?;
        let schedule: RecordedSchedule = object(text)?;
        match summary.nodes > most {
            true => Err(format!(
                "it names {} nodes of at most {most}",
                summary.nodes
            )),
            false => Ok((summary, schedule)),
        }
    })
}

/// The last part of the path.
pub fn folder_name(folder: &Path) -> String {
    let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    whole.file_name().map_or_else(
        || "run".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn unfinished(settings: &Settings, evaluations: &[Evaluation]) -> String {
    let asked = settings
        .rounds()
        .map_or_else(String::new, |rounds| format!(" of {rounds}"));
    match evaluations.last() {
        Some(last) => format!(
            "not finished: its last evaluation is of round {}{asked}",
            last.round
        ),
        None => "not finished: no evaluation is recorded yet".to_owned(),
    }
}
