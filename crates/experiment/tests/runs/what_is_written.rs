//! The files that a finished run leaves.

use std::collections::BTreeSet;
use std::fs;

use meshfold_engine::{Device, DeviceRequest};
use meshfold_experiment::results::RecordedRun;
use meshfold_experiment::{Ending, Milestone, RunOptions, RunReport, Status, Summary};

use crate::tiny::{Case, files, records, rounds, timeless};

#[test]
fn a_finished_run_leaves_every_documented_file_and_nothing_else() {
    let case = Case::new(&[]);
    let report = case.run();
    assert!(matches!(report.ending, Ending::Finished));
    let expected = "DONE clients.parquet config.yaml environment.json metrics.jsonl overlay.edges overlay.json \
                    partition.csv summary.json";
    let expected: BTreeSet<String> = expected.split_whitespace().map(str::to_owned).collect();
    assert_eq!(files(&report.folder), expected);
    let place = case.results.path().join("tiny").join(&case.plan.id);
    assert_eq!(report.folder, place);
    let read = |name: &str| fs::read_to_string(place.join(name)).unwrap();
    assert_eq!(read("config.yaml"), case.plan.config.to_yaml());
    assert_eq!(
        read("overlay.edges"),
        "0 1\n0 5\n1 2\n2 3\n3 4\n4 5\n",
        "one edge per line"
    );
    assert!(read("partition.csv").starts_with("client,label,examples\n"));
    assert!(read("environment.json").contains("0123abcd"));
    assert!(read("DONE").contains("cpu/"));
}

#[test]
fn an_overlay_that_goes_one_way_is_read_back_as_it_was() {
    let method = "algorithm={push_sum: {local: {steps: 1}, batch_size: 7, learning_rate: 0.1}}";
    let case = Case::new(&[method, "topology=one_peer"]);
    let report = case.run();
    let read = RecordedRun::read(&report.folder).unwrap();
    let (overlay, planned) = (read.overlay().unwrap().unwrap(), case.plan.overlay.unwrap());
    assert!(overlay.is_directed());
    assert!(overlay.edges().eq(planned.overlay.edges()));
    assert_eq!(read.lambda(), planned.lambda());
    assert_eq!(read.lambda_of_period, planned.lambda_of_period());
    // Six clients have a period of three exchanges.
    let (lambda, period) = (read.lambda().unwrap(), read.lambda_of_period.unwrap());
    assert!(
        lambda > 0.1 && lambda.powi(3) < period + 1e-12,
        "{lambda} {period}"
    );
    let summary = report.summary.unwrap();
    assert_eq!(
        (summary.lambda, summary.lambda_of_period),
        (Some(lambda), Some(period))
    );
    assert!(read.overlay_changes && !read.lambda_is_of_round_1());
    let both_ways = Case::new(&[]);
    let folder = both_ways.run().folder;
    let figures = fs::read_to_string(folder.join("overlay.json")).unwrap();
    assert!(!figures.contains("directed"));
}

#[test]
fn the_best_record_is_one_of_those_on_the_same_test_examples() {
    let method = "algorithm={dfedavgm: {local: {steps: 30}, batch_size: 7, learning_rate: 0.2}}";
    let partition = "partition={iid: {clients: 6}}";
    let examples = ["evaluate.every=7", "evaluate.examples=50"];
    let milestones = |last: &str| {
        let case = Case::new(&[
            method,
            partition,
            "model=logistic",
            examples[0],
            examples[1],
            last,
            "evaluate.targets=[0.2]",
        ]);
        let summary = case.run().summary.unwrap();
        let round = |milestone: Option<&Milestone>| milestone.map(|record| record.round);
        [
            round(summary.best.as_ref()),
            round(summary.targets[0].reached.as_ref()),
            round(summary.last.as_ref()),
        ]
    };
    // Records of rounds 0 and 7: with other examples in the end, the first alone is on 50.
    assert_eq!(milestones("evaluate.last=all"), [Some(0), None, Some(7)]);
    assert_eq!(milestones("evaluate.last=50"), [Some(7), Some(7), Some(7)]);
}

#[test]
fn all_data_in_one_place_is_one_client() {
    let method = "algorithm={centralised: {batch_size: 7, learning_rate: 0.1}}";
    let case = Case::new(&[method, "topology=null"]);
    let report = case.run();
    let clients = |run: RecordedRun| {
        let holdings = run.partition().unwrap().unwrap();
        (run.clients, holdings.examples(), holdings.fits(1))
    };
    let expected = (Some(1), 240, true);
    assert_eq!(
        clients(RecordedRun::read(&report.folder).unwrap()),
        expected
    );
    // A run that goes on has no summary yet.
    fs::remove_file(report.folder.join("DONE")).unwrap();
    fs::remove_file(report.folder.join("summary.json")).unwrap();
    assert_eq!(
        clients(RecordedRun::read(&report.folder).unwrap()),
        expected
    );
}

#[test]
fn records_count_what_the_method_does() {
    let case = Case::new(&["evaluate.train=true"]);
    let report = case.run();
    let records = records(&report);
    assert_eq!(rounds(&report), [0, 1, 2, 3, 4, 5, 6, 7]);
    let (first, last) = (&records[0], &records[7]);
    assert_eq!(
        (first.local_steps, first.bytes_total, first.train_loss),
        (0, 0, None)
    );
    assert_eq!(
        first.consensus_distance, 0.0,
        "all rows start from one model"
    );
    assert_eq!(first.mean_model_accuracy, first.test_accuracy.mean);
    assert_eq!(last.local_steps, 7 * 6 * 3);
    let model_bytes = 4 * case.plan.parameters as u64;
    assert_eq!(last.bytes_total, 7 * 12 * model_bytes);
    assert_eq!(last.bytes_busiest_node, 7 * 4 * model_bytes);
    assert_eq!((first.messages_total, last.messages_total), (0, 7 * 12));
    assert_eq!((last.components, last.messages_as_printed), (None, None));
    assert_eq!((last.alive, last.simulated_seconds), (6, None));
    assert!(last.consensus_distance > 0.0 && last.train_loss.is_some());
    let accuracy = last.test_accuracy;
    assert!(accuracy.min <= accuracy.mean && accuracy.mean <= accuracy.max && accuracy.max <= 1.0);
    let on_shards = (
        first.train_shard_loss.unwrap(),
        last.train_shard_loss.unwrap(),
    );
    assert!(
        on_shards.1.mean < on_shards.0.mean,
        "clients learn their shards"
    );
    assert_eq!(report.last.as_ref(), Some(last));
}

#[test]
fn the_summary_names_when_a_target_was_reached() {
    let case = Case::new(&[]);
    let report = case.run();
    let text = fs::read(report.folder.join("summary.json")).unwrap();
    let summary: Summary = serde_json::from_slice(&text).unwrap();
    assert_eq!(Some(&summary), report.summary.as_ref());
    assert_eq!(
        (summary.status, summary.rounds, summary.rows),
        (Status::Finished, 7, 6)
    );
    assert_eq!(summary.last.unwrap().round, 7);
    assert_eq!(summary.targets[0].reached.as_ref().unwrap().round, 0);
    assert_eq!(summary.targets[1].reached, None);
    assert!(summary.overlay.unwrap().lambda.unwrap() < 1.0);
}

#[test]
fn evaluations_come_every_few_rounds_and_at_the_end() {
    let case = Case::new(&["evaluate.every=3", "evaluate.examples=20"]);
    let report = case.run();
    assert_eq!(rounds(&report), [0, 3, 6, 7]);
    for record in records(&report) {
        let hits = record.test_accuracy.max * 20.0;
        assert!(
            (hits - hits.round()).abs() < 1e-9,
            "a share of twenty examples"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_whatever_the_threads() {
    let (one, two) = (Case::new(&[]), Case::new(&[]));
    let threads = Device::open(DeviceRequest::Cpu, Some(2), None).unwrap();
    let on_two = RunOptions {
        device: threads,
        ..two.options()
    };
    let (first, second) = (one.run(), two.run_with(&on_two));
    assert_eq!(timeless(&first), timeless(&second));
    let table = |report: &RunReport| fs::read(report.folder.join("clients.parquet")).unwrap();
    assert_eq!(table(&first), table(&second));
    let other = Case::new(&["seed=2"]);
    assert_ne!(timeless(&first), timeless(&other.run()));
}

#[test]
fn a_partition_that_pools_is_judged_on_what_it_holds_out() {
    let case = Case::new(&["partition={two_label_power_law: {clients: 10}}"]);
    let report = case.run();
    let held_out = case.plan.partition.held_out().unwrap().len() as f64;
    assert!(held_out < 60.0, "the dataset's own test set has 60");
    for record in records(&report) {
        let hits = record.test_accuracy.max * held_out;
        assert!((hits - hits.round()).abs() < 1e-9, "{hits} of {held_out}");
    }
    let table = fs::read_to_string(report.folder.join("partition.csv")).unwrap();
    let examples = |line: &str| line.rsplit(',').next().unwrap().parse::<usize>().unwrap();
    let dealt: usize = table.lines().skip(1).map(examples).sum();
    assert_eq!(dealt, case.plan.partition.sizes().iter().sum::<usize>());
}
