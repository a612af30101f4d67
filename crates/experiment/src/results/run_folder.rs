//! The folder of one run, `<results>/<name>/<id>/`, and the files that are written to it once.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::config::own::Own;
use crate::config::run_config::RunConfig;
use crate::config::source::ExperimentSource;
use crate::files::sha256::sha256_of_file;
use crate::files::whole_file::{persist, temporary, write_atomically};
use crate::files::write_error::plain_write_error;
use crate::results::results_error::ResultsError;
use crate::results::run_error::RunError;

/// The file that marks a finished run; it is written last.
pub const DONE: &str = "DONE";

/// The settings of a run.
pub(crate) const CONFIG: &str = "config.yaml";

/// The records of a run.
pub(crate) const METRICS: &str = "metrics.jsonl";

/// The scores of all its models.
pub(crate) const CLIENTS: &str = "clients.parquet";

/// Those of all evaluations until [`CLIENTS`] is made of them. It stays beside a checkpoint that is kept.
pub(crate) const SPOOL: &str = "clients.spool";

/// The newest checkpoint of a run.
pub(crate) const CHECKPOINT: &str = "checkpoint.safetensors";

/// Version, device and digests of the data of a run.
pub(crate) const ENVIRONMENT: &str = "environment.json";

/// Why a run broke off, if its summary does not say so.
pub(crate) const FAILURE: &str = "failure.json";

/// The content of [`FAILURE`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) error: String,
}

/// Who finished a run, as `DONE` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Version of the program.
    pub meshfold: String,
    /// Device kind, such as `cpu/avx2`.
    pub device: String,
}

impl Display for Done {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { meshfold, device } = self;
        write!(f, "finished before by meshfold {meshfold} on {device}")
    }
}

/// The content of `DONE`: who finished the run, and what its files hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seal {
    #[serde(flatten)]
    by: Done,
    /// SHA-256 of each file that the run wrote before, by name. Versions before this one took none.
    #[serde(default)]
    sha256: BTreeMap<String, String>,
}

/// The files that a finished run vouches for, as far as it has them.
pub(super) const SEALED: [&str; 9] = [
    CONFIG,
    ENVIRONMENT,
    "partition.csv",
    "names.json",
    "overlay.json",
    "overlay.edges",
    METRICS,
    CLIENTS,
    "summary.json",
];

impl Seal {
    /// The seal of the files in `folder`, as they are.
    fn of(folder: &Path, by: Done) -> Result<Self, RunError> {
        let mut sha256 = BTreeMap::new();
        for name in SEALED {
            let path = folder.join(name);
            match sha256_of_file(&path) {
                Ok(digest) => drop(sha256.insert(name.to_owned(), digest)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(RunError::write(&path, source)),
            }
        }
        Ok(Self { by, sha256 })
    }

    /// The first file in `folder` that is not as it was when the run was finished.
    ///
    /// # Errors
    /// [`ResultsError::Read`] if a file cannot be read. A file that is missing is not told of here.
    pub(crate) fn altered(&self, folder: &Path) -> Result<Option<PathBuf>, ResultsError> {
        for (name, digest) in &self.sha256 {
            let path = folder.join(name);
            match sha256_of_file(&path) {
                Ok(found) if found == *digest => {}
                Ok(_) => return Ok(Some(path)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(ResultsError::Read { path, source }),
            }
        }
        Ok(None)
    }
}

/// The folder of one run.
#[derive(Clone, Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// The folder `<results>/<name>/<id>/`, which need not exist.
    pub(crate) fn new(results: &Path, name: &str, id: &str) -> Result<Self, RunError> {
        if is_one_folder(name) {
            let path = results.join(name).join(id);
            return Ok(Self { path });
        }
        let name = name.to_owned();
        Err(RunError::Name { name })
    }

    /// The folder `path`, which need not exist, such as that of all runs of an experiment.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Makes the folder if there is none and tries whether it can be written to.
    pub(crate) fn prepare(&self) -> Result<(), RunError> {
        let tried = fs::create_dir_all(&self.path).and_then(|()| temporary(&self.path));
        let unwritable = |source| RunError::Folder {
            path: self.path.clone(),
            source: plain_write_error(source),
        };
        tried.map(drop).map_err(unwritable)
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the file or folder `name` of the run lies.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The configuration of the run, in which `own` parts may be named; none if it cannot be read.
    pub(crate) fn config(&self, own: &Own) -> Option<RunConfig> {
        let text = fs::read_to_string(self.file(CONFIG)).ok()?;
        RunConfig::read(&ExperimentSource::new(CONFIG, text).with_own(own.clone())).ok()
    }

    /// Who finished the run, if anybody did. An unreadable mark is nobody's.
    pub(crate) fn done(&self) -> Option<Done> {
        let text = fs::read_to_string(self.file(DONE)).ok()?;
        let unknown = || Done {
            meshfold: "unknown".to_owned(),
            device: "unknown".to_owned(),
        };
        Some(serde_json::from_str(&text).unwrap_or_else(|_| unknown()))
    }

    /// Marks the run as finished `by` a version on a device kind, with digests of all files that it wrote.
    pub(crate) fn seal(&self, by: &Done) -> Result<(), RunError> {
        let seal = Seal::of(&self.path, by.clone())?;
        self.write_json(DONE, &seal)
    }

    /// Writes `name` whole or not at all.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<(), RunError> {
        let path = self.file(name);
        write_atomically(&path, content).map_err(|source| RunError::write(&path, source))
    }

    /// Writes `name` whole or not at all, as `write` gives it piece by piece.
    pub(crate) fn write_in_pieces(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<&mut NamedTempFile>) -> io::Result<()>,
    ) -> Result<(), RunError> {
        let path = self.file(name);
        let written = temporary(&self.path).and_then(|mut file| {
            let mut buffer = BufWriter::new(&mut file);
            write(&mut buffer)?;
            buffer.flush()?;
            drop(buffer);
            persist(file, &path)
        });
        written.map_err(|source| RunError::write(&path, source))
    }

    /// Writes `name` as indented JSON, whole or not at all.
    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), RunError> {
        let mut text = serde_json::to_vec_pretty(value)
            .map_err(|source| RunError::write(&self.file(name), source))?;
        text.push(b'\n');
        self.write(name, &text)
    }

    /// Writes why the run broke off, if it has a folder. What cannot be written has been told of anyway.
    pub(crate) fn note_failure(&self, error: &RunError) {
        let error = error.to_string();
        if self.path.is_dir() {
            self.write_json(FAILURE, &Failure { error }).ok();
        }
    }

    /// Removes the file or folder `name` if there is one.
    pub(crate) fn remove(&self, name: &str) -> Result<(), RunError> {
        let path = self.file(name);
        let removed = match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
            Err(_) => Ok(()),
        };
        removed.map_err(|source| RunError::write(&path, source))
    }
}

/// Whether `name` is one step down from the folder that it is joined to.
fn is_one_folder(name: &str) -> bool {
    let mut components = Path::new(name).components();
    let first = components.next();
    matches!(first, Some(Component::Normal(only)) if only == name)
        && components.next().is_none()
        && !name.contains('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_results_folder_are_refused() {
        for name in ["", ".", "..", "a/b", "/a", "a/", "../a", "a\\b"] {
            assert!(!is_one_folder(name), "{name}");
        }
        for name in ["mnist", "mnist one-label", "a.b", "ü"] {
            assert!(is_one_folder(name), "{name}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("runs");
        fs::write(&taken, "a file where the folder should be").unwrap();
        let folder = RunFolder::new(&taken, "name", "id").unwrap();
        let error = folder.prepare().unwrap_err().to_string();
        assert!(
            error.contains("runs") && error.contains("--results"),
            "{error}"
        );
    }

    #[test]
    fn files_are_replaced_whole_and_nothing_is_left_beside_them() {
        let results = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(results.path(), "name", "id").unwrap();
        folder.prepare().unwrap();
        folder.write("overlay.edges", b"0 1\n").unwrap();
        folder.write("overlay.edges", b"0 2\n").unwrap();
        let names: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["overlay.edges"]);
        assert_eq!(fs::read(folder.file("overlay.edges")).unwrap(), b"0 2\n");
    }

    #[test]
    fn an_unreadable_mark_still_says_that_the_run_is_done() {
        let results = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(results.path(), "name", "id").unwrap();
        folder.prepare().unwrap();
        assert!(folder.done().is_none());
        folder.write(DONE, b"").unwrap();
        assert_eq!(folder.done().unwrap().device, "unknown");
    }
}
