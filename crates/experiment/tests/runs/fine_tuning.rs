//! `evaluate.fine_tune`: local steps before clients' models are judged on their local test sets.

use std::sync::atomic::AtomicBool;

use meshfold_experiment::results::{ClientScore, RecordedRun};
use meshfold_experiment::{Ending, Record, RunReport, run};

use crate::tiny::{Case, records, refusal};

const SHARE: &str = "evaluate.local_test=0.25";
const TUNED: &str = "evaluate.fine_tune={local: {steps: 4}, batch_size: full, learning_rate: 0.2}";

/// Accuracy and loss on local test sets, as trained and after fine-tuning.
fn scores(record: &Record) -> [Option<[f64; 2]>; 2] {
    let pairs = [
        (record.local_test_accuracy, record.local_test_loss),
        (record.fine_tuned_accuracy, record.fine_tuned_loss),
    ];
    pairs.map(|(accuracy, loss)| Some([accuracy?.mean, loss?.mean]))
}

/// The records without what fine-tuning adds to them, and without times.
fn without(report: &RunReport) -> Vec<Record> {
    let plain = records(report).into_iter().map(|record| Record {
        fine_tuned_accuracy: None,
        fine_tuned_loss: None,
        wall_seconds: 0.0,
        ..record
    });
    plain.collect()
}

#[test]
fn tuned_models_are_those_of_clients_that_train_alone_for_as_long() {
    let of = |overrides: &[&str]| {
        let case = Case::new(&[&[SHARE], overrides].concat());
        records(&case.run())
    };
    let tuned = of(&[TUNED]);
    let alone = "algorithm={alone: {local: {steps: 4}, batch_size: full, learning_rate: 0.2}}";
    let alone = of(&[alone, "topology=null"]);
    let [_, after] = scores(&tuned[0]);
    let [trained, none] = scores(&alone[1]);
    assert_eq!(after, trained, "the models at the start are the same");
    assert!(after.is_some() && none.is_none());
    assert_ne!(scores(&tuned[7])[0], scores(&tuned[7])[1]);
}

#[test]
fn fine_tuning_leaves_no_trace_in_the_run() {
    // Shuffled batches go on over rounds, momentum and corrections are kept, and servers have other clients each round.
    let algorithms = [
        ["algorithm.dfedavgm.momentum=0.9", "seed=1"],
        [
            "algorithm={scaffold: {local: {steps: 3}, batch_size: 7, learning_rate: 0.1, participation: {share: 0.5}}}",
            "topology=null",
        ],
        [
            "algorithm={gradient_tracking: {batch_size: 7, learning_rate: 0.1}}",
            "seed=2",
        ],
        [
            "algorithm={p_fedavg: {batch_size: 7, learning_rate: 0.1, servers: {count: 2}}}",
            "topology=complete",
        ],
    ];
    let tuning = "evaluate.fine_tune={batch_size: 7, learning_rate: 0.2}";
    for [first, second] in algorithms {
        let every = "evaluate.every=2";
        let plain = Case::new(&[SHARE, every, first, second]);
        let tuned = Case::new(&[SHARE, every, first, second, tuning]);
        let reports = [plain.run(), tuned.run()];
        assert_eq!(without(&reports[0]), without(&reports[1]), "{first}");
        let broken = Case::new(&[SHARE, every, first, second, tuning, "checkpoint={every: 1}"]);
        broken.run_until(5);
        let resumed = broken.run();
        let timeless = |report: &RunReport| -> Vec<Record> {
            let timeless = |record| Record {
                wall_seconds: 0.0,
                ..record
            };
            records(report).into_iter().map(timeless).collect()
        };
        assert_eq!(timeless(&resumed), timeless(&reports[1]), "{first}");
    }
}

#[test]
fn clients_tune_the_models_of_their_servers() {
    let tuning = "evaluate.fine_tune={batch_size: 7, learning_rate: 0.2}";
    let of = |overrides: &[&str]| {
        let case = Case::new(&[&[SHARE, tuning], overrides].concat());
        let records = records(&case.run());
        (records, case)
    };
    let (of_clients, case) = of(&[]);
    let run = RecordedRun::read(&case.folder()).unwrap();
    let names = [
        "local_test_accuracy",
        "local_test_loss",
        "local_test_examples",
        "fine_tuned_accuracy",
        "fine_tuned_loss",
    ];
    let views = run.client_views().unwrap();
    assert_eq!(views.columns, names);
    for (record, rows) in of_clients.iter().zip(views.rows.chunks(6)) {
        let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / 6.0;
        let [accuracy, loss] = scores(record)[1].unwrap();
        assert!((accuracy - mean(3)).abs() < 1e-12 && (loss - mean(4)).abs() < 1e-12);
    }
    // At the start all have the same model.
    let fedavg = "algorithm={fedavg: {batch_size: 7, learning_rate: 0.1}}";
    let first = |overrides: &[&str]| scores(&of(overrides).0[0]);
    let clients = scores(&of_clients[0]);
    assert_eq!(first(&[fedavg, "topology=null"]), clients);
    let p_fedavg = "algorithm={p_fedavg: {batch_size: 7, learning_rate: 0.1, servers: {count: 2}}}";
    assert_eq!(first(&[p_fedavg, "topology=complete"]), clients);
}

/// The figures of single clients are those of the records, their servers are told apart, and a resumed run has the same table.
#[test]
fn the_table_of_clients_has_those_of_servers() {
    let p_fedavg = "algorithm={p_fedavg: {batch_size: 7, learning_rate: 0.1, servers: {count: 2}}}";
    let tuning = "evaluate.fine_tune={batch_size: 7, learning_rate: 0.2}";
    let gone = "failures=[{clients: {list: [3]}, from_round: 7}]";
    let views = "evaluate.clients=[labels]";
    let overrides = [SHARE, tuning, p_fedavg, "topology=complete", gone, views];
    let case = Case::new(&overrides);
    let records = records(&case.run());
    let run = RecordedRun::read(&case.folder()).unwrap();
    let (all, views) = (run.client_scores().unwrap(), run.client_views().unwrap());
    let at_end: Vec<_> = all
        .iter()
        .zip(&views.rows)
        .filter(|(score, _)| score.round == 7)
        .collect();
    let who: Vec<_> = at_end
        .iter()
        .map(|(score, _)| (score.client(), score.row))
        .collect();
    let client = |number| (Some(number), number);
    let clients = [0, 1, 2, 4, 5].map(client);
    assert_eq!(who, [&[(None, 0), (None, 1)], clients.as_slice()].concat());
    let (servers, clients) = at_end.split_at(2);
    let of = |rows: &[(&ClientScore, &Vec<f64>)], column: usize| -> Vec<f64> {
        rows.iter().map(|(_, row)| row[column]).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let last = records.last().unwrap();
    for (column, expected) in [
        (0, last.local_test_accuracy.as_ref().unwrap().mean),
        (1, last.local_test_loss.as_ref().unwrap().mean),
        (3, last.fine_tuned_accuracy.as_ref().unwrap().mean),
        (4, last.fine_tuned_loss.as_ref().unwrap().mean),
    ] {
        assert!(
            (mean(&of(clients, column)) - expected).abs() < 1e-12,
            "{column}"
        );
        assert!(of(servers, column).iter().all(|figure| figure.is_nan()));
    }
    assert!(of(clients, 2).iter().all(|examples| *examples == 10.0));
    // By label servers are judged alone; a client has the score of its server on all test examples.
    assert!(of(servers, 5).iter().all(|figure| !figure.is_nan()));
    assert!(of(clients, 5).iter().all(|figure| figure.is_nan()));
    let of_servers: Vec<f64> = servers.iter().map(|(score, _)| score.accuracy).collect();
    assert!(
        clients
            .iter()
            .all(|(score, _)| of_servers.contains(&score.accuracy))
    );
    assert!((mean(&of_servers) - last.test_accuracy.mean).abs() < 1e-12);
    let models = run.model_scores().unwrap();
    assert_eq!(models.len(), 2 * records.len());
    assert_eq!(run.client_column("accuracy").unwrap().len(), models.len());
    assert_eq!(run.final_accuracies.len(), 2);
    let resumed = Case::new(&[&overrides, ["checkpoint={every: 1}"].as_slice()].concat());
    resumed.run_until(5);
    resumed.run();
    let again = RecordedRun::read(&resumed.folder()).unwrap();
    assert_eq!(again.client_scores().unwrap(), all);
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let refused = refusal(&[TUNED]);
    let needed = "evaluate.fine_tune: found no local test sets, needed `evaluate.local_test`";
    assert!(refused.contains(needed), "{refused}");
    for (keys, told) in [
        (
            "batch_size: 7, learning_rate: -1",
            "learning_rate is -1, but must be finite and not negative",
        ),
        (
            "batch_size: 0, learning_rate: 1",
            "batch_size is 0, but a batch has at least one example",
        ),
        (
            "local: {steps: 0}, batch_size: 7, learning_rate: 1",
            "local is {steps: 0}, but a client must do at least one step",
        ),
    ] {
        let refused = refusal(&[SHARE, &format!("evaluate.fine_tune={{{keys}}}")]);
        assert!(refused.contains(told), "{refused}");
    }
}

#[test]
fn models_that_tuning_breaks_are_named() {
    let tuning = "evaluate.fine_tune={batch_size: 7, learning_rate: 1.0e+30}";
    let case = Case::new(&[SHARE, tuning]);
    let stop = AtomicBool::new(false);
    let report = run(&case.plan, &case.data, &case.options(), &stop, &mut ()).unwrap();
    let Ending::Failed { error } = report.ending else {
        panic!("{:?}", report.ending);
    };
    let failed = error.to_string();
    let named = "evaluate.fine_tune.learning_rate: so high that the model of client 0 becomes infinite or NaN, but it must be lower";
    assert!(failed.contains(named), "{failed}");
}
