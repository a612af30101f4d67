//! Whether the experiments of this folder have all choices that the reference of settings lists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use meshfold_test_needs::{Test, test};

use crate::experiments::{HOME, yaml_files};

/// The settings whose choices are all run.
const KEYS: [&str; 9] = [
    "dataset",
    "partition",
    "topology",
    "weights",
    "model",
    "algorithm",
    "learning_rate",
    "links",
    "policy",
];

/// Choices whose files are nowhere the same for everybody, or take long to unpack.
const NOT_RUN: [&str; 3] = [
    "dataset: cifar10",
    "dataset: cifar100",
    "dataset: leukemia_a2",
];

/// The choices in `experiments/README.md` that no YAML file has, such as `topology: ring`.
pub(crate) fn choices_without_a_run() -> Vec<String> {
    let readme = Path::new(HOME).join("../../../../experiments/README.md");
    let listed = choices(&fs::read_to_string(readme).unwrap());
    assert!(listed.len() > 80, "{} choices listed", listed.len());
    let folders = [Path::new(HOME).to_owned(), Path::new(HOME).join("real")];
    let files = folders.iter().flat_map(|folder| yaml_files(folder));
    let texts = files.map(|file| fs::read_to_string(file).unwrap());
    let mut run: BTreeSet<String> = texts.flat_map(|text| choices(&text)).collect();
    run.extend(NOT_RUN.map(str::to_owned));
    listed.difference(&run).cloned().collect()
}

/// The choices that `text` names for [`KEYS`], written `key: choice` or `key: {choice: ..}`.
fn choices(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for key in KEYS {
        for (place, matched) in text.match_indices(&format!("{key}: ")) {
            let value = text[place + matched.len()..].trim_start_matches('{');
            let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let choice = value.split(|letter| !is_part(letter)).next().unwrap();
            if choice.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
                found.insert(format!("{key}: {choice}"));
            }
        }
    }
    found
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    vec![test!(choices_are_read_in_either_form)]
}

fn choices_are_read_in_either_form() {
    let found = choices(
        "topology: ring\nsweep: {cases: [{topology: {grid: {rows: 2}}, a.learning_rate: 0.1}]}",
    );
    let found: Vec<String> = found.into_iter().collect();
    assert_eq!(found, ["topology: grid", "topology: ring"]);
}
