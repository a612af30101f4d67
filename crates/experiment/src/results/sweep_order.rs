//! The order of the runs of sweeps: `<results>/<name>/sweep.json`.
//!
//! Folders of runs are named by hashes, which say nothing of the place that a run has in its sweep. So whoever runs a sweep
//! notes the ids of its runs, and a report on the folder shows them in that order.

use std::collections::{BTreeMap, BTreeSet, HashMap};
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
    /// Ids of runs, in the order of their sweeps.
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

/// Notes that the runs of a sweep in `folder` come in the order of `ids`, among those of earlier sweeps: runs that were noted before keep
/// their places, and each new one comes after the one that precedes it in `ids`. If the sweep has earlier runs in another order, it comes
/// first as a whole, and the others after it.
///
/// # Errors
/// What the system says if the file cannot be written.
pub fn note(folder: &Path, ids: &[&str]) -> io::Result<()> {
    let earlier = read(folder);
    // Two values of a sweep may be the same run.
    let mut seen = BTreeSet::new();
    let ids: Vec<&str> = ids.iter().copied().filter(|id| seen.insert(*id)).collect();
    let before: Vec<&str> = earlier.runs.iter().map(String::as_str).collect();
    let runs: Vec<String> = merged(&before, &ids)
        .into_iter()
        .map(str::to_owned)
        .collect();
    let known: BTreeSet<&String> = earlier.by_age().iter().collect();
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

/// The ids `before` and those of a sweep, each once.
fn merged<'a>(before: &[&'a str], sweep: &[&'a str]) -> Vec<&'a str> {
    let places: HashMap<&str, usize> = before.iter().copied().zip(0..).collect();
    let own: BTreeSet<&str> = sweep.iter().copied().collect();
    let known = sweep.iter().filter_map(|id| places.get(id));
    if !known.is_sorted() {
        let others = before.iter().filter(|id| !own.contains(*id));
        return sweep.iter().chain(others).copied().collect();
    }
    // What comes before any known run of the sweep, and after each of them.
    let mut first: Vec<&str> = Vec::new();
    let mut after: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut last_known = None;
    for id in sweep {
        match (places.contains_key(id), last_known) {
            (true, _) => last_known = Some(*id),
            (false, Some(known)) => after.entry(known).or_default().push(id),
            (false, None) => first.push(id),
        }
    }
    let Some(first_known) = sweep.iter().find(|id| places.contains_key(*id)) else {
        return before.iter().copied().chain(first).collect();
    };
    let mut runs = Vec::new();
    for id in before {
        if id == first_known {
            runs.append(&mut first);
        }
        runs.push(*id);
        runs.extend(after.remove(id).unwrap_or_default());
    }
    runs
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
    fn new_runs_come_where_their_sweep_has_them_and_earlier_ones_keep_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(order(folder).is_empty());
        note(folder, &["f", "a", "c"]).unwrap();
        assert_eq!(order(folder), ["f", "a", "c"]);
        // A sweep with more seeds holds the runs of the one before.
        note(folder, &["f", "b", "a", "d"]).unwrap();
        assert_eq!(order(folder), ["f", "b", "a", "d", "c"]);
        // Nothing changes for a part of a sweep that is run again, and another sweep comes last.
        note(folder, &["d"]).unwrap();
        note(folder, &["y", "z"]).unwrap();
        assert_eq!(order(folder), ["f", "b", "a", "d", "c", "y", "z"]);
        note(folder, &["x", "y"]).unwrap();
        assert_eq!(order(folder), ["f", "b", "a", "d", "c", "x", "y", "z"]);
        // Who writes a sweep in another order wants that order.
        note(folder, &["z", "f", "n"]).unwrap();
        assert_eq!(order(folder), ["z", "f", "n", "b", "a", "d", "c", "x", "y"]);
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
