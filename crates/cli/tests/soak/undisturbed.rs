//! The runs of a subject without disturbance, and whether disturbed ones have the same results.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::outcome::{
    KEPT, Outcome, expect_documented_beside, expect_documented_files, run_folders,
};
use crate::program::Program;
use crate::session::{CaseResult, Complaint, complaint};
use crate::subject::Subject;

/// A subject whose experiment lies in a folder as `subject.yaml`, with what it comes to.
pub(crate) struct Undisturbed {
    subject: Subject,
    /// How `run` ends: 0, or 1 if a run fails every time, such as one in which all clients fail.
    code: i32,
    pub(crate) took: Duration,
}

impl Undisturbed {
    /// Writes the experiment to `folder` and runs it there, with results of its own.
    pub(crate) fn run(folder: &Path, subject: Subject) -> Result<Self, Complaint> {
        fs::write(folder.join("subject.yaml"), &subject.yaml).unwrap();
        let began = Instant::now();
        let line = ["run", "subject.yaml", "--results", "undisturbed", "-q"];
        let said = Program::run(folder, &line)?.ended_with(&[0, 1])?;
        Ok(Self {
            subject,
            code: said.code.expect("it ended by itself"),
            took: began.elapsed(),
        })
    }

    /// Starts the runs that were disturbed in `folder` for the last time. They end as the others did, with the same results,
    /// and nothing is left beside them.
    pub(crate) fn expect_same_in_the_end(&self, folder: &Path) -> Result<String, Complaint> {
        let said = Program::run(folder, &["run", "subject.yaml"])?.ended_with(&[self.code])?;
        let [whole, disturbed] =
            ["undisturbed/subject", "runs/subject"].map(|name| folder.join(name));
        let [expected, found] = [&whole, &disturbed].map(|results| names(results));
        if expected != found {
            let what = "other folders than those of the runs";
            return Err(complaint(what, format!("{found:?}, needed {expected:?}")));
        }
        for name in &expected {
            let run = disturbed.join(name);
            Outcome::read(&whole.join(name)).expect_same(&run)?;
            if run.join("DONE").exists() {
                expect_documented_files(&run, self.kept())?;
            }
        }
        expect_documented_beside(&disturbed)?;
        Ok(said.err)
    }

    /// What a finished run has besides the files that every run has.
    fn kept(&self) -> &[&str] {
        match self.subject.keeps_checkpoint {
            true => &KEPT,
            false => &[],
        }
    }
}

/// Requires that every run in `folder` that is marked as done has all its records.
pub(crate) fn expect_whole_runs(folder: &Path) -> CaseResult {
    for name in names(&folder.join("runs/subject")) {
        let run = folder.join("runs/subject").join(&name);
        if !run.join("DONE").exists() {
            continue;
        }
        let whole = folder.join("undisturbed/subject").join(&name);
        let [found, expected] = [&run, &whole].map(|run| Outcome::read(run));
        if found.records() != expected.records() {
            let counts = (found.records().len(), expected.records().len());
            let detail = format!("{name}: records found and expected: {counts:?}");
            return Err(complaint("a run marked as done has lost records", detail));
        }
    }
    Ok(())
}

/// The names of the folders of runs.
fn names(results: &Path) -> Vec<String> {
    let name = |run: &std::path::PathBuf| {
        run.file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    run_folders(results).iter().filter_map(name).collect()
}
