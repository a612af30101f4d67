//! Quantities and bounds of theory that a run cannot give.

use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, plan};

use crate::methods::{SGD, expect, experiment, refusal};
use crate::{Seen, refused};

#[test]
fn skews_of_cliques_need_cliques_in_some_run() {
    let asked = "evaluate: {theory: [clique_skew]}";
    let method = format!("{{dsgd: {{{SGD}}}}}");
    let seen = refusal(&method, "ring", asked);
    assert!(seen.message.contains("a topology with cliques"), "{seen:?}");
    let none = "evaluate: {theory: [clique_skew]}\nsweep: {grid: {topology: [ring, complete]}}";
    let seen = refusal(&method, "ring", none);
    assert!(seen.message.contains("a topology with cliques"), "{seen:?}");
    let some = "evaluate: {theory: [clique_skew]}\n\
                sweep: {grid: {topology: [ring, {d_cliques: {max_clique_size: 5}}]}}";
    let plans = plan(
        &experiment(&method, "ring", some),
        &DataFolder::new("nowhere"),
    );
    assert_eq!(plans.unwrap().len(), 2);
}

#[test]
fn a_non_iid_degree_needs_convex_losses_that_have_a_minimum() {
    let asked = "evaluate: {theory: [non_iid_degree]}";
    let seen = refusal(
        &format!("{{dsgd: {{{SGD}, weight_decay: 0.1}}}}"),
        "ring",
        asked,
    );
    expect(
        &seen,
        "theory",
        &["nobody can tell", "`linear`", "`logistic`"],
    );
    let logistic = |decay: &str| {
        let source = experiment(&format!("{{dsgd: {{{SGD}{decay}}}}}"), "ring", asked);
        let text = source.text().replace("{mlp: {hidden: [20]}}", "logistic");
        ExperimentSource::new("tiny.yaml", text)
    };
    for none in ["", ", weight_decay: 0"] {
        let words = ["at infinity", "a positive `weight_decay`"];
        expect(&refused(&logistic(none)), "theory", &words);
    }
    let decays = logistic(", weight_decay: 0.1");
    plan(&decays, &DataFolder::new("nowhere")).unwrap();
}

/// What is wrong with a run of a logistic model that asks for the bound of a theorem.
fn unbounded(method: &str, more: &str) -> Seen {
    let more = format!("evaluate: {{theory: [bound]}}\n{more}");
    let source = experiment(method, "ring", &more);
    let text = source.text().replace("{mlp: {hidden: [20]}}", "logistic");
    refused(&ExperimentSource::new("tiny.yaml", text))
}

#[test]
fn a_bound_needs_a_run_that_a_theorem_speaks_of() {
    let rate = |per: &str| format!("learning_rate: {{harmonic: {{delta: 20, gamma: 900{per}}}}}");
    let decefl = |more: &str| format!("{{decefl: {{weight_decay: 0.1, {more}}}}}");
    let full = format!("batch_size: full, {}", rate(""));
    let fits = decefl(&format!("local: {{steps: 1}}, {full}"));
    let servers = "servers: {count: 2}, batch_size: 20, weight_decay: 0.1";
    let p_fedavg = |more: &str| format!("{{p_fedavg: {{{servers}, {more}}}}}");
    let per_step = rate(", per: step");
    let walks = |more: &str| {
        format!("{{dfedrw: {{walkers: 2, hops: 3, batch_size: 20, weight_decay: 0.1, {more}}}}}")
    };
    let power = "learning_rate: {power: {r: 10, q: 0.6, per: epoch}}";
    let one_step = format!(
        "rows: walkers, aggregators: walk_ends, from: walk_ends, local: {{steps: 1}}, {power}"
    );
    let none = "";
    for (method, more, marked, words) in [
        (
            format!("{{dsgd: {{{SGD}, weight_decay: 0.1}}}}"),
            none,
            "algorithm",
            "`decefl`, `dfedrw` and `p_fedavg`",
        ),
        (
            fits.clone(),
            "failures: [{clients: {count: 1}}]",
            "failures",
            "all work",
        ),
        (
            fits.clone(),
            "augment: {horizontal_flip: true}",
            "augment",
            "as they are",
        ),
        (
            decefl(&format!("local: {{epochs: 2}}, {full}")),
            none,
            "local",
            "one step",
        ),
        (
            decefl(&format!(
                "local: {{steps: 1}}, batch_size: 20, {}",
                rate("")
            )),
            none,
            "20",
            "`full`",
        ),
        (
            decefl("local: {steps: 1}, batch_size: full, learning_rate: 0.1"),
            none,
            "0.1",
            "harmonic",
        ),
        (
            p_fedavg(&format!("local: {{epochs: 1}}, {per_step}")),
            none,
            "local",
            "as many for every client",
        ),
        (
            p_fedavg(&format!("local: {{steps: 2}}, {}", rate(""))),
            none,
            "learning_rate",
            "per: step",
        ),
        (
            p_fedavg(&format!(
                "local: {{steps: 2}}, weighting: examples, {per_step}"
            )),
            none,
            "examples",
            "`uniform`",
        ),
        (
            p_fedavg(&format!("local: {{steps: 2}}, momentum: 0.5, {per_step}")),
            none,
            "0.5",
            "without momentum",
        ),
        (
            walks("learning_rate: 0.1"),
            none,
            "0.1",
            "a power, counted by visits",
        ),
        (
            walks("learning_rate: {power: {r: 0.05, q: 0.6, per: epoch}}"),
            none,
            "learning_rate",
            "at least the weight decay",
        ),
        (walks(power), none, "dfedrw", "one step a visit"),
        (
            walks(&format!("local: {{steps: 1}}, {power}")),
            none,
            "dfedrw",
            "the models that walk",
        ),
        (
            walks(&format!("projection: {{radius: 10}}, {one_step}")),
            none,
            "projection",
            "least loss of all models",
        ),
        (
            walks(&format!("quantise: {{bits: 8}}, {one_step}")),
            none,
            "quantise",
            "Theorem 2",
        ),
    ] {
        let seen = unbounded(&method, more);
        expect(&seen, marked, &[words, "leave `bound` out"]);
    }
    let seen = unbounded("{decefl: {batch_size: full, learning_rate: 0.1}}", none);
    expect(&seen, "theory", &["without weight decay"]);
    let asked = "evaluate: {theory: [bound]}";
    expect(
        &refusal(&fits, "ring", asked),
        "theory",
        &["strongly convex", "`logistic`"],
    );
}
