//! How runs end.

use std::path::PathBuf;

use crate::records::Record;
use crate::results::Done;
use crate::run_error::RunError;
use crate::summary::Summary;

/// How one run ended.
#[derive(Debug)]
pub enum Ending {
    /// After all its rounds.
    Finished,
    /// Before it began, because it had been finished earlier.
    Skipped {
        /// Who had finished it.
        by: Done,
        /// Whether that was another version or device kind than this one, whose results may differ in their bits.
        differs: bool,
    },
    /// After fewer rounds, because it was asked to stop; everything until then is written.
    Interrupted,
    /// After fewer rounds, because a model or the device failed; everything until then is written.
    Failed {
        /// What failed.
        error: RunError,
    },
}

/// What came of one run.
#[derive(Debug)]
pub struct RunReport {
    /// Hash of the resolved configuration.
    pub id: String,
    /// The run's folder.
    pub folder: PathBuf,
    /// How it ended.
    pub ending: Ending,
    /// The round of the checkpoint that it went on from.
    pub resumed_from: Option<usize>,
    /// The last record, if there is any.
    pub last: Option<Record>,
    /// What is written in `summary.json`; absent if the run was skipped and that file cannot be read.
    pub summary: Option<Summary>,
}
