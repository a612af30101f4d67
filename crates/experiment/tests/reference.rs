//! The settings that the README of the experiments lists are those that the program reads.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use meshfold_algorithms::{Method, OverlayUse};
use meshfold_data::DataFolder;
use meshfold_experiment::{ExperimentSource, plan};

/// The lines of the YAML in a Markdown `text`.
fn lines(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        match line {
            "```yaml" => inside = true,
            "```" => inside = false,
            line if inside => found.push(line),
            _ => {}
        }
    }
    found
}

/// Whether the method has no use for an overlay.
fn refuses_overlays(method: &str) -> bool {
    let method = serde_yaml::from_str::<Method>(method);
    method.is_ok_and(|method| method.profile().overlay == OverlayUse::Refused)
}

/// An experiment with `line` in place of its own.
fn with(line: &str) -> String {
    let (key, value) = line.split_once(": ").unwrap();
    let mut entries = BTreeMap::from([
        ("dataset", "{glyphs: {train: 12000, test: 2000}}"),
        ("partition", "{iid: {clients: 12}}"),
        ("topology", "ring"),
        ("model", "{mlp: {hidden: [20]}}"),
        ("algorithm", "{dsgd: {batch_size: 20, learning_rate: 0.05}}"),
        ("rounds", "5"),
    ]);
    if value.starts_with("{d_cliques: {batch") {
        entries.insert("topology", "{d_cliques: {max_clique_size: 3}}");
    }
    if key == "algorithm" && refuses_overlays(value) {
        entries.remove("topology");
    }
    if value.starts_with("{d2") {
        // A ring of twelve has the eigenvalue −1/3.
        entries.insert("topology", "complete");
    }
    if value.starts_with("prescribed") {
        entries.insert("topology", "{base_graph: {degree: 1}}");
    }
    if value.starts_with("{consensus") || value.starts_with("hypercube") {
        entries.insert("partition", "{iid: {clients: 8}}");
    }
    if value.starts_with("binary_logistic") {
        entries.insert("dataset", "{mnist: {classes: 2}}");
    }
    entries.insert(key, value);
    let lines = entries
        .iter()
        .map(|(key, value)| format!("{key}: {value}\n"));
    format!("name: reference\n{}", lines.collect::<String>())
}

/// Whether the program has read the line, and only lacks files, or a text to learn.
fn lacks(message: &str) -> bool {
    let lacking = ["not found", "no file", "No such file", "reads text"];
    lacking.iter().any(|words| message.contains(words))
}

#[test]
fn every_setting_that_is_listed_is_read() {
    let text = include_str!("../../../experiments/README.md");
    let lines = lines(text);
    for line in &lines {
        let source = ExperimentSource::new("reference.yaml", with(line));
        if let Err(error) = plan(&source, &DataFolder::new("nowhere")) {
            let message = error.to_string();
            assert!(lacks(&message), "{line}: {message}");
        }
    }
    assert!(lines.len() > 80, "{} lines", lines.len());
}
