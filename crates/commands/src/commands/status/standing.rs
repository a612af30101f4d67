//! How one run stands, and a summary of all runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use meshfold_experiment::results::{Claim, Holder, RunEntry, RunStage};

use crate::figures::duration;

/// How a run stands.
#[derive(Clone, Debug)]
pub(in crate::commands) enum Standing {
    Finished,
    /// A process works on it; absent if that process has written nothing yet.
    Running(Option<Box<Holder>>),
    /// It broke off, for this reason.
    Failed(String),
    /// It ended before its last round, or was killed.
    Interrupted,
    /// A file is missing or damaged.
    Damaged(String),
    /// A job of the scheduler will carry it out, such as `123_4`.
    Queued(String),
    /// Nobody has begun it.
    Waiting,
}

impl Standing {
    /// How the run in `folder` stands, which is `entry` if it was begun, and in the queue as `job`.
    pub(super) fn of(entry: Option<&RunEntry>, folder: &Path, job: Option<&String>) -> Self {
        let stage = entry.map(|entry| &entry.stage);
        match (stage, job) {
            (Some(RunStage::Finished), _) => Self::Finished,
            (Some(RunStage::Running), _) => {
                Self::Running(entry.and_then(|entry| entry.holder.clone()).map(Box::new))
            }
            (Some(RunStage::Damaged { reason }), _) => Self::Damaged(reason.clone()),
            (None, _) if Claim::holder(folder).is_some() => {
                Self::Running(Claim::holder(folder).map(Box::new))
            }
            (_, Some(job)) => Self::Queued(job.clone()),
            (Some(RunStage::Interrupted { failure: None, .. }), None) => Self::Interrupted,
            (
                Some(RunStage::Interrupted {
                    failure: Some(reason),
                    ..
                }),
                None,
            ) => Self::Failed(reason.clone()),
            (None, None) => Self::Waiting,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Running(_) => "running",
            Self::Failed(_) => "failed",
            Self::Interrupted => "interrupted",
            Self::Damaged(_) => "damaged",
            Self::Queued(_) => "queued",
            Self::Waiting => "waiting",
        }
    }
}

/// A run and how it stands.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Run {
    pub(in crate::commands) id: String,
    pub(super) label: String,
    pub(super) folder: PathBuf,
    pub(super) rounds: Option<usize>,
    /// All of its work, in a unit that the runs share.
    pub(super) work: f64,
    pub(in crate::commands) standing: Standing,
    /// What lies in its folder, if it was begun.
    pub(super) entry: Option<RunEntry>,
}

impl Run {
    pub(in crate::commands) fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    pub(super) fn holder(&self) -> Option<&Holder> {
        match &self.standing {
            Standing::Running(holder) => holder.as_deref(),
            _ => None,
        }
    }

    pub(super) fn job(&self) -> Option<&str> {
        match &self.standing {
            Standing::Queued(job) => Some(job),
            _ => None,
        }
    }

    pub(super) fn problem(&self) -> Option<&str> {
        match &self.standing {
            Standing::Failed(problem) | Standing::Damaged(problem) => Some(problem),
            _ => None,
        }
    }

    /// The last round that is known to be done.
    pub(super) fn round(&self) -> Option<usize> {
        let last = self.entry.as_ref().and_then(|entry| entry.last.as_ref());
        let recorded = last.map(|last| last.round);
        recorded.max(self.holder().map(|holder| holder.round))
    }

    pub(super) fn accuracy(&self) -> Option<f64> {
        let last = self.entry.as_ref().and_then(|entry| entry.last.as_ref());
        last.and_then(|last| last.test_accuracy.mean)
    }

    /// Seconds until a run that goes on is done, at the pace that it had so far.
    pub(super) fn seconds_left(&self) -> Option<f64> {
        let holder = self.holder()?;
        let rounds = self.rounds?.saturating_sub(holder.round) as f64;
        Some(rounds * holder.seconds_per_round()?)
    }

    /// For how long the process that runs it has given no sign of life, by the clock of this machine.
    pub(super) fn last_sign(&self) -> Option<Duration> {
        self.holder()?;
        Claim::last_sign(&self.folder)
    }

    /// Whether the run may still go on: it runs, is queued, waits, or was interrupted.
    pub(super) fn is_to_come(&self) -> bool {
        matches!(
            self.standing,
            Standing::Running(_) | Standing::Queued(_) | Standing::Waiting | Standing::Interrupted
        )
    }

    /// The share of its work that is left.
    fn share_left(&self) -> f64 {
        match (&self.standing, self.round(), self.rounds) {
            (Standing::Finished | Standing::Failed(_) | Standing::Damaged(_), _, _) => 0.0,
            (_, Some(round), Some(rounds)) => 1.0 - round as f64 / rounds.max(1) as f64,
            _ => 1.0,
        }
    }

    /// The work that it gets done in a second.
    fn pace(&self) -> Option<f64> {
        let per_round = self.holder()?.seconds_per_round()?;
        Some(self.work / (self.rounds? as f64 * per_round))
    }
}

/// `2 of 9 finished, 3 running, 4 waiting; about 5 min 0 s left`.
pub(super) fn summary(runs: &[Run]) -> String {
    let count = |name: &str| {
        let is = |run: &&Run| run.standing.name() == name;
        runs.iter().filter(is).count()
    };
    let mut text = format!("{} of {} finished", count("finished"), runs.len());
    for name in [
        "running",
        "queued",
        "waiting",
        "interrupted",
        "failed",
        "damaged",
    ] {
        match count(name) {
            0 => {}
            some => text.push_str(&format!(", {some} {name}")),
        }
    }
    if let Some(left) = time_left(runs) {
        text.push_str(&format!("; about {} left", duration(left)));
    }
    text
}

/// The time until all is done, if as many runs go on as now, at their pace.
fn time_left(runs: &[Run]) -> Option<Duration> {
    let pace: f64 = runs.iter().filter_map(Run::pace).sum();
    let left: f64 = runs.iter().map(|run| run.work * run.share_left()).sum();
    // The last run ends no earlier than it would alone.
    let longest = runs
        .iter()
        .filter_map(Run::seconds_left)
        .fold(0.0, f64::max);
    (pace > 0.0)
        .then(|| Duration::try_from_secs_f64((left / pace).max(longest)).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(standing: Standing) -> Run {
        Run {
            id: "a1b2".to_owned(),
            label: "seed=1".to_owned(),
            folder: PathBuf::from("runs/a/a1b2"),
            rounds: Some(100),
            work: 10.0,
            standing,
            entry: None,
        }
    }

    /// A run that has done 40 rounds since it went on after round 20, at 3 seconds each.
    fn running() -> Run {
        let holder = json!({
            "host": "node-7", "pid": 12, "space": "", "started": 5, "since": "2026-11-24T10:00:00Z",
            "seconds": 120.0, "from_round": 20, "round": 60, "token": "0", "signs": 3
        });
        run(Standing::Running(serde_json::from_value(holder).ok()))
    }

    #[test]
    fn a_run_that_goes_on_tells_when_it_is_done() {
        assert_eq!(running().seconds_left(), Some(120.0));
        assert_eq!(run(Standing::Waiting).seconds_left(), None);
    }

    #[test]
    fn waiting_runs_take_as_long_as_those_that_go_on() {
        let runs = [
            run(Standing::Finished),
            running(),
            running(),
            run(Standing::Waiting),
            run(Standing::Failed("the disk is full".to_owned())),
        ];
        // Two runs at a time, of 300 s each: .4 + .4 + 1 runs are left.
        assert_eq!(
            summary(&runs),
            "1 of 5 finished, 2 running, 1 waiting, 1 failed; about 4 min 30 s left"
        );
    }

    #[test]
    fn the_last_run_is_waited_for() {
        let large = Run {
            work: 0.1,
            ..running()
        };
        let small = [large, running(), running(), running()];
        assert_eq!(time_left(&small), Some(Duration::from_secs(120)));
    }
}
