//! The folder that TensorBoard is shown, with a folder for each run.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use meshfold_experiment::results::subfolders;
use serde_json::{Map, Value};

use crate::error::TensorboardError;
use crate::logged_run::{LoggedRun, now};
use crate::run_log::RunLog;

/// Prefix of the names of event files; TensorBoard reads the files of a folder in the order of their names.
const BEGINNING: &str = "events.out.tfevents.";

/// Suffix of the names of event files that this crate has written.
const ENDING: &str = ".meshfold";

/// Most bytes of a label in the name of a folder.
const MOST_BYTES: usize = 150;

/// What `tensorboard --logdir` is given. Each run has the folder `NAME/LABEL` in it.
#[derive(Debug)]
pub struct LogFolder {
    path: PathBuf,
    /// The event files that are there, for each experiment that has been asked for.
    found: Mutex<BTreeMap<String, Vec<Logged>>>,
}

/// An event file that is there.
#[derive(Clone, Debug)]
struct Logged {
    /// The run that it is of.
    id: String,
    path: PathBuf,
}

impl LogFolder {
    /// The folder `path`, which is made if it is not there.
    ///
    /// # Errors
    /// [`TensorboardError::Write`] if it cannot be made or written to.
    pub fn open(path: &Path) -> Result<Self, TensorboardError> {
        let tried = fs::create_dir_all(path).and_then(|()| tempfile::tempfile_in(path));
        tried.map_err(|source| TensorboardError::write(path, source))?;
        Ok(Self {
            path: path.to_owned(),
            found: Mutex::default(),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Begins to log the run in `folder`: a new event file has all records that the run has, and an earlier one is emptied. The
    /// run goes by the label and the settings of its sweep that are `known`, else by those in its `summary.json`, else by its id.
    ///
    /// # Errors
    /// [`TensorboardError::Results`] if the run cannot be read, [`TensorboardError::Write`] if the file cannot be written.
    pub fn begin(
        &self,
        folder: &Path,
        known: Option<(String, Map<String, Value>)>,
    ) -> Result<RunLog, TensorboardError> {
        let run = LoggedRun::read(folder, known)?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let name = one_folder(run.settings.name());
        let experiment = self.path.join(&name);
        if !found.contains_key(&name) {
            found.insert(name.clone(), event_files(&experiment)?);
        }
        let files = found.entry(name).or_default();
        let path = new_file(&experiment, &run, files);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|source| TensorboardError::write(folder, source))?;
        }
        let log = RunLog::create(path.clone(), &run)?;
        let (earlier, others): (Vec<_>, Vec<_>) =
            files.drain(..).partition(|file| file.id == run.id);
        *files = others;
        for file in earlier {
            files.extend(forget(file, &path)?);
        }
        files.push(Logged { id: run.id, path });
        Ok(log)
    }

    /// Whether there is an event file of the run in `folder`.
    ///
    /// # Errors
    /// [`TensorboardError::Read`] if the folder cannot be listed, [`TensorboardError::Results`] if the run cannot be read.
    pub fn has(&self, folder: &Path) -> Result<bool, TensorboardError> {
        let run = LoggedRun::read(folder, None)?;
        let name = one_folder(run.settings.name());
        let files = event_files(&self.path.join(name))?;
        let has_events = |file: &&Logged| fs::metadata(&file.path).is_ok_and(|file| file.len() > 0);
        let files = files.iter().filter(has_events);
        Ok(files.map(|file| &file.id).any(|id| *id == run.id))
    }
}

/// The name of a new event file of `run` in the folder of its `experiment`, which has these `files`. Where another run has the
/// same label, the id stands beside it.
fn new_file(experiment: &Path, run: &LoggedRun, files: &[Logged]) -> PathBuf {
    let label = one_folder(&run.label);
    let is_taken = |folder: &Path| {
        let mut others = files.iter().filter(|file| file.id != run.id);
        others.any(|file| file.path.parent() == Some(folder))
    };
    let mut folder = experiment.join(&label);
    if is_taken(&folder) {
        folder = experiment.join(format!("{label} ({})", run.id));
    }
    let time = now();
    let name = |attempt: u32| {
        let time = time + f64::from(attempt) * 1e-6;
        folder.join(format!("{BEGINNING}{time:017.6}.{}{ENDING}", run.id))
    };
    let mut attempts = (0..).map(name);
    let fresh = attempts.find(|path| !path.exists());
    fresh.unwrap_or_else(|| name(0))
}

/// Empties an earlier `file` of the run whose new file is `path`; removes it if it is empty already or lies elsewhere.
/// A running TensorBoard goes on from one file to the next, and gets stuck at a file that it no longer finds. Returns
/// what is left of the file.
fn forget(file: Logged, path: &Path) -> Result<Option<Logged>, TensorboardError> {
    let folder = file.path.parent();
    let is_empty = fs::metadata(&file.path).is_ok_and(|file| file.len() == 0);
    let is_left = !is_empty && folder == path.parent();
    let done = match is_left {
        true => fs::File::create(&file.path).map(drop),
        false => fs::remove_file(&file.path),
    };
    match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(TensorboardError::write(&file.path, error));
        }
        _ => {}
    }
    if let Some(folder) = folder {
        // A folder with other files stays.
        fs::remove_dir(folder).ok();
    }
    Ok(is_left.then_some(file))
}

/// The event files that this crate has written to the folders in `experiment`.
fn event_files(experiment: &Path) -> Result<Vec<Logged>, TensorboardError> {
    let failed = |source| TensorboardError::read(experiment, source);
    let mut files = Vec::new();
    let folders = match subfolders(experiment) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        folders => folders.map_err(failed)?,
    };
    for folder in folders {
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if let Some(id) = path.file_name().and_then(id_of) {
                files.push(Logged { id, path });
            }
        }
    }
    Ok(files)
}

/// The id of the run whose event file has this `name`; none if it is a file of others.
fn id_of(name: &OsStr) -> Option<String> {
    let rest = name.to_str()?.strip_prefix(BEGINNING)?;
    let (_, id) = rest.strip_suffix(ENDING)?.rsplit_once('.')?;
    Some(id.to_owned())
}

/// `label` as the name of one folder on every system.
fn one_folder(label: &str) -> String {
    let is_kept = |character: char| !character.is_control() && !r#"<>:"/\|?*"#.contains(character);
    let kept = |character| if is_kept(character) { character } else { '_' };
    let mut name: String = label.chars().map(kept).collect();
    name.truncate(name.floor_char_boundary(MOST_BYTES));
    // Folders that begin with a dot are hidden, and Windows drops dots and spaces at the end.
    let name = name.trim_end_matches(['.', ' ']);
    match name.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None if name.is_empty() => "_".to_owned(),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_names_of_folders() {
        assert_eq!(one_folder("topology=ring, seed=1"), "topology=ring, seed=1");
        assert_eq!(one_folder("file=a/b.csv"), "file=a_b.csv");
        assert_eq!(one_folder("../x. "), "_._x");
        assert_eq!(one_folder(""), "_");
        assert!(one_folder(&"ü".repeat(200)).len() <= MOST_BYTES);
    }

    #[test]
    fn files_of_others_are_left_alone() {
        assert_eq!(
            id_of(OsStr::new("events.out.tfevents.1732480000.host.1.0")),
            None
        );
        let ours = "events.out.tfevents.1732480000.123456.ab12.meshfold";
        assert_eq!(id_of(OsStr::new(ours)), Some("ab12".to_owned()));
    }
}
