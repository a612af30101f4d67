//! What `summary.json` says of a run.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::results::results_error::ResultsError;
use crate::results::run_folder::{FAILURE, Failure};
use crate::results::run_text::{object, parsed};

/// The part of a summary that reports need. Other keys may be those of another version.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RunOutcome {
    pub(super) status: Option<String>,
    /// Why the run failed, if it did.
    pub(super) error: Option<String>,
    pub(super) clients: Option<usize>,
    /// Models between rounds, `R`.
    pub(super) rows: Option<usize>,
    /// Parameters of a model, `P`.
    pub(super) parameters: Option<u64>,
    pub(super) seconds: Option<Times>,
    /// The settings that the sweep varies, by their paths.
    pub(super) settings: Map<String, Value>,
}

/// How long the run took.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Times {
    /// Seconds of processor time.
    pub(super) processor: Option<f64>,
}

impl RunOutcome {
    /// The top-level settings that the sweep varies.
    pub(super) fn swept(&self) -> BTreeSet<String> {
        let top = |path: &String| path.split('.').next().unwrap_or_default().to_owned();
        self.settings.keys().map(top).collect()
    }

    /// Reads the summary of the run in `folder`; nothing is known while the run goes on.
    ///
    /// # Errors
    /// [`ResultsError::Read`] and [`ResultsError::Content`].
    pub(super) fn read(folder: &Path) -> Result<Self, ResultsError> {
        let summary: Option<Self> = parsed(&folder.join("summary.json"), object)?;
        let summary = summary.unwrap_or_default();
        let broken_off = parsed(&folder.join(FAILURE), object::<Failure>)?;
        Ok(Self {
            error: broken_off.map(|failure| failure.error).or(summary.error),
            ..summary
        })
    }
}
