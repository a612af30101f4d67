//! A run goes on from the checkpoint of a finished run that has fewer rounds, and has the bits of a run in one go.

use std::fs;

use meshfold_experiment::{Ending, RunReport};

use crate::tiny::{Case, Notes, results, rounds};

const KEEP: &str = "checkpoint={keep: true}";

/// The run of `rounds` rounds with `overrides`, which keeps its checkpoint.
fn case(rounds: usize, overrides: &[&str]) -> Case {
    let rounds = format!("rounds={rounds}");
    Case::new(&[&[rounds.as_str(), KEEP], overrides].concat())
}

/// The results of the run of `rounds` rounds, in one go.
fn in_one_go(rounds: usize, overrides: &[&str]) -> (Vec<String>, Vec<u8>) {
    let case = case(rounds, overrides);
    results(&case.run())
}

/// Runs as many rounds as each of `lengths` one after another, each in the folder of the one before.
fn grown(lengths: &[usize], overrides: &[&str]) -> (Case, RunReport) {
    let mut grown: Option<(Case, RunReport)> = None;
    for rounds in lengths {
        let next = case(*rounds, overrides);
        let next = match grown {
            Some((before, _)) => next.beside(before),
            None => next,
        };
        let report = next.run();
        assert!(matches!(report.ending, Ending::Finished));
        grown = Some((next, report));
    }
    grown.unwrap()
}

#[test]
fn a_longer_run_has_the_bits_of_a_run_in_one_go_however_it_is_judged() {
    for overrides in [
        // The last round is judged in any case, on other examples and more thoroughly; the longer run judges it as the others, or not at all.
        vec!["evaluate={every: 2, examples: 20, last: all}"],
        vec![
            "evaluate={every: 4, local_test: 0.2, fine_tune: {local: {steps: 4}, batch_size: full, learning_rate: 0.2}}",
        ],
        vec!["evaluate={every: 3, train: true, clients: [own, labels]}"],
        vec!["evaluate={every: 5, theory: [averaged_iterates, dissimilarity]}"],
        // Every round where a run goes on is judged, and compared with what was before that round.
        vec!["evaluate={every: 1, theory: [inexactness]}"],
        vec![
            "algorithm={dsgd: {batch_size: 7, learning_rate: {step: {initial: 0.1, factor: 0.5, every: 3, per: round}}}}",
        ],
    ] {
        let whole = in_one_go(11, &overrides);
        let (_case, longer) = grown(&[4, 11], &overrides);
        assert_eq!(longer.resumed_from, Some(4));
        assert!(results(&longer) == whole, "{overrides:?}");
        let (_case, longest) = grown(&[3, 8, 11], &overrides);
        assert_eq!(longest.resumed_from, Some(8));
        assert!(results(&longest) == whole, "{overrides:?}");
        assert_eq!(longest.checkpoint, Some(11));
    }
}

#[test]
fn an_ending_before_the_last_round_is_the_same_in_a_longer_run() {
    for early in [
        "evaluate={targets: [0.2], stop_at_targets: true}",
        "budget={bytes: 20000}",
    ] {
        let whole = in_one_go(40, &[early]);
        let (_case, longer) = grown(&[30, 40], &[early]);
        let last = *rounds(&longer).last().unwrap();
        assert!(last < 30, "{early}: {last}");
        assert_eq!(longer.resumed_from, Some(last), "{early}");
        assert_eq!(longer.checkpoint, Some(last), "{early}: it is kept");
        assert!(results(&longer) == whole, "{early}");
    }
}

#[test]
fn a_run_that_ends_where_it_begins_keeps_its_models_and_is_not_gone_on_from() {
    let there = "evaluate={targets: [0.01], stop_at_targets: true}";
    let (_case, longer) = grown(&[3, 6], &[there]);
    assert_eq!(rounds(&longer), [0]);
    assert_eq!(longer.checkpoint, Some(0));
    assert_eq!(longer.resumed_from, None);
}

#[test]
fn it_is_told_which_run_is_gone_on_from() {
    let shorter = case(2, &[]);
    shorter.run();
    let id = shorter.plan.id.clone();
    let longer = case(4, &[]).beside(shorter);
    let mut notes = Notes::default();
    longer.run_watched(&mut notes);
    assert_eq!(notes.0[1], format!("resumed 2 of {id}"));
    // Both runs stay whole.
    for folder in [longer.folder(), longer.results.path().join("tiny").join(id)] {
        assert!(folder.join("DONE").exists() && folder.join("clients.spool").exists());
    }
}

#[test]
fn a_longer_run_that_is_interrupted_resumes_from_a_checkpoint_of_its_own() {
    let whole = in_one_go(7, &[]);
    let shorter = case(3, &[]);
    shorter.run();
    let longer = case(7, &[]).beside(shorter);
    // It is ended before it has done a round of its own.
    let begun = longer.run_until(0);
    assert_eq!((begun.resumed_from, begun.checkpoint), (Some(3), Some(4)));
    let resumed = longer.run();
    assert_eq!(resumed.resumed_from, Some(4));
    assert!(results(&resumed) == whole);
}

#[test]
fn runs_that_are_no_shorter_ones_are_left_alone() {
    let whole = in_one_go(5, &[]);
    let begins = |shorter: Case, longer: Case, what: &str| {
        let longer = longer.beside(shorter);
        let report = longer.run();
        assert_eq!(report.resumed_from, None, "{what}");
        assert!(results(&report) == whole, "{what}");
    };
    for (what, shorter) in [
        ("no checkpoint was kept", Case::new(&["rounds=3"])),
        ("another seed", case(3, &["seed=2"])),
        ("more rounds", case(6, &[])),
        ("another setting", case(3, &["evaluate.every=2"])),
    ] {
        shorter.run();
        begins(shorter, case(5, &[]), what);
    }
    let unfinished = case(3, &[]);
    unfinished.run_until(2);
    begins(unfinished, case(5, &[]), "not finished");
    for name in ["clients.spool", "metrics.jsonl", "checkpoint.safetensors"] {
        let damaged = case(3, &[]);
        damaged.run();
        let file = damaged.folder().join(name);
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 4;
        bytes[middle] ^= 1;
        fs::write(&file, bytes).unwrap();
        begins(damaged, case(5, &[]), name);
        let lacking = case(3, &[]);
        lacking.run();
        fs::remove_file(lacking.folder().join(name)).unwrap();
        begins(lacking, case(5, &[]), name);
    }
    // Who asks for a run again wants all of its rounds.
    let (longer, report) = grown(&[3, 5], &[]);
    assert_eq!(report.resumed_from, Some(3));
    let again = longer.run_with(&meshfold_experiment::RunOptions {
        again: true,
        ..longer.options()
    });
    assert_eq!(again.resumed_from, None);
    assert!(results(&again) == results(&report));
}
