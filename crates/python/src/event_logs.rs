//! Event files for TensorBoard.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use meshfold_tensorboard::{End, LogFolder, RunLog, TensorboardError};
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors::{Failure, results};

/// The folder that TensorBoard is shown.
#[pyclass(frozen, module = "meshfold._meshfold")]
#[derive(Debug)]
pub(crate) struct EventLogs {
    folder: LogFolder,
}

/// The event file of one run.
#[pyclass(frozen, module = "meshfold._meshfold")]
#[derive(Debug)]
pub(crate) struct EventLog {
    /// None after the end.
    log: Mutex<Option<RunLog>>,
}

#[pymethods]
impl EventLogs {
    /// The folder `path`, which is made if it is not there.
    #[new]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let folder = LogFolder::open(&path).map_err(|error| raised(py, error))?;
        Ok(Self { folder })
    }

    /// A new event file of the run in `folder`, with the records that it has, in place of any earlier one. `settings` is a JSON
    /// object of what its sweep varies.
    fn begin(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        label: String,
        settings: &str,
    ) -> PyResult<EventLog> {
        let settings: Value = json(py, settings)?;
        let known = Some((label, settings.as_object().cloned().unwrap_or_default()));
        let log = py.detach(|| self.folder.begin(&folder, known));
        let log = log.map_err(|error| raised(py, error))?;
        Ok(EventLog {
            log: Mutex::new(Some(log)),
        })
    }

    /// Whether there is an event file of the run in `folder`.
    fn has(&self, py: Python<'_>, folder: PathBuf) -> PyResult<bool> {
        let has = py.detach(|| self.folder.has(&folder));
        has.map_err(|error| raised(py, error))
    }
}

#[pymethods]
impl EventLog {
    /// Appends a record, an object of `metrics.jsonl`. One that is there already is left out.
    fn append(&self, py: Python<'_>, record: &str) -> PyResult<()> {
        let record = json(py, record)?;
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *log {
            Some(log) => log.append(&record).map_err(|error| raised(py, error)),
            None => Ok(()),
        }
    }

    /// Notes how the run ended: `finished`, `failed`, or anything else if it may go on.
    fn end(&self, py: Python<'_>, ending: &str) -> PyResult<()> {
        let end = match ending {
            "finished" => End::Finished,
            "failed" => End::Failed,
            _ => End::Open,
        };
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = log.take().map_or(Ok(()), |log| log.end(end));
        ended.map_err(|error| raised(py, error))
    }
}

fn raised(py: Python<'_>, error: TensorboardError) -> PyErr {
    Failure::from(error).raise(py)
}

fn json(py: Python<'_>, text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(|error| results(error).raise(py))
}
