//! Finds the folders of runs that the command line names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use meshfold_comparison::Difference;
use meshfold_experiment::results::{
    ResultsError, RunEntry, is_run, run_folders, subfolders, sweep_order,
};
use rayon::prelude::*;

use super::Choice;
use crate::failure::Failure;

/// Most runs that a message names.
const MOST_NAMED: usize = 10;

/// Runs whose folders lie beside each other.
pub(in crate::commands) struct Experiment {
    /// The folder that they lie in.
    pub(in crate::commands) folder: PathBuf,
    /// The settings in which they differ, with a value for each run.
    pub(super) differences: Vec<Difference>,
    /// In the order of their sweeps; others after these, by the time at which they were written.
    pub(in crate::commands) runs: Vec<RunEntry>,
}

impl Experiment {
    /// The runs in `folders`, a run that is named twice once.
    pub(in crate::commands) fn all(folders: Vec<PathBuf>) -> Vec<Self> {
        let mut seen = BTreeSet::new();
        let mut grouped: Vec<(PathBuf, Vec<PathBuf>)> = Vec::new();
        for folder in folders {
            if !seen.insert(fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone())) {
                continue;
            }
            let above = above(&folder);
            match grouped.iter_mut().find(|(known, _)| *known == above) {
                Some((_, runs)) => runs.push(folder),
                None => grouped.push((above, vec![folder])),
            }
        }
        let read = |(folder, runs): (PathBuf, Vec<PathBuf>)| Self::read(folder, &runs);
        grouped.into_iter().map(read).collect()
    }

    fn read(folder: PathBuf, runs: &[PathBuf]) -> Self {
        let mut runs: Vec<RunEntry> = runs.par_iter().map(|run| RunEntry::of(run)).collect();
        let places = sweep_order::places(&folder);
        let place = |run: &RunEntry| places.get(&run.id).copied().unwrap_or(usize::MAX);
        runs.sort_by_key(|run| (place(run), run.written, run.id.clone()));
        let settings: Vec<_> = runs.iter().map(|run| run.settings.as_ref()).collect();
        Self {
            folder,
            differences: Difference::among(&settings),
            runs,
        }
    }

    /// What each run is called among them: the settings in which they differ, or its id.
    pub(in crate::commands) fn labels(&self) -> Vec<String> {
        let mut labels = vec![String::new(); self.runs.len()];
        for difference in &self.differences {
            for (label, text) in labels.iter_mut().zip(difference.texts()) {
                let gap = if label.is_empty() { "" } else { " " };
                label.push_str(&format!("{gap}{}={text}", difference.short));
            }
        }
        for (label, run) in labels.iter_mut().zip(&self.runs) {
            if label.is_empty() {
                label.clone_from(&run.id);
            }
        }
        labels
    }

    /// Keeps the runs of all `experiments` that `choice` selects.
    ///
    /// # Errors
    /// [`Failure::Refused`] if a setting or a value stands for nothing.
    pub(super) fn keep(experiments: &mut Vec<Self>, choice: &Choice) -> Result<(), Failure> {
        let runs: Vec<&RunEntry> = experiments.iter().flat_map(|found| &found.runs).collect();
        let mut chosen = choice.of(&runs)?.into_iter();
        for experiment in experiments.iter_mut() {
            let chosen: Vec<bool> = chosen.by_ref().take(experiment.runs.len()).collect();
            retain(&mut experiment.runs, &chosen);
            for difference in &mut experiment.differences {
                retain(&mut difference.values, &chosen);
            }
        }
        experiments.retain(|experiment| !experiment.runs.is_empty());
        Ok(())
    }
}

/// Keeps the `items` at the places where `kept` says so.
fn retain<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().is_some_and(|kept| *kept));
}

/// The folder that the run in `folder` lies in.
fn above(folder: &Path) -> PathBuf {
    // The path may end with `.` or `..`, which do not say what lies above.
    let named = match folder.file_name() {
        Some(_) => folder.to_owned(),
        None => fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()),
    };
    match named.parent() {
        Some(above) if !above.as_os_str().is_empty() => above.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The folders of the runs in `path`: a run, an experiment, or a folder of experiments.
///
/// # Errors
/// [`ResultsError::NotARun`] if there is none, [`ResultsError::Read`] if a folder cannot be listed.
pub(in crate::commands) fn runs_in(path: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let mut found = match run_folders(path) {
        Err(ResultsError::NotARun { .. }) if path.is_dir() => {
            let experiments = subfolders(path).map_err(|source| ResultsError::Read {
                path: path.to_owned(),
                source,
            })?;
            let runs = experiments
                .iter()
                .filter_map(|folder| run_folders(folder).ok());
            runs.flatten().collect()
        }
        found => found?,
    };
    found.retain(|folder| is_run(folder));
    match found.is_empty() {
        true => Err(ResultsError::NotARun {
            folder: path.to_owned(),
        }),
        false => Ok(found),
    }
}

/// The runs that `word` stands for: those in a folder, or the one in `results` whose id begins so.
///
/// # Errors
/// [`Failure::Refused`] if it stands for no run, or for several ids.
pub(super) fn runs_of(word: &str, results: &Path) -> Result<Vec<PathBuf>, Failure> {
    let path = Path::new(word);
    if path.symlink_metadata().is_ok() {
        return runs_in(path).map_err(Failure::refused);
    }
    let all = runs_in(results).unwrap_or_default();
    let id = |folder: &PathBuf| {
        folder
            .file_name()
            .map(|id| id.to_string_lossy().into_owned())
    };
    let begins = |folder: &PathBuf| id(folder).is_some_and(|id| id.starts_with(word));
    let found: Vec<PathBuf> = all.into_iter().filter(begins).collect();
    let results = results.display();
    match found.as_slice() {
        [] => Err(Failure::refused(format_args!(
            "{word}: there is no such folder, and no run in {results} has an id that begins so; `meshfold runs {results}` lists the \
             runs, --results names another folder"
        ))),
        [_] => Ok(found),
        several => Err(Failure::refused(format_args!(
            "{word}: several runs have an id that begins so: {}; write more of the id, or the folder of the run",
            named(several)
        ))),
    }
}

/// The one run that `word` stands for.
///
/// # Errors
/// [`Failure::Refused`] if it stands for no run or for several.
pub(super) fn run_of(word: &str, results: &Path) -> Result<PathBuf, Failure> {
    let mut found = runs_of(word, results)?;
    match (found.pop(), found.len()) {
        (Some(run), 0) => Ok(run),
        (_, others) => Err(Failure::refused(format_args!(
            "{word} holds {} runs, needed one: name the folder of a run, or the beginning of its id",
            others + 1
        ))),
    }
}

fn named(folders: &[PathBuf]) -> String {
    let shown = folders.iter().take(MOST_NAMED);
    let mut names: Vec<String> = shown.map(|folder| folder.display().to_string()).collect();
    if folders.len() > MOST_NAMED {
        names.push(format!("and {} others", folders.len() - MOST_NAMED));
    }
    names.join(", ")
}
