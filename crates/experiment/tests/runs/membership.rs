//! `evaluate.membership`: how well attackers who have clients' models tell what these trained on.

use meshfold_experiment::results::RecordedRun;
use meshfold_experiment::{Record, RunReport};

use crate::tiny::{Case, records, refusal};

const ATTACK: &str = "evaluate.membership={}";
const SENT: &str = "evaluate.membership={models: sent}";

/// The means of the three figures of a record.
fn means(record: &Record) -> Option<[f64; 3]> {
    let figures = [
        record.membership_accuracy,
        record.membership_auc,
        record.membership_tpr,
    ];
    let [accuracy, auc, tpr] = figures.map(|figure| figure.map(|spread| spread.mean));
    Some([accuracy?, auc?, tpr?])
}

/// The records of a case, without times and without what attackers find out.
fn without(report: &RunReport) -> Vec<Record> {
    let plain = records(report).into_iter().map(|record| Record {
        membership_accuracy: None,
        membership_auc: None,
        membership_tpr: None,
        wall_seconds: 0.0,
        ..record
    });
    plain.collect()
}

fn run(overrides: &[&str]) -> Vec<Record> {
    records(&Case::new(overrides).run())
}

#[test]
fn models_that_learn_their_examples_by_heart_tell_them() {
    let alone = "algorithm={alone: {local: {steps: 200}, batch_size: 10, learning_rate: 0.5}}";
    let records = run(&[
        alone,
        "topology=null",
        "partition={iid: {clients: 6}}",
        "model={mlp: {hidden: [64]}}",
        "rounds=2",
        ATTACK,
    ]);
    let [accuracy, auc, _] = means(&records[0]).unwrap();
    assert!(
        (0.5..0.65).contains(&accuracy),
        "of models at random: {accuracy}"
    );
    assert!((0.4..0.6).contains(&auc), "of models at random: {auc}");
    let [accuracy, auc, tpr] = means(&records[2]).unwrap();
    assert!(accuracy > 0.75 && auc > 0.75, "{accuracy} {auc} {tpr}");
    assert!(tpr > 0.1, "{tpr}");
}

/// What clients send in the first round is what they would have if they trained alone.
#[test]
fn sent_models_are_those_before_they_are_mixed() {
    let steps = "{local: {steps: 3}, batch_size: 7, learning_rate: 0.1}";
    let alone = format!("algorithm={{alone: {steps}}}");
    let alone = run(&[&alone, "topology=null", "rounds=1", ATTACK]);
    for method in ["dfedavg", "dsgd"] {
        let method = format!("algorithm={{{method}: {steps}}}");
        let overrides = [method.as_str(), "topology=complete", "rounds=1"];
        let sent = run(&[&overrides, [SENT].as_slice()].concat());
        let after = run(&[&overrides, [ATTACK].as_slice()].concat());
        assert_eq!(means(&sent[1]), means(&alone[1]), "{method}");
        assert_ne!(means(&sent[1]), means(&after[1]), "{method}");
        assert_eq!(means(&sent[0]), None, "nothing was sent before");
        assert_eq!(means(&after[0]), means(&alone[0]));
    }
}

#[test]
fn all_methods_that_exchange_models_show_them() {
    let keys = "batch_size: 7, learning_rate: 0.1";
    let over_an_overlay = [
        "dsgd: {order: mix_then_step, KEYS}",
        "dsgd: {aggregation: {neighbours: 1, include_self: true}, KEYS}",
        "dfedavg: {aggregation: {neighbours: 1, include_self: true}, KEYS}",
        "decefl: {KEYS}",
        "gradient_tracking: {KEYS}",
        "exact_diffusion: {KEYS}",
        "qg_dsgdm: {momentum: 0.9, KEYS}",
        "push_sum: {KEYS}",
    ];
    let of = |method: &str, topology: &str| {
        let method = format!("algorithm={{{}}}", method.replace("KEYS", keys));
        let records = run(&[&method, topology, "rounds=2", SENT]);
        assert!(
            records[1..].iter().all(|record| means(record).is_some()),
            "{method}"
        );
    };
    for method in over_an_overlay {
        of(method, "topology=ring");
    }
    of("one_peer: {KEYS}", "topology=null");
    of("d2: {KEYS}", "topology=complete");
    of(
        "d_cliques: {KEYS}",
        "topology={d_cliques: {max_clique_size: 3}}",
    );
}

/// The clients of round `round` with figures, and the mean of their accuracies.
fn attacked(case: &Case, round: i64) -> (Vec<usize>, f64) {
    let run = RecordedRun::read(&case.folder()).unwrap();
    let (scores, views) = (run.client_scores().unwrap(), run.client_views().unwrap());
    let rows = scores.iter().zip(&views.rows);
    let rows = rows.filter(|(score, figures)| score.round == round && !figures[0].is_nan());
    let found: Vec<(usize, f64)> = rows
        .map(|(score, figures)| (score.row, figures[0]))
        .collect();
    let mean = found.iter().map(|(_, figure)| figure).sum::<f64>() / found.len() as f64;
    (found.into_iter().map(|(row, _)| row).collect(), mean)
}

#[test]
fn clients_that_send_nothing_are_not_attacked() {
    // Client 2 has lost its links; of six clients, half fall behind.
    let lost = "failures=[{edges: {list: [[1, 2], [2, 3]]}}]";
    let case = Case::new(&["topology=ring", lost, "rounds=1", SENT]);
    let records = records(&case.run());
    let (clients, mean) = attacked(&case, 1);
    assert_eq!(clients, [0, 1, 3, 4, 5]);
    assert!((means(&records[1]).unwrap()[0] - mean).abs() < 1e-12);
    for policy in ["isolate", "receive"] {
        let late = format!("stragglers={{share: 0.5, policy: {policy}}}");
        let case = Case::new(&["topology=complete", &late, "rounds=1", SENT]);
        case.run();
        assert_eq!(attacked(&case, 1).0.len(), 3, "{policy}");
    }
    let alone = Case::new(&[
        "failures=[{edges: {list: [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]]}}]",
        "rounds=1",
        SENT,
    ]);
    let alone = crate::tiny::records(&alone.run());
    assert_eq!(means(&alone[1]), None);
}

/// A longer run judges the models of the last round of a shorter one once more.
#[test]
fn a_longer_run_attacks_what_was_sent_in_the_last_round_of_a_shorter_one() {
    let lost = "failures=[{edges: {list: [[1, 2], [2, 3]]}}]";
    let keep = "checkpoint={keep: true}";
    let at_once = Case::new(&[lost, SENT, "rounds=6"]);
    let shorter = Case::new(&[lost, SENT, "rounds=4", keep]);
    shorter.run();
    let longer = Case::new(&[lost, SENT, "rounds=6", keep]).beside(shorter);
    let report = longer.run();
    assert!(report.resumed_from.is_some());
    let found = |report: &RunReport| -> Vec<_> { records(report).iter().map(means).collect() };
    assert_eq!(found(&report), found(&at_once.run()));
    assert_eq!(attacked(&longer, 4), attacked(&at_once, 4));
}

#[test]
fn attacks_leave_no_trace_in_the_run() {
    for overrides in [
        ["evaluate.every=2", "algorithm.dfedavgm.momentum=0.9"],
        [
            "evaluate.every=3",
            "failures=[{clients: {list: [3]}, from_round: 4}]",
        ],
    ] {
        let plain = Case::new(&overrides);
        for attack in [ATTACK, SENT, "evaluate.membership={examples: 5}"] {
            let attacked = Case::new(&[&overrides, [attack].as_slice()].concat());
            let reports = [plain.run(), attacked.run()];
            assert_eq!(without(&reports[0]), without(&reports[1]), "{attack}");
            let keep = ["checkpoint={every: 1}"].as_slice();
            let broken = Case::new(&[&overrides, [attack].as_slice(), keep].concat());
            broken.run_until(5);
            let found =
                |report: &RunReport| -> Vec<_> { records(report).iter().map(means).collect() };
            assert_eq!(found(&broken.run()), found(&reports[1]), "{attack}");
        }
    }
}

#[test]
fn clients_are_attacked_by_the_models_of_their_servers() {
    let of = |overrides: &[&str]| {
        let case = Case::new(&[&[ATTACK], overrides].concat());
        (records(&case.run()), case)
    };
    let keys = "{batch_size: 7, learning_rate: 0.1}";
    let fedavg = format!("algorithm={{fedavg: {keys}}}");
    let (of_server, case) = of(&[&fedavg, "topology=null"]);
    let (of_clients, _) = of(&[]);
    assert_eq!(
        means(&of_server[0]),
        means(&of_clients[0]),
        "all begin alike"
    );
    let run = RecordedRun::read(&case.folder()).unwrap();
    let views = run.client_views().unwrap();
    let names = [
        "membership_accuracy",
        "membership_auc",
        "membership_tpr",
        "membership_examples",
    ];
    assert_eq!(views.columns, names);
    assert!(views.rows[1..7].iter().all(|row| row[3] == 40.0));
    for (record, rows) in of_server.iter().zip(views.rows.chunks(7)) {
        let (server, clients) = rows.split_first().unwrap();
        assert!(server.iter().all(|figure| figure.is_nan()));
        for (column, mean) in means(record).unwrap().into_iter().enumerate() {
            let of_all = clients.iter().map(|row| row[column]).sum::<f64>() / 6.0;
            assert!((of_all - mean).abs() < 1e-12, "{column}");
        }
    }
}

#[test]
fn non_members_may_be_local_test_sets() {
    let records = run(&[
        "evaluate.local_test=0.25",
        "evaluate.membership={non_members: local_test, examples: 8}",
    ]);
    let [accuracy, ..] = means(records.last().unwrap()).unwrap();
    // Of 16 guesses each.
    let sixteenths = accuracy * 6.0 * 16.0;
    assert!((sixteenths - sixteenths.round()).abs() < 1e-9, "{accuracy}");
}

#[test]
fn what_cannot_be_attacked_is_refused() {
    let quantised = "algorithm.dfedavgm.quantise={bits: 4}";
    for (overrides, told) in [
        (
            vec!["evaluate.membership={models: sent}", quantised],
            "evaluate.membership.models: found sent, needed `after_round`: no client of this method sends its whole model",
        ),
        (
            vec!["evaluate.membership={examples: 0}"],
            "evaluate.membership.examples: found 0, needed at least 1 example",
        ),
        (
            vec!["evaluate.membership={non_members: local_test}"],
            "evaluate.membership.non_members: found local_test, needed `evaluate.local_test`",
        ),
        (
            vec![ATTACK, "model=linear"],
            "evaluate.membership: found a linear model, needed a model whose outputs are logits",
        ),
    ] {
        let refused = refusal(&overrides);
        assert!(refused.contains(told), "{refused}");
    }
}
