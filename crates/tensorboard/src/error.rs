//! Why there are no event files.

use std::io;
use std::path::{Path, PathBuf};

use meshfold_experiment::plain_write_error;
use meshfold_experiment::results::ResultsError;

/// Why event files cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TensorboardError {
    /// The folder of a run cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// What should be logged is no record.
    #[error("{}: {found}", path.display())]
    Record {
        /// The event file.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
    },
    /// A folder of event files cannot be listed.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An event file or its folder cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl TensorboardError {
    /// `source` was met when `path` was written.
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write {
            path: path.to_owned(),
            source: plain_write_error(source),
        }
    }

    /// `source` was met when `path` was read.
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::Read {
            path: path.to_owned(),
            source,
        }
    }
}
