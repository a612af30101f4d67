//! Why what a run left cannot be read.

use std::io;
use std::path::{Path, PathBuf};

use crate::results::run_folders::{run_folders, subfolders};
use crate::results::run_reader::folder_name;

/// How a finished run is run again, where one is damaged.
pub(crate) const AGAIN: &str =
    "run it again with --again, or remove its folder and run again, which keeps the other runs";

/// A fact about a run's folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// A folder that holds no run.
    #[error("{}: {}", folder.display(), no_run(folder))]
    NotARun {
        /// The folder named.
        folder: PathBuf,
    },
    /// A run with the settings of another one, which counts once.
    #[error("{}: it has the settings of {}, which counts once", folder.display(), original.display())]
    Copy {
        /// The folder of the run.
        folder: PathBuf,
        /// That of the other one.
        original: PathBuf,
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
}

/// What is found in place of a folder with runs.
fn no_run(folder: &Path) -> String {
    if folder.is_file() {
        return "found a file, needed a folder with runs; those of an experiment file are in the folder of results under its `name`: \
                runs/<name>"
            .to_owned();
    }
    let within = subfolders(folder).unwrap_or_default();
    match within.iter().find(|folder| run_folders(folder).is_ok()) {
        Some(experiment) => format!(
            "found folders of experiments, needed that of one, such as {}",
            experiment.display()
        ),
        None => "found no config.yaml in it or in its subfolders, needed a run folder such as runs/<name>/<id>".to_owned(),
    }
}

impl ResultsError {
    /// Whether the folder holds a run of which something is missing or damaged, rather than no run.
    pub fn is_damage(&self) -> bool {
        !matches!(self, Self::NotARun { .. } | Self::Copy { .. })
    }

    /// What is wrong and what to do about it; `is_finished` says whether the run has its `DONE`. Names no path.
    pub fn reason(&self, is_finished: bool) -> String {
        let found = self.without_folder();
        match (self.is_damage(), is_finished) {
            (false, _) => found,
            (true, true) => format!("{found}; {AGAIN}"),
            (true, false) => format!("{found}; run it again"),
        }
    }

    /// The error without the folder that the file lies in: a page tells no path of the machine.
    fn without_folder(&self) -> String {
        let path = match self {
            Self::Missing { path } | Self::Read { path, .. } | Self::Content { path, .. } => path,
            Self::Copy { original, .. } => {
                let id = folder_name(original);
                return format!("it has the settings of the run {id}, which counts once");
            }
            Self::NotARun { .. } => {
                return "there is no config.yaml: the folder is none of a run, or the run has not begun".to_owned();
            }
        };
        let name = path.file_name().unwrap_or(path.as_os_str());
        let (whole, path) = (self.to_string(), path.display().to_string());
        let rest = whole.strip_prefix(&path).unwrap_or_default();
        format!("{}{rest}", name.to_string_lossy())
    }
}
