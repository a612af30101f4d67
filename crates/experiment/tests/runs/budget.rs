//! Runs that end when their budget is spent.

use std::fs;

use meshfold_experiment::results::RecordedRun;
use meshfold_experiment::{Ending, Record};

use crate::tiny::{Case, records, rounds, timeless};

/// Each round takes a second.
const NETWORK: &str = "network={links: {latency: {epoch: 0, message: 1}}}";

#[test]
fn a_run_ends_at_the_first_evaluation_after_its_budget_is_spent() {
    // A round of the ring sends twelve models of 6,370 parameters, 305,760 bytes.
    for (overrides, expected) in [
        (&["budget={bytes: 1.0e6}"][..], &[0, 1, 2, 3, 4][..]),
        (&["budget={bytes: 1.0e6}", "evaluate.every=3"], &[0, 3, 6]),
        (&["budget={seconds: 3}", NETWORK], &[0, 1, 2, 3]),
        (&["budget={seconds: 5, bytes: 6.0e5}", NETWORK], &[0, 1, 2]),
        (
            &["budget={bytes: 1.0e9}", "evaluate.every=3"],
            &[0, 3, 6, 7],
        ),
    ] {
        let case = Case::new(overrides);
        let run = case.run();
        assert!(matches!(run.ending, Ending::Finished), "{overrides:?}");
        assert_eq!(rounds(&run), expected, "{overrides:?}");
    }
}

#[test]
fn the_rounds_before_are_those_of_a_run_without_a_budget() {
    let (limited, whole) = (Case::new(&["budget={bytes: 1.0e6}"]), Case::new(&[]));
    assert_eq!(timeless(&limited.run()), timeless(&whole.run())[..5]);
}

#[test]
fn the_last_evaluation_has_the_examples_of_the_last_round() {
    let other = ["evaluate.examples=7", "evaluate.last=all"];
    let limited = Case::new(&[&["budget={bytes: 1.0e6}"], &other[..]].concat());
    let whole = Case::new(&[&["rounds=4"], &other[..]].concat());
    let run = limited.run();
    // The figures of the end are told apart, wherever it comes.
    assert!(
        RecordedRun::read(&run.folder)
            .unwrap()
            .ends_on_other_examples()
    );
    let best = run.summary.as_ref().unwrap().best.as_ref().unwrap();
    let (limited, whole) = (records(&run), records(&whole.run()));
    let accuracies = |records: &[Record]| -> Vec<f64> {
        let all = records.iter().map(|record| record.test_accuracy.mean);
        all.collect()
    };
    assert_eq!(accuracies(&limited), accuracies(&whole));
    let before = accuracies(&limited)[..4]
        .iter()
        .copied()
        .fold(0.0, f64::max);
    assert_eq!(best.test_accuracy.mean, before);
    // Of all 60 test images, where the records before are of seven.
    let images = accuracies(&limited)[4] * 60.0 * 6.0;
    assert!((images - images.round()).abs() < 1e-6, "{images}");
}

#[test]
fn a_finished_run_of_a_budget_is_whole_and_is_skipped() {
    for keep in [false, true] {
        let checkpoint = format!("checkpoint={{every: 3, keep: {keep}}}");
        let overrides = ["budget={bytes: 1.0e6}", checkpoint.as_str()];
        let (uninterrupted, case) = (Case::new(&overrides), Case::new(&overrides));
        let whole = uninterrupted.run();
        let broken = case.run_until(3);
        assert!(matches!(broken.ending, Ending::Interrupted));
        let resumed = case.run();
        assert_eq!(resumed.resumed_from, Some(3));
        assert_eq!(timeless(&resumed), timeless(&whole));
        assert!(matches!(case.run().ending, Ending::Skipped { .. }));
        let kept = resumed.folder.join("checkpoint.safetensors");
        assert_eq!(kept.exists(), keep);
        // Without its checkpoint a run whose `DONE` is lost starts again.
        fs::remove_file(resumed.folder.join("DONE")).unwrap();
        let again = case.run();
        assert!(matches!(again.ending, Ending::Finished));
        assert_eq!(again.resumed_from, keep.then_some(4));
        assert_eq!(timeless(&again), timeless(&whole));
    }
}
