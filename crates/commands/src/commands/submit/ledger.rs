//! What was submitted: `<results>/<name>/slurm/<time>/submission.json`, and what of it is still in the queue.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::slurm;
use crate::terminal;

/// The folder beside the runs that scripts, logs and records of submissions lie in.
pub(super) const FOLDER: &str = "slurm";

const FILE: &str = "submission.json";

/// What one call of `submit` has put into the queue.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Submission {
    pub(super) arrays: Vec<SubmittedArray>,
    /// The job that writes the report.
    pub(super) report: Option<String>,
}

/// A job array.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SubmittedArray {
    pub(super) job: String,
    /// The ids of the runs of each element.
    pub(super) elements: Vec<Vec<String>>,
}

impl Submission {
    /// Writes it into `folder`, that of this submission.
    pub(super) fn note(&self, folder: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        meshfold_experiment::files::write_atomically(&folder.join(FILE), &text)
    }
}

/// The runs of the experiment in `folder` that are in the queue, each with its job. Nothing is asked if nothing was submitted.
///
/// # Errors
/// What the scheduler or the system says.
pub(in crate::commands) fn queued(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let submissions = submissions(&folder.join(FOLDER));
    if submissions.is_empty() {
        return Ok(BTreeMap::new());
    }
    let active = slurm::active()?;
    Ok(of_active(&submissions, &active))
}

/// [`queued`], with a line on standard error if Slurm does not tell: no run is known to be queued then.
pub(in crate::commands) fn queued_or_told(folder: &Path) -> BTreeMap<String, String> {
    queued(folder).unwrap_or_else(|reason| {
        terminal::line(&format!(
            "{reason}; runs that are queued are shown as waiting or interrupted"
        ));
        BTreeMap::new()
    })
}

fn of_active(
    submissions: &[Submission],
    active: &BTreeSet<(String, usize)>,
) -> BTreeMap<String, String> {
    let mut queued = BTreeMap::new();
    for array in submissions.iter().flat_map(|submission| &submission.arrays) {
        for (place, runs) in array.elements.iter().enumerate() {
            if active.contains(&(array.job.clone(), place)) {
                let job = format!("{}_{place}", array.job);
                queued.extend(runs.iter().map(|run| (run.clone(), job.clone())));
            }
        }
    }
    queued
}

/// All submissions that were noted; what cannot be read is none.
fn submissions(folder: &Path) -> Vec<Submission> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path().join(FILE));
    let read = |path: PathBuf| serde_json::from_slice(&fs::read(path).ok()?).ok();
    files.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_queued_as_long_as_their_element_is() {
        let array = |job: &str, elements: &[&[&str]]| SubmittedArray {
            job: job.to_owned(),
            elements: elements
                .iter()
                .map(|runs| runs.iter().map(|run| (*run).to_owned()).collect())
                .collect(),
        };
        let folder = tempfile::tempdir().unwrap();
        for (time, arrays) in [
            ("1", vec![array("7", &[&["a", "b"], &["c"]])]),
            ("2", vec![array("9", &[&["d"]])]),
        ] {
            let place = folder.path().join(time);
            fs::create_dir(&place).unwrap();
            let submission = Submission {
                arrays,
                report: None,
            };
            submission.note(&place).unwrap();
        }
        let active = BTreeSet::from([("7".to_owned(), 0), ("9".to_owned(), 3)]);
        let queued = of_active(&submissions(folder.path()), &active);
        let queued: Vec<(&str, &str)> = queued
            .iter()
            .map(|(run, job)| (run.as_str(), job.as_str()))
            .collect();
        assert_eq!(queued, [("a", "7_0"), ("b", "7_0")]);
    }

    #[test]
    fn without_a_submission_no_scheduler_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(queued(folder.path()), Ok(BTreeMap::new()));
    }
}
