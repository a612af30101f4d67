//! The order of the runs of sweeps: `<results>/<name>/sweep.json`.
//!
//! Folders of runs are named by hashes, which say nothing of the place that a run has in its sweep. So whoever runs a sweep
//! notes the ids of its runs, and a report on the folder shows them in that order.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::whole_file::write_atomically;

/// The file, beside the folders of the runs.
const FILE: &str = "sweep.json";

/// What the file holds.
#[derive(Default, PartialEq, Serialize, Deserialize)]
struct Order {
    /// Ids of runs, the first of the newest sweep first.
    runs: Vec<String>,
    /// The same ids in the order in which they were first noted, if that is another: colours follow it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    noted: Vec<String>,
}

impl Order {
    /// The ids in the order in which they were first noted.
    fn by_age(&self) -> &[String] {
        match self.noted.is_empty() {
            true => &self.runs,
            false => &self.noted,
        }
    }
}

/// Notes that the runs of a sweep in `folder` come in the order of `ids`. Runs of earlier sweeps that are not among them
/// come after, in the order that they had.
///
/// # Errors
/// What the system says if the file cannot be written.
pub fn note(folder: &Path, ids: &[&str]) -> io::Result<()> {
    let earlier = read(folder);
    let own: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
    let others = earlier
        .runs
        .iter()
        .map(String::as_str)
        .filter(|id| !own.contains(id));
    let runs = ids.iter().copied().chain(others).map(str::to_owned);
    let runs: Vec<String> = runs.collect();
    let known: std::collections::BTreeSet<&String> = earlier.by_age().iter().collect();
    let new = runs.iter().filter(|id| !known.contains(id));
    let noted: Vec<String> = earlier.by_age().iter().chain(new).cloned().collect();
    let order = Order {
        noted: if noted == runs { Vec::new() } else { noted },
        runs,
    };
    if order == earlier {
        return Ok(());
    }
    write_atomically(&folder.join(FILE), &serde_json::to_vec(&order)?)
}

/// Forgets runs that were removed from `folder`. A file that names no run any more is removed as well.
///
/// # Errors
/// What the system says if the file cannot be written or removed.
pub fn forget(folder: &Path, ids: &[&str]) -> io::Result<()> {
    let path = folder.join(FILE);
    if !path.exists() {
        return Ok(());
    }
    let mut order = read(folder);
    order.runs.retain(|id| !ids.contains(&id.as_str()));
    order.noted.retain(|id| !ids.contains(&id.as_str()));
    match order.runs.is_empty() {
        true => fs::remove_file(path),
        false => write_atomically(&path, &serde_json::to_vec(&order)?),
    }
}

/// The place of each run that was noted in `folder`, from 0, by its id.
pub fn places(folder: &Path) -> BTreeMap<String, usize> {
    let runs = read(folder).runs.into_iter();
    runs.enumerate().map(|(place, id)| (id, place)).collect()
}

/// The place of each run that was noted in `folder`, from 0, by its id, among all in the order in which they were first noted.
/// It does not change when a sweep is extended, wherever the new runs stand in it.
pub fn ages(folder: &Path) -> BTreeMap<String, usize> {
    let order = read(folder);
    let runs = order.by_age().iter().cloned();
    runs.enumerate().map(|(place, id)| (id, place)).collect()
}

/// A file that is missing or damaged says nothing: runs then come in the order of their settings.
fn read(folder: &Path) -> Order {
    let text = fs::read(folder.join(FILE)).ok();
    text.and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(folder: &Path) -> Vec<String> {
        let mut places: Vec<_> = places(folder).into_iter().collect();
        places.sort_by_key(|(_, place)| *place);
        places.into_iter().map(|(id, _)| id).collect()
    }

    #[test]
    fn the_newest_sweep_comes_first_and_earlier_ones_keep_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(order(folder).is_empty());
        note(folder, &["f", "a", "c"]).unwrap();
        assert_eq!(order(folder), ["f", "a", "c"]);
        // A sweep with more seeds holds the runs of the one before.
        note(folder, &["f", "b", "a", "d"]).unwrap();
        assert_eq!(order(folder), ["f", "b", "a", "d", "c"]);
    }

    #[test]
    fn ages_stay_as_they_are_when_runs_are_put_between() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        note(folder, &["a", "c"]).unwrap();
        assert!(
            !fs::read_to_string(folder.join(FILE))
                .unwrap()
                .contains("noted")
        );
        note(folder, &["a", "b", "c"]).unwrap();
        assert_eq!(order(folder), ["a", "b", "c"]);
        let age = |id: &str| ages(folder)[id];
        assert_eq!((age("a"), age("c"), age("b")), (0, 1, 2));
        note(folder, &["z", "b"]).unwrap();
        assert_eq!((ages(folder)["c"], ages(folder)["z"]), (1, 3));
        forget(folder, &["a"]).unwrap();
        assert_eq!((ages(folder)["c"], ages(folder)["b"]), (0, 1));
    }

    #[test]
    fn runs_that_were_removed_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        forget(folder, &["a"]).unwrap();
        note(folder, &["f", "a", "c"]).unwrap();
        forget(folder, &["a", "b"]).unwrap();
        assert_eq!(order(folder), ["f", "c"]);
        forget(folder, &["c", "f"]).unwrap();
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    }

    #[test]
    fn a_damaged_file_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "{\"runs\": [1").unwrap();
        assert!(places(folder.path()).is_empty());
        note(folder.path(), &["a"]).unwrap();
        assert_eq!(order(folder.path()), ["a"]);
    }
}
