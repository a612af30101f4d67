//! What is planned of an experiment that can be run.

mod any_choice;
mod own_weights;
mod warnings;
mod work;

use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, RunConfig, RunPlan, plan};

const YAML: &str = "\
name: tiny
dataset: {glyphs: {train: 600, test: 100}}
partition: {shards: {clients: 10}}
topology: ring
model: {mlp: {hidden: [20]}}
algorithm: {dfedavgm: {local: {epochs: 2}, batch_size: 20, learning_rate: 0.05}}
rounds: 5
";

fn plans(yaml: &str) -> Vec<RunPlan> {
    plan(
        &ExperimentSource::new("tiny.yaml", yaml),
        &DataFolder::new("nowhere"),
    )
    .unwrap_or_else(|error| panic!("{error}"))
}

fn one(yaml: &str) -> RunPlan {
    let mut plans = plans(yaml);
    assert_eq!(plans.len(), 1);
    plans.remove(0)
}

#[test]
fn a_plan_counts_rows_parameters_steps_and_bytes() {
    let plan = one(YAML);
    assert_eq!((plan.clients, plan.rows.count), (10, 10));
    assert_eq!(plan.parameters, 784 * 20 + 20 + 20 * 10 + 10);
    // 60 examples each: 3 batches of 20, twice.
    assert!((plan.local_steps_per_round - 60.0).abs() < 1e-12);
    // 10 edges, both ways, 4 bytes a parameter.
    assert_eq!(plan.bytes_per_round, 10 * 2 * 4 * plan.parameters as u64);
    assert!(plan.memory_bytes > 3 * 10 * 4 * plan.parameters as u64);
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    let summary = &plan.overlay.as_ref().unwrap().summary;
    assert!((summary.kappa.unwrap() - 10.472).abs() < 1e-3);
    assert_eq!(plan.label(), "tiny");
}

#[test]
fn a_plan_of_overlays_that_change_is_the_mean_over_the_rounds() {
    // A ring of ten has 20 messages a round, the complete overlay 90, one among four of them 12.
    let planned = |topology: &str| {
        let plan = one(&YAML.replace("ring", topology));
        let messages = plan.bytes_per_round as f64 / (4 * plan.parameters) as f64;
        (messages, plan.local_steps_per_round)
    };
    assert_eq!(planned("{periodic: [ring, complete]}"), (48.0, 60.0)); // 3 of 5 rounds, 2 of 5
    let phases = "{phases: {list: [{rounds: 4, of: ring}, {of: complete}]}}";
    assert_eq!(planned(phases), (34.0, 60.0));
    let frozen = "{redraw: {of: complete, nodes: {first: 4}, outside: frozen}}";
    assert_eq!(planned(frozen), (12.0, 24.0));
}

#[test]
fn the_summary_has_exactly_the_keys_that_are_promised() {
    let plan = one(YAML);
    let json = serde_json::to_value(plan.summary()).unwrap();
    let keys: Vec<&str> = json
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let promised = [
        "id",
        "label",
        "example_shape",
        "classes",
        "clients",
        "rows",
        "parameters",
        "memory_bytes",
        "local_steps_per_round",
        "bytes_per_round",
        "multiply_adds",
        "lambda",
        "overlay",
    ];
    assert_eq!(keys, promised);
    assert_eq!(json["overlay"]["edges"], 10);
    let alone = one(&YAML
        .replace("dfedavgm", "alone")
        .replace("topology: ring\n", ""));
    assert!(serde_json::to_value(alone.summary()).unwrap()["overlay"].is_null());
    assert_eq!(alone.bytes_per_round, 0);
}

#[test]
fn the_resolved_configuration_plans_the_same_run() {
    let sweep = "sweep: {grid: {topology: [ring, {regular: {degree: 3}}], weights: [uniform, {laplacian: {}}]}}\n";
    for first in plans(&format!("{YAML}{sweep}")) {
        let yaml = first.config.to_yaml();
        assert_eq!(
            RunConfig::read(&ExperimentSource::new("config.yaml", yaml.clone())).unwrap(),
            first.config
        );
        let second = one(&yaml);
        assert_eq!((&second.id, &second.config), (&first.id, &first.config));
        assert_eq!(second.partition, first.partition);
        let edges = |plan: &RunPlan| {
            plan.overlay
                .as_ref()
                .unwrap()
                .overlay
                .edges()
                .collect::<Vec<_>>()
        };
        assert_eq!(edges(&second), edges(&first));
    }
}

#[test]
fn a_sweep_shares_what_its_runs_have_in_common() {
    let sweep = "sweep: {grid: {topology: [ring, {regular: {degree: 4}}], seed: [1, 2]}}\n";
    let plans = plans(&format!("{YAML}{sweep}"));
    let labels: Vec<String> = plans.iter().map(RunPlan::label).collect();
    let expected = [
        "topology=ring, seed=1",
        "topology=ring, seed=2",
        "topology=4-regular, seed=1",
        "topology=4-regular, seed=2",
    ];
    assert_eq!(labels, expected);
    let overlay = |index: usize| plans[index].overlay.as_ref().unwrap();
    assert!(
        std::sync::Arc::ptr_eq(overlay(0), overlay(1)),
        "a ring is the same for every seed"
    );
    assert_ne!(
        overlay(2).overlay.edges().collect::<Vec<_>>(),
        overlay(3).overlay.edges().collect::<Vec<_>>()
    );
    assert!(std::sync::Arc::ptr_eq(
        &plans[0].partition,
        &plans[2].partition
    ));
    assert_ne!(plans[0].partition, plans[1].partition);
    let ids: std::collections::BTreeSet<&str> = plans.iter().map(|plan| plan.id.as_str()).collect();
    assert_eq!(ids.len(), 4);
}

#[test]
fn a_sweep_over_methods_sets_the_overlay_where_it_is_used() {
    let cases = "sweep:\n  cases:\n    - {algorithm: {fedavg: {batch_size: 20, learning_rate: 0.1}}, topology: null}\n    \
                 - {algorithm.dfedavgm.momentum: 0, topology: complete}\n";
    let plans = plans(&format!("{YAML}{cases}"));
    let labels: Vec<String> = plans.iter().map(RunPlan::label).collect();
    assert_eq!(
        labels,
        [
            "algorithm=fedavg, topology=none",
            "momentum=0, topology=complete"
        ]
    );
    assert!(plans[0].overlay.is_none() && plans[0].config.weights.is_none());
    assert_eq!(plans[1].overlay.as_ref().unwrap().summary.edges, 45);
}

#[test]
fn a_run_that_is_asked_for_twice_is_planned_once() {
    let plans = plans(&format!("{YAML}sweep: {{grid: {{seed: [1, 2, 1]}}}}\n"));
    assert_eq!(plans.len(), 2);
    assert_eq!(
        plans[0].warnings,
        ["the sweep asks for this run again as seed=1; it is run once"]
    );
}

#[test]
fn push_sum_is_planned_with_the_weights_that_it_has() {
    let star = YAML
        .replace("ring", "star")
        .replace("dfedavgm: {local: {epochs: 2}, ", "push_sum: {");
    let plan = one(&star);
    // Equal shares on a star of ten: leaves against each other 1/2, the centre against them -0.4; Metropolis weights have 0.9.
    let lambda = plan.overlay.as_ref().unwrap().summary.lambda.unwrap();
    assert!((lambda - 0.5).abs() < 1e-9, "{lambda}");
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    // What is written of the run plans the same run.
    let again = one(&plan.config.to_yaml());
    assert_eq!(again.id, plan.id);
}

#[test]
fn an_overlay_of_one_degree_has_the_bounds_of_its_degree() {
    let figures = |topology: &str| {
        let plan = one(&YAML.replace("topology: ring", &format!("topology: {topology}")));
        serde_json::to_value(plan.overlay.unwrap().figures()).unwrap()
    };
    let regular = figures("{regular: {degree: 5}}");
    // Hua (3.2): (5 + 4) / (5 - 4), and 4/5.
    assert_eq!(regular["ramanujan"]["kappa"], 9.0);
    assert_eq!(regular["ramanujan"]["lambda"], 0.8);
    for none in ["ring", "star"] {
        assert!(figures(none).get("ramanujan").is_none(), "{none}");
    }
}

#[test]
fn a_sweep_of_a_thousand_runs_is_planned_in_seconds() {
    let seeds: Vec<String> = (0..500).map(|seed| seed.to_string()).collect();
    let sweep = format!(
        "sweep: {{grid: {{topology: [ring, complete], seed: [{}]}}}}\n",
        seeds.join(", ")
    );
    let yaml = YAML
        .replace("train: 600", "train: 6000")
        .replace("clients: 10", "clients: 100");
    let start = std::time::Instant::now();
    assert_eq!(plans(&format!("{yaml}{sweep}")).len(), 1000);
    let seconds = start.elapsed().as_secs_f64();
    assert!(
        seconds < 10.0,
        "{seconds} s, where two cores alone took 0.06 s"
    );
}

#[test]
fn methods_with_and_without_an_overlay_stand_in_one_grid() {
    let methods = "[{dsgd: {batch_size: 20, learning_rate: 0.05}}, {alone: {batch_size: 20, learning_rate: 0.05}}]";
    let sweep = format!(
        "weights: uniform\nsweep: {{grid: {{algorithm: {methods}, topology: [ring, complete]}}}}\n"
    );
    let plans = plans(&format!("{YAML}{sweep}"));
    let labels: Vec<String> = plans.iter().map(RunPlan::label).collect();
    assert_eq!(
        labels,
        [
            "algorithm=dsgd, topology=ring",
            "algorithm=dsgd, topology=complete",
            "algorithm=alone"
        ]
    );
    let has_overlay =
        |plan: &RunPlan| plan.config.topology.is_some() && plan.config.weights.is_some();
    assert!(has_overlay(&plans[0]) && has_overlay(&plans[1]));
    let alone = &plans[2];
    assert!(alone.config.topology.is_none() && alone.config.weights.is_none());
    let notice = "`topology` is left out, for alone exchanges over no overlay";
    let given = |plan: &&RunPlan| plan.warnings.iter().any(|warning| warning == notice);
    assert_eq!(plans.iter().filter(given).count(), 1);
    assert!(given(&alone), "{:?}", alone.warnings);
    assert!(
        !alone
            .warnings
            .iter()
            .any(|warning| warning.contains("again"))
    );
}
