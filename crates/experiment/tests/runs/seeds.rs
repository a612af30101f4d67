//! The seed of one part of a run changes what that part draws, and nothing else.

use std::collections::BTreeSet;

use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, RunPlan, plan};

use crate::tiny::{Case, YAML, records, timeless};

/// Settings under which every part draws something.
const DRAWING: [&str; 7] = [
    "topology={regular: {degree: 3}}",
    "start=independent",
    "evaluate.examples=30",
    "failures=[{clients: {share: 0.2}, redraw: each_round}]",
    "algorithm.dfedavgm.quantise={bits: 4}",
    "rounds=2",
    "seed=5",
];

/// What is seen of a run, by name. Quantities of the first round, before which nobody has met.
fn seen(more: Option<&str>) -> [(&'static str, String); 6] {
    let overrides: Vec<&str> = DRAWING.into_iter().chain(more).collect();
    let case = Case::new(&overrides);
    let records = records(&case.run());
    let overlay = &case.plan.overlay.as_ref().unwrap().overlay;
    let [before, after, ..] = &records[..] else {
        panic!("{} records", records.len())
    };
    [
        ("owners", format!("{:?}", case.plan.partition)),
        (
            "edges",
            format!("{:?}", overlay.edges().collect::<Vec<_>>()),
        ),
        ("first models", format!("{}", before.consensus_distance)),
        ("judged on", format!("{}", before.test_loss.mean)),
        ("local steps", format!("{:?}", after.train_loss)),
        ("exchange", format!("{}", after.consensus_distance)),
    ]
}

#[test]
fn each_part_draws_by_its_own_seed() {
    let usual = seen(None);
    let every =
        "seeds={data: 5, partition: 5, topology: 5, start: 5, batches: 5, failures: 5, methods: 5}";
    assert_eq!(seen(Some(every)), usual, "the seed of the run, said again");
    for (part, moved) in [
        ("data", &["judged on"][..]),
        ("partition", &["owners", "local steps", "exchange"]),
        ("topology", &["edges", "exchange"]),
        (
            "start",
            &["first models", "judged on", "local steps", "exchange"],
        ),
        ("batches", &["local steps", "exchange"]),
        (
            "failures",
            &["first models", "judged on", "local steps", "exchange"],
        ),
        ("methods", &["exchange"]),
    ] {
        let found = seen(Some(&format!("seeds.{part}=8")));
        let differ = usual.iter().zip(&found).filter(|(old, new)| old != new);
        let differ: BTreeSet<&str> = differ.map(|((name, _), _)| *name).collect();
        assert_eq!(differ, moved.iter().copied().collect(), "seeds.{part}");
    }
}

#[test]
fn a_resumed_run_draws_by_the_seeds_of_its_parts() {
    let with_checkpoints = || {
        let more = ["checkpoint.every=1", "seeds={batches: 8, methods: 9}"];
        let overrides: Vec<&str> = DRAWING.into_iter().chain(more).collect();
        Case::new(&overrides)
    };
    let uninterrupted = with_checkpoints();
    let whole = uninterrupted.run();
    let case = with_checkpoints();
    case.run_until(1);
    let resumed = case.run();
    assert_eq!(resumed.resumed_from, Some(1));
    assert_eq!(timeless(&resumed), timeless(&whole));
}

#[test]
fn the_seed_of_a_part_is_swept_while_the_others_stay() {
    let sweep = "topology: {regular: {degree: 3}}\nsweep: {grid: {seeds.partition: [1, 2]}}\n";
    let yaml = format!("{}{sweep}", YAML.replace("topology: ring\n", ""));
    let source = ExperimentSource::new("tiny.yaml", yaml);
    let plans = plan(&source, &DataFolder::new("unused")).unwrap();
    let labels: Vec<String> = plans.iter().map(RunPlan::label).collect();
    assert_eq!(labels, ["seeds.partition=1", "seeds.partition=2"]);
    let [first, second] = &plans[..] else {
        panic!("{} runs", plans.len())
    };
    assert_ne!(first.partition, second.partition);
    let edges = |plan: &RunPlan| {
        plan.overlay
            .as_ref()
            .unwrap()
            .overlay
            .edges()
            .collect::<Vec<_>>()
    };
    assert_eq!(edges(first), edges(second));
    assert_ne!(first.id, second.id);
    assert!(first.config.to_yaml().contains("seeds:\n  partition: 1\n"));
}
