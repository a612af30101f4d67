//! Overlays that bring mixing weights of their own.

use crate::tiny::{Case, records};
use meshfold_experiment::{Ending, Record};

/// No row moves by training, so that mixing alone brings the models together.
const MIXING_ALONE: &str = "algorithm={dsgd: {batch_size: 7, learning_rate: 1.0e-30}}";

fn finished(overrides: &[&str]) -> Vec<Record> {
    let case = Case::new(overrides);
    let report = case.run();
    assert!(matches!(report.ending, Ending::Finished), "{overrides:?}");
    records(&report)
}

/// The consensus distance before and after each of seven rounds from independent models of so many clients.
fn distances(clients: usize, topology: &str, more: &[&str]) -> Vec<f64> {
    let partition = format!("partition={{iid: {{clients: {clients}}}}}");
    let topology = format!("topology={topology}");
    let usual = [MIXING_ALONE, "start=independent", &partition, &topology];
    let records = finished(&[usual.as_slice(), more].concat());
    let distances = records.iter().map(|record| record.consensus_distance);
    distances.collect()
}

#[test]
fn one_cycle_of_a_base_graph_brings_any_models_to_their_mean() {
    for (clients, degree, cycle) in [(5, 1, 5), (6, 1, 4), (7, 1, 5), (10, 2, 4), (10, 4, 2)] {
        let topology = format!("{{base_graph: {{degree: {degree}}}}}");
        let found = distances(clients, &topology, &[]);
        let (before, after) = (found[cycle - 1], found[cycle]);
        assert!(before > 1e-2 * found[0], "{clients} {degree}: {found:?}");
        assert!(after < 1e-6 * found[0], "{clients} {degree}: {found:?}");
    }
}

#[test]
fn weights_that_are_named_replace_those_of_the_overlay() {
    let prescribed = distances(7, "base_graph", &["weights=prescribed"]);
    assert_eq!(prescribed, distances(7, "base_graph", &[]));
    let replaced = distances(7, "base_graph", &["weights=metropolis_hastings"]);
    assert!(replaced[5] > 1e-2 * replaced[0], "{replaced:?}");
}

#[test]
fn lost_links_leave_their_weight_with_the_node_itself() {
    let failures = "failures=[{edges: {share: 0.5}, redraw: each_round}]";
    for topology in ["base_graph", "{equi_dyn: {}}", "{matcha: {of: complete}}"] {
        let found = distances(7, topology, &[failures]);
        // Symmetric weights with rows that sum to one never bring models further apart.
        let shrinks = found
            .windows(2)
            .all(|pair| pair[1] <= pair[0] * (1.0 + 1e-6));
        assert!(shrinks && found[7] < found[0], "{topology}: {found:?}");
    }
}

#[test]
fn methods_of_all_kinds_mix_by_them() {
    let stragglers = |policy: &str| format!("stragglers={{share: 0.5, policy: {policy}}}");
    let (receive, isolate) = (stragglers("receive"), stragglers("isolate"));
    for topology in [
        "base_graph",
        "{equi_static: {links: 2}}",
        "equi_dyn",
        "{matcha: {of: ring}}",
    ] {
        let topology = format!("topology={topology}");
        for method in ["gradient_tracking", "qg_dsgdm", "decefl", "push_sum"] {
            let method = format!("algorithm={{{method}: {{batch_size: 7, learning_rate: 0.05}}}}");
            finished(&[&method, &topology, "rounds=3"]);
        }
        finished(&[&topology, &receive, "rounds=3"]);
        finished(&[&topology, &isolate, "rounds=3"]);
    }
    for topology in [
        "topology={equi_dyn: {directed: true}}",
        "topology={equi_static: {links: 2, directed: true}}",
    ] {
        let push_sum = "algorithm={push_sum: {batch_size: 7, learning_rate: 0.05}}";
        finished(&[push_sum, topology, "rounds=3"]);
        let dsgd = "algorithm={dsgd: {batch_size: 7, learning_rate: 0.05}}";
        finished(&[dsgd, topology, "rounds=3"]);
    }
}

#[test]
fn seeds_have_shifts_of_their_own() {
    let static_of = |seed: &str| {
        let topology = "topology={equi_static: {links: 2}}";
        Case::new(&[topology, "partition={iid: {clients: 17}}", seed]).plan
    };
    let plans = ["seed=1", "seed=2", "seed=1"].map(static_of);
    let matrices = plans.map(|plan| plan.overlay.unwrap().matrix.clone());
    assert_eq!(matrices[0], matrices[2]);
    assert_ne!(matrices[0], matrices[1]);
}
