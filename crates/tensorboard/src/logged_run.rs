//! The parts of a run's folder that TensorBoard shows.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use meshfold_experiment::results::{DONE, Settings, folder_name, metrics};
use serde_json::{Map, Value};

use crate::error::TensorboardError;
use crate::figures::Figures;

/// A run with the records that it has.
#[derive(Debug)]
pub(crate) struct LoggedRun {
    pub(crate) id: String,
    pub(crate) label: String,
    /// What its sweep varies, by dotted paths.
    pub(crate) sweep: Map<String, Value>,
    pub(crate) settings: Settings,
    /// Each with the time at which it was made, as far as that is known.
    pub(crate) records: Vec<(f64, Figures)>,
    /// Whether it ended well, if it has ended.
    pub(crate) ended_well: Option<bool>,
}

impl LoggedRun {
    /// The run in `folder`. What its `summary.json` says of its sweep is not there before it has ended; `known` is the label
    /// and what is varied, where the caller knows.
    ///
    /// # Errors
    /// [`TensorboardError::Results`].
    pub(crate) fn read(
        folder: &Path,
        known: Option<(String, Map<String, Value>)>,
    ) -> Result<Self, TensorboardError> {
        let settings = Settings::read(folder)?;
        let id = folder_name(folder);
        let text = fs::read(folder.join("summary.json")).unwrap_or_default();
        let summary: Value = serde_json::from_slice(&text).unwrap_or_default();
        let label = summary["label"].as_str().unwrap_or(&id).to_owned();
        let sweep = summary["settings"].as_object().cloned();
        let (label, sweep) = known.unwrap_or_else(|| (label, sweep.unwrap_or_default()));
        let ended_well = match folder.join(DONE).is_file() {
            true => Some(true),
            false => (summary["status"] == "failed").then_some(false),
        };
        Ok(Self {
            id,
            label,
            sweep,
            settings,
            records: records(folder)?,
            ended_well,
        })
    }

    /// When the run began, as far as that is known.
    pub(crate) fn began(&self) -> f64 {
        self.records.first().map_or_else(now, |(time, _)| *time)
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> f64 {
    seconds(SystemTime::now())
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}

/// The records of the run in `folder`, none if it has yet to write them. The last one was made when the file was written last, the
/// others as long before it as the run worked in between.
fn records(folder: &Path) -> Result<Vec<(f64, Figures)>, TensorboardError> {
    let records = metrics(folder, |record: Value| Figures::of(&record))?;
    let path = folder.join("metrics.jsonl");
    let written = fs::metadata(&path).and_then(|file| file.modified());
    let last = written.map_or_else(|_| now(), seconds);
    let worked = records.last().map_or(0.0, |record| record.worked);
    let at = |record: &Figures| last - (worked - record.worked).max(0.0);
    Ok(records
        .into_iter()
        .map(|record| (at(&record), record))
        .collect())
}
