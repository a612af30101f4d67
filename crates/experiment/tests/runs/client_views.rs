//! What `evaluate.clients` measures of each client's model.

use std::fs;

use meshfold_experiment::RunReport;
use meshfold_experiment::results::{ClientViews, RecordedRun};

use crate::tiny::{Case, records, refusal, timeless};

const ALL: &str = "evaluate.clients=[own, labels]";

/// The scores on all test examples, and the views.
fn read(report: &RunReport) -> (Vec<f64>, ClientViews) {
    let run = RecordedRun::read(&report.folder).unwrap();
    let scores = run.client_scores().unwrap();
    let accuracies = scores.iter().map(|score| score.accuracy).collect();
    (accuracies, run.client_views().unwrap())
}

#[test]
fn accuracies_by_label_make_up_those_on_all_examples() {
    let case = Case::new(&[ALL, "evaluate.train=true", "evaluate.every=3"]);
    let report = case.run();
    let (accuracies, views) = read(&report);
    let own = ["own_accuracy", "own_loss", "own_labels_accuracy"];
    let labels = (0..10).map(|label| format!("label_{label}_accuracy"));
    let names: Vec<String> = own.map(str::to_owned).into_iter().chain(labels).collect();
    assert_eq!(views.columns, names);
    assert_eq!(views.rows.len(), 4 * 6, "six clients, judged four times");
    let of_label = |label: u16| {
        let labels = case.data.test.labels().iter();
        labels.filter(|other| **other == label).count() as f64
    };
    let counts: Vec<f64> = (0..10).map(of_label).collect();
    let held = case
        .plan
        .partition
        .label_counts(case.data.train.labels(), 10);
    for (at, (accuracy, row)) in accuracies.iter().zip(&views.rows).enumerate() {
        let by_label = &row[3..];
        let hits = counts.iter().zip(by_label);
        let hits: f64 = hits.map(|(count, accuracy)| count * accuracy).sum();
        assert!(
            (hits / 60.0 - accuracy).abs() < 1e-12,
            "{hits} for {accuracy}"
        );
        let held = held[at % 6].iter().zip(by_label);
        let own: f64 = held.map(|(count, accuracy)| *count as f64 * accuracy).sum();
        assert!((own / 40.0 - row[2]).abs() < 1e-12, "40 examples each");
    }
    for (record, rows) in records(&report).iter().zip(views.rows.chunks(6)) {
        let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / 6.0;
        let spreads = [
            record.train_accuracy,
            record.train_shard_loss,
            record.own_labels_accuracy,
        ];
        for (column, spread) in spreads.into_iter().enumerate() {
            assert!((spread.unwrap().mean - mean(column)).abs() < 1e-12);
        }
    }
}

#[test]
fn measuring_more_changes_nothing_else_and_is_resumed() {
    let checkpoint = "checkpoint={every: 2}";
    let cases = [Case::new(&[]), Case::new(&[ALL])];
    let [plain, viewed] = cases.each_ref().map(Case::run);
    assert_eq!(read(&plain).0, read(&viewed).0);
    assert_eq!(read(&plain).1, ClientViews::default());
    let broken = Case::new(&[ALL, checkpoint]);
    broken.run_until(5);
    let resumed = broken.run();
    assert_eq!(resumed.resumed_from, Some(5));
    assert_eq!(timeless(&resumed), timeless(&viewed));
    let table = |report: &RunReport| fs::read(report.folder.join("clients.parquet")).unwrap();
    assert_eq!(table(&resumed), table(&viewed));
}

#[test]
fn figures_of_clients_are_absent_where_rows_are_not_clients() {
    let fedavg = "algorithm={fedavg: {local: {steps: 3}, batch_size: 7, learning_rate: 0.1}}";
    let case = Case::new(&[ALL, fedavg, "topology=null"]);
    let warnings = case.plan.warnings.join("\n");
    assert!(
        warnings.contains("`clients: own` is not recorded"),
        "{warnings}"
    );
    let (_, views) = read(&case.run());
    assert_eq!(views.rows.len(), 8, "one server, judged eight times");
    for row in views.rows {
        assert!(row[..3].iter().all(|figure| figure.is_nan()));
        assert!(row[3..].iter().all(|accuracy| accuracy.is_finite()));
    }
}

#[test]
fn local_test_sets_are_taken_from_training_and_judged_by_their_clients() {
    let share = "evaluate.local_test=0.25";
    let case = Case::new(&[share, "evaluate.every=3"]);
    assert_eq!(case.plan.partition.sizes(), [30; 6], "of 40 each");
    let report = case.run();
    let (_, views) = read(&report);
    let names = [
        "local_test_accuracy",
        "local_test_loss",
        "local_test_examples",
    ];
    assert_eq!(views.columns, names);
    for (record, rows) in records(&report).iter().zip(views.rows.chunks(6)) {
        let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / 6.0;
        let spreads = [record.local_test_accuracy, record.local_test_loss];
        for (column, spread) in spreads.into_iter().enumerate() {
            assert!((spread.unwrap().mean - mean(column)).abs() < 1e-12);
        }
        let hits = rows.iter().map(|row| 10.0 * row[0]);
        assert!(
            hits.into_iter()
                .all(|hits| (hits - hits.round()).abs() < 1e-9)
        );
        assert!(rows.iter().all(|row| row[2] == 10.0));
    }
    let broken = Case::new(&[share, "evaluate.every=3", "checkpoint={every: 2}"]);
    broken.run_until(5);
    assert_eq!(timeless(&broken.run()), timeless(&report));
    // Sets follow the seed of the partition.
    let sets = |overrides: &[&str]| {
        let case = Case::new(&[&[share], overrides].concat());
        let of = |client| case.plan.partition.local_test(client).to_vec();
        (0..6).map(of).collect::<Vec<_>>()
    };
    let fixed = "seeds.partition=4";
    assert_eq!(sets(&[fixed, "seed=1"]), sets(&[fixed, "seed=2"]));
    assert_ne!(sets(&["seed=1"]), sets(&["seed=2"]));
}

#[test]
fn clients_of_servers_are_judged_with_their_models() {
    let p_fedavg = "algorithm={p_fedavg: {batch_size: 7, learning_rate: 0.1, servers: {count: 2, assign: {list: [0, 1, 0, 1, 0, 1]}}}}";
    let overrides = ["evaluate.local_test=0.25", p_fedavg, "topology=complete"];
    let case = Case::new(&overrides);
    assert!(case.plan.warnings.is_empty(), "{:?}", case.plan.warnings);
    let report = case.run();
    // At the start all clients have the same model, and so have those of one server.
    let fedavg = "algorithm={fedavg: {batch_size: 7, learning_rate: 0.1}}";
    let others = [
        &[overrides[0], fedavg, "topology=null"][..],
        &overrides[..1],
    ]
    .map(Case::new);
    let [one, alone] = others.each_ref().map(Case::run);
    let first = |report: &RunReport| records(report)[0].local_test_accuracy.unwrap();
    assert_eq!(first(&report), first(&alone));
    assert_eq!(first(&one), first(&alone));
    let (_, views) = read(&report);
    for rows in views.rows.chunks(2 + 6) {
        let (servers, clients) = rows.split_at(2);
        assert!(servers.iter().flatten().all(|figure| figure.is_nan()));
        assert!(clients.iter().flatten().all(|figure| !figure.is_nan()));
    }

    let walks = "algorithm={dfedrw: {walkers: 2, hops: 3, rows: walkers, from: walk_ends, aggregators: walk_ends, restart: continue, batch_size: 7, learning_rate: 0.1}}";
    let case = Case::new(&["evaluate.local_test=0.25", walks]);
    let warnings = case.plan.warnings.join("\n");
    assert!(
        warnings.contains("`local_test` is not recorded"),
        "{warnings}"
    );
    assert!(records(&case.run())[0].local_test_accuracy.is_none());
}

#[test]
fn what_is_no_local_test_set_is_refused() {
    for share in ["0", "1", "-0.1"] {
        let refused = refusal(&[&format!("evaluate.local_test={share}")]);
        let needed = "needed a share of each client's examples, above 0 and below 1";
        assert!(refused.contains(needed), "{refused}");
    }
    let text = [
        "evaluate.local_test=0.2",
        "dataset={shakespeare: {source: tiny}}",
        "partition={by_role: {clients: 2}}",
        "model=char_lstm",
    ];
    let refused = refusal(&text);
    assert!(refused.contains("windows of a text overlap"), "{refused}");
}

#[test]
fn accuracies_by_label_are_refused_for_texts() {
    let text = [
        ALL,
        "dataset={shakespeare: {source: tiny}}",
        "partition={by_role: {clients: 2}}",
        "model=char_lstm",
    ];
    let refused = refusal(&text);
    assert!(
        refused.contains("found labels, needed examples with labels"),
        "{refused}"
    );
}
