//! Why a report could not be written.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use super::left_out::LeftOut;

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
    /// A file that the run must have written.
    #[error("{} is missing", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file of a run that exists but cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of a run whose content is not what the format says.
    #[error("{} is damaged: {found}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with the line where there is one.
        found: String,
    },
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
    pub(super) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write {
            path: path.to_owned(),
            source: crate::files::write_error::plain_write_error(source),
        }
    }

    /// The error without the folder that the file lies in: a page tells no path of the machine.
    pub(super) fn without_folder(&self) -> String {
        let path = match self {
            Self::Missing { path }
            | Self::Read { path, .. }
            | Self::Content { path, .. }
            | Self::Write { path, .. } => path,
            Self::NotARun { .. } => {
                return "there is no config.yaml: the folder is none of a run, or the run has not begun".to_owned();
            }
            Self::NoRuns | Self::NothingLeft { .. } => return self.to_string(),
        };
        let name = path.file_name().unwrap_or(path.as_os_str());
        let (whole, path) = (self.to_string(), path.display().to_string());
        let rest = whole.strip_prefix(&path).unwrap_or_default();
        format!("{}{rest}", name.to_string_lossy())
    }
}

fn lines(left_out: &[LeftOut]) -> String {
    let mut lines = String::from("no run is left for the report");
    for run in left_out {
        write!(lines, "\n{run}").expect("a String takes any text");
    }
    lines
}
