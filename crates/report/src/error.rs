//! Why a report could not be written.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use crate::left_out::LeftOut;
use meshfold_experiment::plain_write_error;
use meshfold_experiment::results::ResultsError;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// No run folder was named.
    #[error("report: found 0 run folders, needed at least 1")]
    NoRuns,
    /// A folder that holds no run, or a run of which something is missing or damaged.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// Every run had to be left out, so there is no page.
    #[error("{}", lines(left_out))]
    NothingLeft {
        /// The runs, each with the reason.
        left_out: Vec<LeftOut>,
    },
    /// The page cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The page, or the script that it draws with.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl ReportError {
    /// `source` was met when the page or script `path` was written.
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write {
            path: path.to_owned(),
            source: plain_write_error(source),
        }
    }
}

fn lines(left_out: &[LeftOut]) -> String {
    let mut lines = String::from("no run is left for the report");
    for run in left_out {
        write!(lines, "\n{run}").expect("a String takes any text");
    }
    lines
}
