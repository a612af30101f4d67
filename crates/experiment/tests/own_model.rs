//! The example of a user's own model is run, not only compiled.
#![allow(clippy::unwrap_used)]

#[allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "it is a program of its own"
)]
#[path = "../examples/own_model.rs"]
mod own_model;

#[test]
fn clients_on_a_ring_learn_with_models_of_ones_own() {
    let results = tempfile::tempdir().unwrap();
    let accuracies = own_model::learn(results.path()).unwrap();
    let labels: Vec<&str> = accuracies.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(labels, ["own=glu", "own=convolution"]);
    for (label, accuracy) in &accuracies {
        // Guessing gives 0.1; after 60 steps both are above twice of what is asked for.
        assert!(*accuracy > 0.3, "{label}: {accuracy}");
    }
    let run = std::fs::read_dir(results.path().join("own-model")).unwrap();
    assert_eq!(run.count(), 2, "a folder for every run");
}
