//! The event file of one run.

use std::path::PathBuf;

use prost::Message;
use serde_json::Value;

use crate::error::TensorboardError;
use crate::event::Event;
use crate::figures::Figures;
use crate::hyperparameters::{session_end, session_start};
use crate::logged_run::{LoggedRun, now};
use crate::record_file::RecordFile;

/// How a run came to its end, as TensorBoard distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// After all its rounds.
    Finished,
    /// It failed.
    Failed,
    /// It was interrupted, and may go on.
    Open,
}

/// The event file of one run, to which records are appended.
#[derive(Debug)]
pub struct RunLog {
    path: PathBuf,
    file: RecordFile,
    /// The round of the last record in it.
    last: Option<u64>,
}

impl RunLog {
    /// Writes the new file `path` about `run`, with all records that it has.
    ///
    /// # Errors
    /// [`TensorboardError::Write`].
    pub(crate) fn create(path: PathBuf, run: &LoggedRun) -> Result<Self, TensorboardError> {
        let file =
            RecordFile::create(&path).map_err(|source| TensorboardError::write(&path, source))?;
        let mut log = Self {
            path,
            file,
            last: None,
        };
        let began = run.began();
        let mut events = vec![
            Event::version(began),
            Event::session_start(began),
            session_start(began, run.settings.all(), &run.sweep),
            Event::text(began, "config", as_code(run.settings.text())),
        ];
        for (time, figures) in &run.records {
            events.push(Event::scalars(
                *time,
                figures.round,
                figures.scalars.clone(),
            ));
            log.last = Some(figures.round);
        }
        log.write(&events)?;
        if let Some(well) = run.ended_well {
            let last = run.records.last().map_or(began, |(time, _)| *time);
            log.write(&[session_end(last, well)])?;
        }
        Ok(log)
    }

    /// Appends `record`, an object of `metrics.jsonl`. One that is there already is left out.
    ///
    /// # Errors
    /// [`TensorboardError::Write`]; [`TensorboardError::Record`] if it is no record.
    pub fn append(&mut self, record: &Value) -> Result<(), TensorboardError> {
        let figures = Figures::of(record).map_err(|found| TensorboardError::Record {
            path: self.path.clone(),
            found,
        })?;
        if self.last.is_some_and(|last| figures.round <= last) {
            return Ok(());
        }
        self.last = Some(figures.round);
        self.write(&[Event::scalars(now(), figures.round, figures.scalars)])
    }

    /// Notes how the run ended.
    ///
    /// # Errors
    /// [`TensorboardError::Write`].
    pub fn end(mut self, end: End) -> Result<(), TensorboardError> {
        match end {
            End::Open => Ok(()),
            end => self.write(&[session_end(now(), end == End::Finished)]),
        }
    }

    fn write(&mut self, events: &[Event]) -> Result<(), TensorboardError> {
        let records: Vec<Vec<u8>> = events.iter().map(Message::encode_to_vec).collect();
        let written = self.file.append(&records);
        written.map_err(|source| TensorboardError::write(&self.path, source))
    }
}

/// A YAML `text` as Markdown shows it, each line indented by four spaces.
fn as_code(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
