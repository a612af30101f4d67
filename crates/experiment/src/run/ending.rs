//! How runs end.

use std::path::PathBuf;

use crate::results::data_digests::DataDigests;
use crate::results::metrics::record::Record;
use crate::results::run_error::RunError;
use crate::results::run_folder::Done;
use crate::results::summary::Summary;

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
        /// Which parts of its data are known to have changed since, such as `examples, partition`.
        changed: Option<String>,
    },
    /// Before it began: it had been finished earlier, but a file that it wrote then is missing or damaged.
    Damaged {
        /// What is wrong and what to do about it.
        problem: String,
    },
    /// Before it began, because another process carries it out.
    Elsewhere,
    /// After fewer rounds, because it was asked to stop; everything until then is written.
    Interrupted,
    /// After fewer rounds, because a model, the device or a file of the run failed; everything until then is kept. Or before
    /// it began, because its data have changed; then its files stay as they were, and `failure.json` says why.
    Failed {
        /// What failed.
        error: RunError,
    },
}

impl Ending {
    /// What tools call it, such as `finished`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Skipped { .. } => "skipped",
            Self::Elsewhere => "elsewhere",
            Self::Damaged { .. } => "damaged",
            Self::Interrupted => "interrupted",
            Self::Failed { .. } => "failed",
        }
    }

    /// What is to be known of a run that is not carried out again: that its results may be others than those of a run here.
    pub fn notice(&self) -> Option<String> {
        let Self::Skipped {
            by,
            differs,
            changed,
        } = self
        else {
            return None;
        };
        let other = match differs {
            true => ", which may differ in bits from a run here",
            false => "",
        };
        let data = changed.as_ref().map_or_else(String::new, |changed| {
            format!("; its data have changed since ({changed})")
        });
        let is_news = *differs || changed.is_some();
        is_news.then(|| format!("{by}{other}{data}"))
    }

    /// What went wrong, if something did.
    pub fn error(&self) -> Option<String> {
        match self {
            Self::Damaged { problem } => Some(problem.clone()),
            Self::Failed { error } => Some(error.to_string()),
            Self::Finished | Self::Skipped { .. } | Self::Elsewhere | Self::Interrupted => None,
        }
    }
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
    /// The round of the checkpoint that it left; none if it left none.
    pub checkpoint: Option<usize>,
    /// Digests of its data; none if they were not recorded.
    pub data: Option<DataDigests>,
    /// The last record, if there is any.
    pub last: Option<Record>,
    /// What is written in `summary.json`; absent if that file cannot be written or read.
    pub summary: Option<Summary>,
}

impl RunReport {
    /// Whether the folder holds all that a report of the run is made of.
    pub fn has_all_files(&self) -> bool {
        self.summary.is_some() || matches!(self.ending, Ending::Skipped { .. })
    }
}
