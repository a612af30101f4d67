//! Breaking off, resuming, repeating and failing.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::AtomicBool;

use meshfold_experiment::{Ending, RunError, RunOptions, RunReport, Status, run};
use safetensors::{Dtype, SafeTensors};

use crate::tiny::{Case, Notes, files, rounds, timeless};

/// A run with checkpoints, broken off after `stopped` rounds and resumed, against one that was not.
fn assert_resumes(overrides: &[&str], stopped: usize, from: usize) {
    let overrides = [overrides, &["checkpoint={every: 2, keep: true}"]].concat();
    let (uninterrupted, case) = (Case::new(&overrides), Case::new(&overrides));
    let whole = uninterrupted.run();
    let broken = case.run_until(stopped);
    assert!(matches!(broken.ending, Ending::Interrupted));
    let resumed = case.run();
    assert!(matches!(resumed.ending, Ending::Finished));
    assert_eq!(resumed.resumed_from, Some(from), "{overrides:?}");
    assert_eq!(timeless(&resumed), timeless(&whole), "{overrides:?}");
    let table = |report: &RunReport| fs::read(report.folder.join("clients.parquet")).unwrap();
    assert_eq!(table(&resumed), table(&whole), "{overrides:?}");
    assert_eq!(stacks(&resumed), stacks(&whole), "{overrides:?}");
}

/// The bytes of each stack in the checkpoint that a run kept.
fn stacks(report: &RunReport) -> BTreeMap<String, Vec<u8>> {
    let file = fs::read(report.folder.join("checkpoint.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&file).unwrap();
    let stacks = tensors
        .iter()
        .filter(|(_, tensor)| tensor.dtype() == Dtype::F32);
    let stacks: BTreeMap<_, _> = stacks
        .map(|(name, tensor)| (name.to_owned(), tensor.data().to_vec()))
        .collect();
    assert!(stacks.contains_key("models"));
    stacks
}

#[test]
fn a_resumed_run_has_the_bits_of_an_uninterrupted_one() {
    let dsgd = "algorithm={dsgd: {batch_size: 7, learning_rate: 0.1, momentum: 0.9}}";
    let drawn = "algorithm.dfedavgm.draw=with_replacement";
    let epochs = "algorithm.dfedavgm.local={epochs: 2}";
    assert_resumes(&[], 5, 5);
    assert_resumes(&[dsgd], 4, 4);
    assert_resumes(&[drawn], 3, 3);
    assert_resumes(&[epochs], 1, 1);
    let alone = "algorithm={alone: {batch_size: 7, learning_rate: 0.1, momentum: 0.9}}";
    assert_resumes(&[alone, "topology=null"], 5, 5);
    let fedavg = "algorithm={fedavg: {participation: {clients: 2}, local: {steps: 3}, batch_size: 7, learning_rate: 0.1}}";
    assert_resumes(&[fedavg, "topology=null"], 5, 5);
}

#[test]
fn what_methods_keep_between_rounds_is_resumed_bit_for_bit() {
    let failures = "failures=[{clients: {share: 0.2}, from_round: 2, redraw: each_round}]";
    let network = "network={links: {fixed: {bytes_per_second: 1000}}}";
    for (method, topology) in [
        ("gradient_tracking", "ring"),
        ("d2", "complete"),
        ("exact_diffusion", "ring"),
        ("qg_dsgdm", "ring"),
        ("push_sum", "ring"),
    ] {
        let method = format!("algorithm={{{method}: {{batch_size: 7, learning_rate: 0.1}}}}");
        let topology = format!("topology={topology}");
        assert_resumes(&[&method, &topology, failures, network], 5, 5);
    }
    let walk = "algorithm={dfedrw: {walkers: 3, hops: 3, restart: continue, batch_size: 7, learning_rate: 0.1}}";
    assert_resumes(&[walk, "stragglers={share: 0.5}", failures], 4, 4);
    let scaffold =
        "algorithm={scaffold: {participation: {clients: 2}, batch_size: 7, learning_rate: 0.1}}";
    let theory = "evaluate.theory=[averaged_iterates, dissimilarity]";
    assert_resumes(&[scaffold, "topology=null", theory], 5, 5);
    let redraw = "topology={redraw: {every: 2, of: {erdos_renyi: {p: 0.6}}}}";
    let momentum = "algorithm={dsgd: {batch_size: 7, learning_rate: 0.1, momentum: 0.9}}";
    assert_resumes(&[momentum, redraw], 3, 3);
}

#[test]
fn a_checkpoint_between_evaluations_holds_the_training_loss_so_far() {
    assert_resumes(&["evaluate.every=3"], 5, 5);
}

#[test]
fn a_killed_run_goes_on_from_its_last_checkpoint() {
    let overrides = ["checkpoint={every: 2}"];
    let (uninterrupted, case) = (Case::new(&overrides), Case::new(&overrides));
    let whole = uninterrupted.run();
    let broken = case.run_until(4);
    // What a process that is killed in round 6 leaves: records after the checkpoint, the last one torn.
    let metrics = broken.folder.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics).unwrap();
    let last = text
        .lines()
        .last()
        .unwrap()
        .replace("\"round\":4", "\"round\":5");
    fs::write(&metrics, format!("{text}{last}\n{}", &last[..30])).unwrap();
    fs::remove_file(broken.folder.join("summary.json")).unwrap();
    fs::remove_file(broken.folder.join("clients.parquet")).unwrap();
    let mut notes = Notes::default();
    let resumed = run(
        &case.plan,
        &case.data,
        &case.options(),
        &AtomicBool::new(false),
        &mut notes,
    )
    .unwrap();
    assert_eq!(timeless(&resumed), timeless(&whole));
    let told: Vec<&str> = notes.0.iter().map(String::as_str).collect();
    assert_eq!(
        told[..4],
        [
            "started tiny",
            "resumed 4",
            "round 5 of 7, 90 steps",
            "record 5"
        ]
    );
}

#[test]
fn a_checkpoint_whose_records_are_gone_is_not_gone_on_from() {
    let case = Case::new(&["checkpoint={every: 2}"]);
    let broken = case.run_until(4);
    fs::write(broken.folder.join("metrics.jsonl"), "").unwrap();
    let report = case.run();
    assert_eq!(report.resumed_from, None);
    assert_eq!(rounds(&report), [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn without_a_checkpoint_a_broken_run_starts_again() {
    let case = Case::new(&[]);
    let broken = case.run_until(4);
    assert_eq!(rounds(&broken), [0, 1, 2, 3, 4]);
    let written = files(&broken.folder);
    assert!(written.contains("clients.parquet") && written.contains("summary.json"));
    assert!(!written.contains("DONE") && !written.contains("checkpoint"));
    assert_eq!(broken.summary.unwrap().status, Status::Interrupted);
    let report = case.run();
    assert_eq!((report.resumed_from, rounds(&report).len()), (None, 8));
}

#[test]
fn a_stop_before_the_first_round_leaves_the_start_alone() {
    let case = Case::new(&["checkpoint={every: 2}"]);
    let stop = AtomicBool::new(true);
    let report = run(&case.plan, &case.data, &case.options(), &stop, &mut ()).unwrap();
    assert_eq!(rounds(&report), [0]);
    assert!(matches!(report.ending, Ending::Interrupted));
    assert_eq!(rounds(&case.run()).len(), 8);
}

#[test]
fn a_stop_while_least_losses_are_looked_for_leaves_nothing_half_known() {
    let dsgd = "algorithm={dsgd: {batch_size: 7, learning_rate: 0.1, weight_decay: 0.01}}";
    for (method, asked) in [
        (dsgd, "evaluate.theory=[non_iid_degree]"),
        (crate::bounds::DECEFL, "evaluate.theory=[bound]"),
    ] {
        nothing_is_half_known(&["algorithm={}", method, "model=logistic", asked]);
    }
}

/// A run with these `overrides` is stopped before it has looked for the least losses, and then carried out.
fn nothing_is_half_known(overrides: &[&str]) {
    let case = Case::new(overrides);
    let (stop, mut notes) = (AtomicBool::new(true), Notes::default());
    let report = run(&case.plan, &case.data, &case.options(), &stop, &mut notes).unwrap();
    assert!(matches!(report.ending, Ending::Interrupted));
    assert_eq!(rounds(&report), [0; 0]);
    assert!(
        notes
            .0
            .contains(&"looks for the least losses, for the theory asked for".to_owned()),
        "{:?}",
        notes.0
    );
    let whole = case.run();
    assert_eq!(timeless(&whole), timeless(&Case::new(overrides).run()));
}

#[test]
fn a_finished_run_is_skipped_unless_asked_for_again() {
    let case = Case::new(&[]);
    let first = case.run();
    let metrics = fs::read(first.folder.join("metrics.jsonl")).unwrap();
    let skipped = case.run();
    assert!(matches!(
        skipped.ending,
        Ending::Skipped { differs: false, .. }
    ));
    assert_eq!(
        (skipped.last.clone(), skipped.summary.clone()),
        (first.last.clone(), first.summary.clone())
    );
    assert_eq!(
        fs::read(first.folder.join("metrics.jsonl")).unwrap(),
        metrics
    );
    let again = RunOptions {
        again: true,
        ..case.options()
    };
    let repeated = case.run_with(&again);
    assert!(matches!(repeated.ending, Ending::Finished));
    assert_eq!(timeless(&repeated), timeless(&first));
    assert_ne!(
        fs::read(first.folder.join("metrics.jsonl")).unwrap(),
        metrics,
        "seconds differ"
    );
}

#[test]
fn a_run_finished_by_another_version_or_device_is_kept_and_reported() {
    let case = Case::new(&[]);
    let first = case.run();
    let done = r#"{"meshfold":"0.0.1","device":"cpu/abacus"}"#;
    fs::write(first.folder.join("DONE"), done).unwrap();
    match case.run().ending {
        Ending::Skipped {
            by,
            differs,
            changed,
        } => {
            assert_eq!(
                (by.device.as_str(), by.meshfold.as_str(), differs, changed),
                ("cpu/abacus", "0.0.1", true, None)
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fs::read_to_string(first.folder.join("DONE")).unwrap(), done);
}

#[test]
fn a_model_that_is_not_finite_ends_the_run_with_its_records_and_the_round() {
    let case = Case::new(&["algorithm.dfedavgm.learning_rate=1e30"]);
    let report = case.run();
    let Ending::Failed { error } = &report.ending else {
        panic!("{:?}", report.ending)
    };
    assert!(
        error
            .to_string()
            .contains("became infinite or NaN in round 1"),
        "{error}"
    );
    assert_eq!(rounds(&report), [0]);
    let summary = report.summary.as_ref().unwrap();
    assert_eq!(summary.status, Status::Failed);
    assert!(summary.error.as_ref().unwrap().contains("round 1"));
    let written = files(&report.folder);
    assert!(!written.contains("DONE") && written.contains("clients.parquet"));
}

#[test]
fn a_results_folder_that_cannot_be_written_is_refused_before_any_work() {
    let case = Case::new(&[]);
    let taken = case.results.path().join("runs");
    fs::write(&taken, "no folder").unwrap();
    let options = RunOptions {
        results: taken,
        ..case.options()
    };
    let mut notes = Notes::default();
    let error = run(
        &case.plan,
        &case.data,
        &options,
        &AtomicBool::new(false),
        &mut notes,
    );
    assert!(matches!(error, Err(RunError::Folder { .. })));
    assert!(notes.0.is_empty());
}
