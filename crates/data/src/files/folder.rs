//! The folder that dataset files live in.

use std::fmt;
use std::path::{Path, PathBuf};

use directories::ProjectDirs;

use crate::DataError;

/// The environment variable that names the folder.
pub const DATA_FOLDER_VARIABLE: &str = "MESHFOLD_DATA";

/// Where datasets are read from and fetched to: `<folder>/<dataset>/<file>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFolder {
    path: PathBuf,
    origin: FolderOrigin,
    /// Where files of the user's own are looked for first.
    experiment: Option<PathBuf>,
}

/// How a [`DataFolder`] was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderOrigin {
    /// Given by the caller, such as with `--data-dir`.
    Given,
    /// The environment variable [`DATA_FOLDER_VARIABLE`].
    Environment,
    /// The platform's folder for application data.
    Platform,
}

impl fmt::Display for FolderOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "folder given by --data-dir",
            Self::Environment => "folder from MESHFOLD_DATA",
            Self::Platform => {
                "the platform's data folder; --data-dir or MESHFOLD_DATA name another"
            }
        })
    }
}

impl DataFolder {
    /// The folder at `path`, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            origin: FolderOrigin::Given,
            experiment: None,
        }
    }

    /// The `given` folder, else that of `MESHFOLD_DATA`, else the platform's
    /// (on Linux `~/.local/share/meshfold`).
    ///
    /// # Errors
    /// [`DataError::NoFolder`] if nothing is given and the account has no home folder.
    pub fn resolve(given: Option<&Path>) -> Result<Self, DataError> {
        let named = std::env::var_os(DATA_FOLDER_VARIABLE).map(PathBuf::from);
        let platform = || Some(ProjectDirs::from("", "", "meshfold")?.data_dir().to_owned());
        Self::choose(given, named, platform)
    }

    fn choose(
        given: Option<&Path>,
        named: Option<PathBuf>,
        platform: impl FnOnce() -> Option<PathBuf>,
    ) -> Result<Self, DataError> {
        if let Some(path) = given {
            return Ok(Self::new(path));
        }
        let (path, origin) = match named.filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => (path, FolderOrigin::Environment),
            None => (
                platform().ok_or(DataError::NoFolder)?,
                FolderOrigin::Platform,
            ),
        };
        Ok(Self {
            path,
            origin,
            experiment: None,
        })
    }

    /// Has files of the user's own, those of `csv` and `npz`, looked for in the folder of the experiment's file as well, and
    /// there first.
    #[must_use]
    pub fn beside(self, experiment: impl Into<PathBuf>) -> Self {
        Self {
            experiment: Some(experiment.into()),
            ..self
        }
    }

    /// Where the user's own file `name` may lie, the likeliest place first.
    pub(crate) fn own_file(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let folders = self.experiment.iter().chain([&self.path]);
        folders.map(move |folder| folder.join(name))
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How the folder was chosen.
    pub fn origin(&self) -> FolderOrigin {
        self.origin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_goes_before_the_variable_before_the_platform() {
        let platform = || Some(PathBuf::from("home"));
        let choose = |given: Option<&str>, named: Option<&str>| {
            DataFolder::choose(given.map(Path::new), named.map(PathBuf::from), platform).unwrap()
        };
        assert_eq!(choose(Some("a"), Some("b")).path(), Path::new("a"));
        assert_eq!(choose(None, Some("b")).origin(), FolderOrigin::Environment);
        assert_eq!(choose(None, Some("")).path(), Path::new("home"));
        assert_eq!(choose(None, None).origin(), FolderOrigin::Platform);
    }

    #[test]
    fn without_a_home_the_error_names_both_ways_out() {
        let error = DataFolder::choose(None, None, || None)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("--data-dir") && error.contains("MESHFOLD_DATA"),
            "{error}"
        );
    }
}
