//! `evaluate: {local_test: owners}`: clients' models are judged on the test examples of their owners.

use std::collections::BTreeSet;
use std::fs;

use meshfold_data::DataFolder;
use meshfold_experiment::results::{ClientViews, RecordedRun, TrainedModels};
use meshfold_experiment::{
    ConfigError, ExperimentSource, RunReport, Spread, plan, plan_without_data,
};
use tempfile::TempDir;

use crate::tiny::{Case, YAML, records, timeless};

const OWNERS: &str = "evaluate.local_test=owners";

/// Seven owners of ten training rows each, and how many test rows owners 0 to 8 have. Owner 2 has none, 7 and 8 nothing to train on.
const TESTS: [usize; 9] = [5, 1, 0, 8, 3, 2, 4, 6, 1];

/// Rows of each of so many `counts` of owners, those of different owners in turn.
fn table(counts: &[usize]) -> String {
    let mut table = String::from("kind,who,a,b\n");
    for turn in 0..counts.iter().copied().max().unwrap() {
        for (who, _) in counts.iter().enumerate().filter(|(_, n)| turn < **n) {
            let row = 10 * who + turn;
            let (kind, a, b) = (row * row % 3, row % 7, 5 * row % 11);
            table.push_str(&format!("{kind},{who},{a},{b}\n"));
        }
    }
    table
}

/// The tables in a folder.
fn data() -> TempDir {
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("table.csv"), table(&[10; 7])).unwrap();
    fs::write(data.path().join("tests.csv"), table(&TESTS)).unwrap();
    data
}

const TABLES: [&str; 4] = [
    "dataset={csv: {file: table.csv, label: kind, client: who, test: {file: tests.csv}}}",
    "partition={by_writer: {clients: 4}}",
    "model=logistic",
    "evaluate.every=3",
];

fn case(overrides: &[&str]) -> Case {
    Case::with_data(data().path(), &[&TABLES[..], overrides].concat())
}

fn views(report: &RunReport) -> ClientViews {
    RecordedRun::read(&report.folder)
        .unwrap()
        .client_views()
        .unwrap()
}

/// The test rows of each client's owners, found one by one.
fn rows_by_hand(case: &Case) -> Vec<Vec<usize>> {
    let [train, test] = [&case.data.train, &case.data.test].map(|examples| examples.owners());
    let of_client = |client| {
        let shard = case.plan.partition.shard(client).iter();
        let owners: BTreeSet<u32> = shard.map(|row| train.unwrap()[*row as usize]).collect();
        let tests = test.unwrap().iter().enumerate();
        let own = tests.filter(|(_, owner)| owners.contains(owner));
        own.map(|(row, _)| row).collect()
    };
    (0..case.plan.clients).map(of_client).collect()
}

/// Accuracy and loss of a logistic model with the parameters `model` on `rows` of the test examples, in double precision.
fn score_by_hand(case: &Case, model: &[f32], rows: &[usize]) -> [f64; 2] {
    let (test, classes) = (&case.data.test, case.plan.dataset.classes());
    let [weight, bias] = case.plan.model.layout().blocks() else {
        panic!("a logistic model has a matrix and a bias");
    };
    let [weight, bias] = [weight, bias].map(|block| &model[block.range()]);
    let (mut hits, mut loss) = (0.0, 0.0);
    for row in rows {
        let label = usize::from(test.labels()[*row]);
        let logit = |class: usize| {
            let products = test.row(*row).into_iter().enumerate();
            let sum: f64 = products
                .map(|(input, x)| f64::from(x) * f64::from(weight[input * classes + class]))
                .sum();
            sum + f64::from(bias[class])
        };
        let logits: Vec<f64> = (0..classes).map(logit).collect();
        let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
        loss += sum.ln() - logits[label];
        let best = (0..classes).max_by(|a, b| logits[*a].total_cmp(&logits[*b]));
        hits += f64::from(u8::from(best == Some(label)));
    }
    [hits, loss].map(|sum| sum / rows.len() as f64)
}

/// The mean of `figures`, each counted as often as its `sizes` say.
fn weighted(figures: &[f64], sizes: &[usize]) -> f64 {
    let products = figures.iter().zip(sizes);
    let sum: f64 = products.map(|(figure, size)| figure * *size as f64).sum();
    sum / sizes.iter().sum::<usize>() as f64
}

#[test]
fn each_client_is_judged_on_the_test_rows_of_its_owners() {
    for partition in ["partition={by_writer: {clients: 4}}", "partition=by_writer"] {
        let case = case(&[OWNERS, partition, "checkpoint={keep: true}"]);
        let sizes = case.plan.partition.sizes();
        assert_eq!(sizes.iter().sum::<usize>(), 70, "all rows are trained on");
        let rows = rows_by_hand(&case);
        let judged: usize = rows.iter().map(Vec::len).sum();
        assert_eq!(judged, TESTS[..7].iter().sum::<usize>());
        let report = case.run();
        let models = TrainedModels::of(&case.folder()).unwrap().models;
        let (all, width) = (models.to_host(), models.layout().width());
        let views = views(&report);
        let names = ["accuracy", "loss", "examples"];
        assert_eq!(
            views.columns,
            names.map(|name| format!("local_test_{name}"))
        );
        let clients = rows.len();
        let found = &views.rows[views.rows.len() - clients..];
        let mut with_tests: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
        let mut counts = Vec::new();
        for (client, (rows, found)) in rows.iter().zip(found).enumerate() {
            assert_eq!(found[2], rows.len() as f64);
            if rows.is_empty() {
                assert!(found[0].is_nan() && found[1].is_nan());
                continue;
            }
            let [accuracy, loss] = score_by_hand(&case, &all[client * width..][..width], rows);
            assert!((found[0] - accuracy).abs() < 1e-12, "{client}: {accuracy}");
            assert!((found[1] - loss).abs() < 1e-5 * loss, "{client}: {loss}");
            with_tests[0].push(found[0]);
            with_tests[1].push(found[1]);
            counts.push(rows.len());
        }
        let last = records(&report).pop().unwrap();
        let spreads = [last.local_test_accuracy, last.local_test_loss];
        for (spread, figures) in spreads.map(Option::unwrap).into_iter().zip(with_tests) {
            let expected = weighted(&figures, &counts);
            assert!((spread.weighted.unwrap() - expected).abs() < 1e-12);
            let expected = Spread::of(&figures);
            assert_eq!(
                Spread {
                    weighted: None,
                    ..spread
                },
                expected
            );
        }
    }
}

#[test]
fn a_share_has_a_mean_over_examples_too() {
    let case = case(&[
        "evaluate.local_test=0.3",
        "partition={by_writer: {clients: 3}}",
    ]);
    let report = case.run();
    let rows = views(&report).rows;
    let last = records(&report).pop().unwrap();
    let rows = &rows[rows.len() - 3..];
    let sizes: Vec<usize> = rows.iter().map(|row| row[2] as usize).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 21, "of 70");
    assert!(sizes.contains(&6) && sizes.contains(&9), "7 owners of 3");
    let figures: Vec<f64> = rows.iter().map(|row| row[0]).collect();
    let accuracy = last.local_test_accuracy.unwrap();
    assert!((accuracy.weighted.unwrap() - weighted(&figures, &sizes)).abs() < 1e-12);
    assert!(last.test_accuracy.weighted.is_none());
}

#[test]
fn judging_on_tests_of_owners_changes_nothing_else_and_is_resumed() {
    let [plain, judged] = [&[][..], &[OWNERS]].map(case);
    assert_ne!(plain.plan.id, judged.plan.id);
    let [plain, report] = [plain.run(), judged.run()];
    let without = |report: &RunReport| -> Vec<_> {
        let each = records(report).into_iter().map(|mut record| {
            (record.local_test_accuracy, record.local_test_loss) = (None, None);
            record.wall_seconds = 0.0;
            record
        });
        each.collect()
    };
    assert_eq!(without(&report), without(&plain));
    let broken = case(&[OWNERS, "checkpoint={every: 2}"]);
    broken.run_until(5);
    let resumed = broken.run();
    assert_eq!(resumed.resumed_from, Some(5));
    assert_eq!(timeless(&resumed), timeless(&report));
    let table = |report: &RunReport| fs::read(report.folder.join("clients.parquet")).unwrap();
    assert_eq!(table(&resumed), table(&report));
}

#[test]
fn tuned_models_and_attackers_take_tests_of_owners() {
    let tuned = "evaluate.fine_tune={local: {steps: 4}, batch_size: full, learning_rate: 0.2}";
    let attack = "evaluate.membership={non_members: local_test}";
    let case = case(&[OWNERS, tuned, attack]);
    let rows = rows_by_hand(&case);
    let report = case.run();
    let views = views(&report);
    let place = |name: &str| {
        views
            .columns
            .iter()
            .position(|other| other == name)
            .unwrap()
    };
    let guessed = place("membership_examples");
    for views in views.rows.chunks(4) {
        for ((rows, row), size) in rows.iter().zip(views).zip(case.plan.partition.sizes()) {
            assert_eq!(row[guessed], rows.len().min(size) as f64);
        }
    }
    // From the same start a client that trains alone for as long has the same model.
    let alone = "algorithm={alone: {local: {steps: 4}, batch_size: full, learning_rate: 0.2}}";
    let alone = self::case(&[OWNERS, alone, "topology=null", "evaluate.every=1"]);
    let (tuned, trained) = (&records(&report)[0], &records(&alone.run())[1]);
    assert_eq!(tuned.fine_tuned_accuracy, trained.local_test_accuracy);
    assert_eq!(tuned.fine_tuned_loss, trained.local_test_loss);
    assert!(tuned.fine_tuned_loss.unwrap().weighted.is_some());
}

#[test]
fn clients_of_servers_are_judged_on_tests_of_their_owners() {
    let servers = "algorithm={p_fedavg: {batch_size: 7, learning_rate: 0.1, servers: {count: 2, assign: {list: [0, 1, 0, 1]}}}}";
    let first = |case: &Case| records(&case.run())[0].local_test_accuracy.unwrap();
    let of_servers = first(&case(&[OWNERS, servers, "topology=complete"]));
    assert_eq!(of_servers, first(&case(&[OWNERS])));
    // All rows and tests of the clients go to the one that there is.
    let central = "algorithm={centralised: {batch_size: 7, learning_rate: 0.1}}";
    let one = case(&[OWNERS, central, "topology=null"]);
    assert_eq!(one.plan.partition.local_test_examples(), 23);
    assert!((first(&one).mean - of_servers.weighted.unwrap()).abs() < 1e-12);
}

/// Why the experiment with these `lines` in place of those of [`YAML`] is refused.
fn refused(lines: &[&str], tests: &[usize]) -> ConfigError {
    let data = data();
    fs::write(data.path().join("tests.csv"), table(tests)).unwrap();
    let key = |line: &str| line.split(':').next().unwrap().to_owned();
    let keys: Vec<String> = lines.iter().map(|line| key(line)).collect();
    let kept = YAML.lines().filter(|line| !keys.contains(&key(line)));
    let text: Vec<&str> = kept.chain(lines.iter().copied()).collect();
    let source = ExperimentSource::new("tiny.yaml", text.join("\n"));
    plan(&source, &DataFolder::new(data.path())).unwrap_err()
}

#[test]
fn what_has_no_tests_of_owners_is_refused_at_its_line() {
    let csv =
        "dataset: {csv: {file: table.csv, label: kind, client: who, test: {file: tests.csv}}}";
    let evaluate = "evaluate: {local_test: owners}";
    let by_writer = "partition: by_writer";
    let iid = "partition: {iid: {clients: 4}}";
    for (lines, tests, told) in [
        (
            &[
                "dataset: {csv: {file: table.csv, label: kind}}",
                iid,
                evaluate,
            ][..],
            &TESTS[..],
            "evaluate.local_test: found owners, needed a dataset that names the owners of its test examples, or a share of each client's \
             examples, such as 0.2",
        ),
        (
            &[csv, iid, evaluate],
            &TESTS,
            "evaluate.local_test: found owners, needed a partition by owners, such as `by_writer`: with `iid` no client has an owner",
        ),
        (
            &[csv, by_writer, evaluate],
            &[0, 0, 0, 0, 0, 0, 0, 4, 2],
            "evaluate.local_test: found owners, needed test examples of owners who have training examples: each of the 6 test examples is \
             of another owner",
        ),
        (
            &[by_writer, evaluate],
            &TESTS,
            "evaluate.local_test: found owners, needed test examples of owners who have training examples: each of the 60 test examples is \
             of another owner",
        ),
        (
            &[csv, by_writer, "evaluate: {local_test: owner}"],
            &TESTS,
            "evaluate.local_test: found the text \"owner\", needed a share of each client's examples or `owners`",
        ),
    ] {
        let refused = refused(lines, tests);
        assert!(refused.to_string().starts_with(told), "{refused}");
        assert_eq!(refused.path(), "evaluate.local_test");
        assert_eq!(refused.line(), Some(9), "{refused}");
    }
}

#[test]
fn texts_have_tests_of_owners() {
    let overrides = [
        OWNERS,
        "dataset={shakespeare: {source: tiny}}",
        "partition={by_role: {clients: 2}}",
        "model=char_lstm",
    ];
    let source = ExperimentSource::new("tiny.yaml", YAML).with_overrides(overrides);
    let device = Case::new(&[]).options().device;
    let planned = plan_without_data(&device, &source, &DataFolder::new("unused"));
    let plan = planned.unwrap().remove(0);
    assert_eq!(
        plan.partition.local_test_examples(),
        plan.dataset.test(),
        "every role has some of both"
    );
}

#[test]
fn clients_without_test_examples_are_warned_of() {
    let warnings = |overrides: &[&str]| case(overrides).plan.warnings;
    let without =
        "1 of the 7 clients has no local test set, and no part in figures on local test sets";
    assert!(warnings(&["partition=by_writer", OWNERS]).contains(&without.to_owned()));
    for asked in [&[OWNERS][..], &["partition=by_writer"]] {
        let found = warnings(asked).join("; ");
        assert!(!found.contains("local test set"), "{found}");
    }
    // A single example is for training.
    let single = "partition={explicit: {sizes: [0.6, 0.0143], ratios: [[1, 1], [1, 0]]}}";
    let found = warnings(&[single, "evaluate.local_test=0.5"]).join("; ");
    assert!(found.contains("1 of the 2 clients"), "{found}");
}
