//! Runs that end when they reach their targets.

use std::fs;

use meshfold_experiment::Ending;
use meshfold_experiment::results::RecordedRun;

use crate::tiny::{Case, records, rounds, timeless};

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
