//! What `evaluate.clients` measures of each client's model.

use std::fs;

use meshfold_data::DataFolder;
use meshfold_engine::{Device, DeviceRequest};
use meshfold_experiment::results::{ClientViews, RecordedRun};
use meshfold_experiment::{ExperimentSource, RunReport, plan_without_data};

use crate::tiny::{Case, YAML, records, timeless};

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
fn accuracies_by_label_are_refused_for_texts() {
    let device = Device::open(DeviceRequest::Cpu, Some(1), None).unwrap();
    let refusal = |overrides: &[&str]| {
        let source = ExperimentSource::new("tiny.yaml", YAML);
        let source = source.with_overrides(overrides.iter().copied());
        let planned = plan_without_data(&device, &source, &DataFolder::new("unused"));
        planned.unwrap_err().to_string()
    };
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
