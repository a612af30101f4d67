//! From paths to the runs that a page is about, in their order.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::order;
use crate::error::ReportError;
use crate::left_out::LeftOut;
use meshfold_experiment::results::{RecordedRun, ResultsError, is_run, run_folders, subfolders};

/// The runs of some folders, and those that cannot be read.
#[derive(Debug, Default)]
pub struct Gathered {
    /// In the order of the folders, and in each of the sweep.
    pub runs: Vec<RecordedRun>,
    /// Folders in which something is missing or damaged, or that hold no run, and copies of other runs.
    pub left_out: Vec<LeftOut>,
}

impl Gathered {
    /// Reads the runs in `given`, in that order. Each path is the folder of a run (`runs/<name>/<id>`), or holds such folders
    /// (`runs/<name>`), whose runs are taken in the order of their sweep. A run that is found twice counts once. One of which something is
    /// missing or damaged is left out, and so is a folder that holds no run.
    ///
    /// # Errors
    /// [`ReportError::NoRuns`] if nothing is given. If every run must be left out, [`NotARun`](meshfold_experiment::results::ResultsError::NotARun) of the first path
    /// where no run was found at all, [`ReportError::NothingLeft`] if there are damaged ones.
    pub fn of(given: &[PathBuf]) -> Result<Self, ReportError> {
        let mut gathered = Self::default();
        let mut seen = BTreeSet::new();
        for path in given {
            let folders = run_folders(path).unwrap_or_else(|error| {
                gathered.left_out.push(LeftOut::new(path, error));
                Vec::new()
            });
            let mut runs = Vec::new();
            let mut is_new = |folder: &PathBuf| {
                seen.insert(fs::canonicalize(folder).unwrap_or_else(|_| folder.clone()))
            };
            let folders: Vec<PathBuf> = folders.into_iter().filter(&mut is_new).collect();
            let read: Vec<_> = folders
                .par_iter()
                .map(|run| RecordedRun::read(run))
                .collect();
            for (folder, run) in folders.into_iter().zip(read) {
                match run {
                    Ok(run) => runs.push(run),
                    Err(error) => gathered.left_out.push(LeftOut::new(&folder, error)),
                }
            }
            order::sort(path, &mut runs);
            gathered.runs.extend(runs);
        }
        gathered.leave_out_copies();
        match gathered.runs.is_empty() {
            true => Err(gathered.nothing_left()),
            false => Ok(gathered),
        }
    }

    /// Of runs with the same settings and the same examples, such as copies from another machine, leaves all out but the first finished one,
    /// or the first.
    fn leave_out_copies(&mut self) {
        let keys = self.identities();
        let mut kept: HashMap<&str, usize> = HashMap::new();
        for (place, (run, key)) in self.runs.iter().zip(&keys).enumerate() {
            let first = kept.entry(key).or_insert(place);
            if run.is_finished && !self.runs[*first].is_finished {
                *first = place;
            }
        }
        let firsts: Vec<usize> = keys.iter().map(|key| kept[key.as_str()]).collect();
        let folders: Vec<PathBuf> = self.runs.iter().map(|run| run.folder.clone()).collect();
        let mut places = firsts.iter().enumerate();
        self.runs
            .retain(|_| places.next().is_some_and(|(place, first)| place == *first));
        for (folder, first) in folders.iter().zip(firsts) {
            let original = &folders[first];
            if folder != original {
                let error = ResultsError::Copy {
                    folder: folder.clone(),
                    original: original.clone(),
                };
                self.left_out.push(LeftOut::new(folder, error));
            }
        }
    }

    /// What each run has in common with its copies: its settings, whatever its experiment is called, and, where several have these, its
    /// examples.
    fn identities(&self) -> Vec<String> {
        let settings: Vec<String> = self.runs.iter().map(unnamed_settings).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for settings in &settings {
            *counts.entry(settings).or_default() += 1;
        }
        let pairs = self.runs.iter().zip(&settings);
        let identity = |(run, settings): (&RecordedRun, &String)| match counts[settings.as_str()] {
            1 => settings.clone(),
            _ => format!("{settings} {:?}", run.examples()),
        };
        pairs.map(identity).collect()
    }

    /// Reads the runs in the folders `own`, and all others beside them that are finished. Damaged ones are left out by name.
    ///
    /// # Errors
    /// Those of [`of`](Self::of); [`ReportError::NothingLeft`] also if only unfinished runs of others can be read.
    pub fn beside(own: &BTreeSet<&Path>) -> Result<Self, ReportError> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for above in own.iter().filter_map(|folder| folder.parent()) {
            if folders.last().is_none_or(|last| last != above) {
                folders.push(above.to_owned());
            }
        }
        let is_own = |folder: &Path| own.contains(folder);
        let mut gathered = Self::of(&folders)?;
        gathered
            .runs
            .retain(|run| run.is_finished || is_own(&run.folder));
        // Folders of the user's own may lie beside those of the runs.
        gathered
            .left_out
            .retain(|run| run.is_damaged() || is_own(run.folder()));
        match gathered.runs.is_empty() {
            true => Err(ReportError::NothingLeft {
                left_out: gathered.left_out,
            }),
            false => Ok(gathered),
        }
    }

    fn nothing_left(mut self) -> ReportError {
        if self.left_out.iter().any(LeftOut::is_damaged) {
            let left_out = self.left_out;
            return ReportError::NothingLeft { left_out };
        }
        match self.left_out.is_empty() {
            true => ReportError::NoRuns,
            false => self.left_out.swap_remove(0).into_error().into(),
        }
    }
}

/// The settings of a run but for the name of its experiment.
fn unnamed_settings(run: &RecordedRun) -> String {
    let mut settings = run.settings.all().clone();
    if let Some(settings) = settings.as_object_mut() {
        settings.remove("name");
    }
    settings.to_string()
}

/// Whether `above` has the folder of a run beside `folder`.
pub(crate) fn has_other_runs(above: &Path, folder: &Path) -> bool {
    let is_other = |other: &PathBuf| other.file_name() != folder.file_name() && is_run(other);
    subfolders(above).is_ok_and(|folders| folders.iter().any(is_other))
}
