//! A dataset, a partition, an overlay, weights and a learning rate of a program's own.

use crate::own_parts::own;
use crate::runs::{carried_out, records};
use meshfold::data::DataFolder;
use meshfold_experiment::{ConfigError, ExperimentSource, RunPlan, plan};
use tempfile::TempDir;

const YAML: &str = "\
name: parts
dataset: {own: {name: clouds, examples: 800}}
partition: {own: {name: pairs, clients: 8}}
topology: {own: {name: dating}}
weights: {own: {name: lazy, share: 0.25}}
model: logistic
algorithm: {dsgd: {local: {steps: 10}, batch_size: 10, learning_rate: {own: {name: cosine, initial: 0.2, rounds: 6}}}}
rounds: 6
evaluate: {every: 2}
checkpoint: {every: 2}
";

fn planned(yaml: &str) -> Result<Vec<RunPlan>, ConfigError> {
    let source = ExperimentSource::new("parts.yaml", yaml).with_own(own());
    plan(&source, &DataFolder::new("unused"))
}

#[test]
fn all_of_them_make_a_run_that_resumes_with_the_same_bits() {
    let plan = planned(YAML).unwrap().remove(0);
    assert_eq!(plan.partition.sizes().iter().sum::<usize>(), 800);
    let overlay = plan.overlay.as_ref().unwrap();
    assert_eq!(overlay.overlay.edge_count(), 2);
    assert!((overlay.matrix.min_self_weight() - 0.625).abs() < 1e-12);
    let (whole, parts) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let whole = records(&carried_out(&plan, whole.path(), usize::MAX));
    let begun = carried_out(&plan, parts.path(), 2);
    assert!(records(&begun).len() < whole.len());
    let resumed = records(&carried_out(&plan, parts.path(), usize::MAX));
    assert_eq!(resumed, whole);
    let last = whole.last().unwrap();
    assert_eq!(last["messages_total"].as_u64(), Some(6 * 4));
    assert!(last["test_accuracy"]["mean"].as_f64().unwrap() > 0.3);
}

#[test]
fn the_learning_rate_is_that_of_the_part() {
    let rate = "{own: {name: cosine, initial: 0.2, rounds: 6}}";
    let schedule = |from: &str| {
        let plan = planned(&YAML.replace(rate, from)).unwrap().remove(0);
        let results = TempDir::new().unwrap();
        records(&carried_out(&plan, results.path(), usize::MAX))
    };
    // After the first round the cosine of one round is 0.
    let once = schedule("{own: {name: cosine, initial: 0.2, rounds: 1}}");
    let step = schedule("{step: {initial: 0.2, factor: 1.0e-30, every: 1}}");
    assert_eq!(once, step);
    assert_ne!(once, schedule(rate));
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    for (old, new, message, marked) in [
        (
            "pairs, clients: 8",
            "pairs, clients: 10",
            "partition: client 9 has no example",
            "own",
        ),
        (
            "name: dating",
            "name: dating, pairs: 0.7",
            "own.pairs: found 0.7, needed a share from 0 to 0.5",
            "0.7",
        ),
        (
            "share: 0.25",
            "share: 0.25, shape: 3",
            "weights.own: unknown key `shape`",
            "shape",
        ),
        (
            "examples: 800",
            "examples: 8",
            "clouds need at least 10 examples and 2 features",
            "dataset",
        ),
        (
            "rounds: 6}}",
            "rounds: 0}}",
            "cosine needs initial > 0 and rounds >= 1",
            "learning_rate",
        ),
        (
            "name: cosine, initial: 0.2",
            "name: cosine, initial: fast",
            "algorithm.dsgd.learning_rate.own.initial: found the text \"fast\", needed a number",
            "fast",
        ),
        (
            "name: lazy",
            "name: lasy",
            "weights.own.name: this program has no weights of its own named `lasy`",
            "lasy",
        ),
    ] {
        let error = planned(&YAML.replace(old, new)).map(|_| new).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(error.marked(), Some(marked), "{error}");
    }
}

#[test]
fn an_overlay_that_changes_is_no_part_of_a_schedule() {
    let yaml = YAML.replace(
        "topology: {own: {name: dating}}",
        "topology: {phases: [{rounds: 2, of: ring}, {of: {own: {name: dating}}}]}",
    );
    let error = planned(&yaml).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("phases.1.of"), "{error}");
    assert_eq!(error.line(), Some(4));
}
