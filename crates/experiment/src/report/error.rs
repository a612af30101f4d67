//! Why a report could not be written.

use std::io;
use std::path::PathBuf;

/// A fact about a run folder that cannot be reported, or a page that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// No run folder was named.
    #[error("report: found 0 run folders, needed at least 1")]
    NoRuns,
    /// A folder that holds no run.
    #[error(
        "{}: found no config.yaml in it or in its subfolders, needed a run folder such as runs/<name>/<id>",
        folder.display()
    )]
    NotARun {
        /// The folder named.
        folder: PathBuf,
    },
    /// A file of a run that exists but cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of a run whose content is not what the format says.
    #[error("{}: {found}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with the line where there is one.
        found: String,
    },
    /// The page cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The page.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
