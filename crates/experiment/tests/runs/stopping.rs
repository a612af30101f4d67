//! Runs that end when they reach their targets.

use std::fs;
use std::path::PathBuf;

use meshfold_experiment::results::RecordedRun;
use meshfold_experiment::{Ending, Observer, Record};

use crate::tiny::{Case, Notes, records, results, rounds, timeless};

/// Judges the tiny run to its end and gives its accuracies, which rise at first.
fn accuracies() -> Vec<f64> {
    let case = Case::new(&[]);
    let records = records(&case.run());
    records
        .iter()
        .map(|record| record.test_accuracy.mean)
        .collect()
}

/// The settings of a run that ends at these targets.
fn stopping(targets: &[f64]) -> String {
    format!("evaluate={{targets: {targets:?}, stop_at_targets: true}}")
}

/// A target that round `round` is the first to reach.
fn first_reached_in(round: usize, accuracies: &[f64]) -> f64 {
    let before = accuracies[..round].iter().copied().fold(0.0, f64::max);
    assert!(accuracies[round] > before, "{accuracies:?}");
    (before + accuracies[round]) / 2.0
}

#[test]
fn a_run_ends_at_the_first_evaluation_that_reaches_all_targets() {
    let accuracies = accuracies();
    let (early, late) = (
        first_reached_in(1, &accuracies),
        first_reached_in(3, &accuracies),
    );
    for (targets, expected) in [
        (vec![early], 1),
        (vec![late, early], 3),
        (vec![early, 1.0], 7),
    ] {
        let (case, whole) = (Case::new(&[&stopping(&targets)]), Case::new(&[]));
        let run = case.run();
        assert!(matches!(run.ending, Ending::Finished), "{targets:?}");
        assert_eq!(
            rounds(&run),
            (0..=expected).collect::<Vec<_>>(),
            "{targets:?}"
        );
        let whole = timeless(&whole.run());
        assert_eq!(timeless(&run), whole[..=expected], "{targets:?}");
        let recorded = RecordedRun::read(&run.folder).unwrap();
        assert!(recorded.is_finished && recorded.reaching(early).is_some());
        assert!(matches!(case.run().ending, Ending::Skipped { .. }));
    }
}

#[test]
fn a_run_that_has_lost_its_ending_comes_to_the_same_end_again() {
    let target = first_reached_in(3, &accuracies());
    let case = Case::new(&[&stopping(&[target]), "checkpoint={every: 2, keep: true}"]);
    let whole = case.run();
    // Scores of clients before the checkpoint are gone with these, so the run starts again.
    for file in ["DONE", "summary.json", "clients.parquet"] {
        fs::remove_file(case.folder().join(file)).unwrap();
    }
    let again = case.run();
    assert!(matches!(again.ending, Ending::Finished));
    assert_eq!(timeless(&again), timeless(&whole));
}

/// Keeps the scores of clients that the run has written by its last record; they are removed when it has ended.
struct SpoolKeeper {
    spool: PathBuf,
    kept: Vec<u8>,
}

impl Observer for SpoolKeeper {
    fn record(&mut self, _: &Record) {
        self.kept = fs::read(&self.spool).unwrap();
    }
}

#[test]
fn a_run_that_resumes_where_it_reached_its_targets_ends_there() {
    let target = first_reached_in(3, &accuracies());
    let case = Case::new(&[&stopping(&[target]), "checkpoint={every: 2, keep: true}"]);
    let spool = case.folder().join("clients.spool");
    let mut keeper = SpoolKeeper {
        spool: spool.clone(),
        kept: Vec::new(),
    };
    let whole = case.run_watched(&mut keeper);
    assert_eq!(
        (whole.checkpoint, rounds(&whole).last()),
        (Some(3), Some(&3))
    );
    let expected = results(&whole);
    // The folder is that of a process that was killed when it had written the checkpoint of its last round.
    for file in ["DONE", "summary.json", "clients.parquet"] {
        fs::remove_file(case.folder().join(file)).unwrap();
    }
    fs::write(spool, keeper.kept).unwrap();
    let mut notes = Notes::default();
    let again = case.run_watched(&mut notes);
    assert!(matches!(again.ending, Ending::Finished));
    assert_eq!(again.resumed_from, Some(3));
    assert_eq!(notes.0.last().unwrap(), "resumed 3", "{:?}", notes.0);
    assert_eq!(results(&again), expected);
    assert!(RecordedRun::read(&again.folder).unwrap().is_finished);
}

/// Asks its run to end once it has a record of `round`.
struct EndsAfter {
    round: usize,
    is_there: bool,
}

impl Observer for EndsAfter {
    fn record(&mut self, record: &Record) {
        self.is_there |= record.round >= self.round;
    }

    fn asks_to_stop(&mut self) -> bool {
        self.is_there
    }
}

#[test]
fn an_observer_ends_its_run_after_the_round_and_the_run_goes_on_later() {
    let (case, whole) = (
        Case::new(&["checkpoint={}"]),
        Case::new(&["checkpoint={every: 3}"]),
    );
    let mut observer = EndsAfter {
        round: 2,
        is_there: false,
    };
    let ended = case.run_watched(&mut observer);
    assert!(matches!(ended.ending, Ending::Interrupted));
    assert_eq!((ended.checkpoint, rounds(&ended)), (Some(2), vec![0, 1, 2]));
    // It asks again as soon as it hears that the run has come so far.
    let again = case.run_watched(&mut observer);
    assert_eq!(
        (again.resumed_from, rounds(&again)),
        (Some(2), vec![0, 1, 2])
    );
    let resumed = case.run();
    assert_eq!(resumed.resumed_from, Some(2));
    assert_eq!(timeless(&resumed), timeless(&whole.run()));
}
