//! When runs were first noted in the sweeps of their folders: colours follow it, so that they stay when a sweep is extended.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use meshfold_experiment::results::{RecordedRun, sweep_order};

/// For each run the place of its folder among those of all runs, and its own place among those that were noted there; the last if it was not.
pub(crate) fn ages(runs: &[RecordedRun]) -> Vec<[usize; 2]> {
    let mut folders: HashMap<PathBuf, (usize, BTreeMap<String, usize>)> = HashMap::new();
    let mut age = |run: &RecordedRun| {
        let folder = run.folder.parent().map_or_else(PathBuf::new, PathBuf::from);
        let next = folders.len();
        let (place, noted) = folders.entry(folder).or_insert_with_key(|folder| {
            let noted = sweep_order::ages(folder);
            (next, noted)
        });
        [*place, noted.get(&run.id).copied().unwrap_or(usize::MAX)]
    };
    runs.iter().map(&mut age).collect()
}
