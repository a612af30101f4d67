//! The runs of one command among all that lie in the folder of the experiment.

use std::collections::BTreeMap;
use std::path::Path;

use meshfold_experiment::results::{RecordedRun, is_run};
use meshfold_experiment::{Ending, RunReport};
use meshfold_report::{Gathered, LeftOut, ReportError};

use crate::terminal;

/// The runs of a command.
pub(super) struct OwnRuns<'a> {
    /// The place of each run in the command, by its folder.
    places: BTreeMap<&'a Path, usize>,
    reports: &'a [RunReport],
}

impl<'a> OwnRuns<'a> {
    /// Those of `reports`, without runs that another process has just begun and of which nothing is written yet.
    pub(super) fn of(reports: &'a [RunReport]) -> Self {
        let is_to_come = |report: &RunReport| {
            matches!(report.ending, Ending::Elsewhere) && !is_run(&report.folder)
        };
        let there = reports.iter().enumerate();
        let there = there.filter(|(_, report)| !is_to_come(report));
        Self {
            places: there
                .map(|(place, report)| (report.folder.as_path(), place))
                .collect(),
            reports,
        }
    }

    /// Whether nothing is written of any of them.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn has(&self, folder: &Path) -> bool {
        self.places.contains_key(folder)
    }

    /// These runs, and all others beside them that are finished. Damaged ones are left out by name.
    ///
    /// # Errors
    /// Those of [`Gathered::beside`].
    pub(super) fn with_others(&self) -> Result<Gathered, ReportError> {
        Gathered::beside(&self.places.keys().copied().collect())
    }

    /// Those of `runs` that are the command's, in its order.
    pub(super) fn only(&self, runs: Vec<RecordedRun>) -> Vec<RecordedRun> {
        let mut own = runs;
        own.retain(|run| self.has(&run.folder));
        own.sort_by_key(|run| self.places.get(run.folder.as_path()).copied());
        own
    }

    /// Whether `left_out` is a damaged run of the command.
    pub(super) fn lacks(&self, left_out: &LeftOut) -> bool {
        left_out.is_damaged() && self.has(left_out.folder())
    }

    /// Reports the runs that are left out, but not those whose ending has been reported, and not folders that are no
    /// runs of the command.
    pub(super) fn tell(&self, left_out: &[LeftOut]) {
        let is_told = |run: &&LeftOut| {
            let place = self.places.get(run.folder());
            place.is_some_and(|place| is_broken(&self.reports[*place].ending))
        };
        for run in left_out.iter().filter(|run| !is_told(run)) {
            terminal::line(&run.to_string());
        }
    }
}

/// Whether a run ended in a way that is reported by itself: it failed or is damaged.
pub(super) fn is_broken(ending: &Ending) -> bool {
    matches!(ending, Ending::Failed { .. } | Ending::Damaged { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_another_process_has_just_begun_are_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let report = |name: &str, ending: Ending| RunReport {
            id: name.to_owned(),
            folder: folder.path().join(name),
            ending,
            resumed_from: None,
            checkpoint: None,
            data: None,
            last: None,
            summary: None,
        };
        let mut reports = vec![report("begun", Ending::Elsewhere)];
        assert!(OwnRuns::of(&reports).is_empty());
        reports.push(report("gone", Ending::Finished));
        let own = OwnRuns::of(&reports);
        assert!(!own.has(&reports[0].folder) && own.has(&reports[1].folder));
        std::fs::create_dir(&reports[0].folder).unwrap();
        std::fs::write(reports[0].folder.join("config.yaml"), "seed: 1\n").unwrap();
        assert!(OwnRuns::of(&reports).has(&reports[0].folder));
    }
}
