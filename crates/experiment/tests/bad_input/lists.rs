//! A list in place of a map is refused wherever a setting has keys: its entries would be read by position.

use std::collections::BTreeSet;

use meshfold_data::DataFolder;
use meshfold_experiment::{ConfigError, ExperimentSource, plan, plan_churn};
use serde_json::Value;

use crate::{YAML, expect, with};

#[test]
fn a_list_is_told_the_keys_that_are_needed() {
    for (key, line, number, message, marked) in [
        (
            "evaluate",
            "evaluate: [2]",
            12,
            "evaluate: found a list, needed a map with keys such as every, examples, last",
            "evaluate",
        ),
        (
            "partition",
            "partition: {iid: [4]}",
            3,
            "partition.iid: found a list, needed a map with the key clients",
            "iid",
        ),
        (
            "topology",
            "topology: {ring: [1]}",
            4,
            "topology.ring: found a list, needed a map with the key hops",
            "ring",
        ),
        (
            "topology",
            "topology: [ring]",
            4,
            "topology: found a list, needed one of path, ring, grid",
            "topology",
        ),
        (
            "dataset",
            "dataset: {csv: {file: a.csv, label: [1]}}",
            2,
            "dataset.csv.label: a column is given by its name in the header, or by its place counted from 0",
            "label",
        ),
        (
            "learning_rate",
            "    learning_rate: {power: [5, 0.4]}",
            10,
            "algorithm.dfedavgm.learning_rate.power: found a list, needed a map with keys such as r, q, per",
            "power",
        ),
    ] {
        let error = plan(&with(key, line), &DataFolder::new("nowhere")).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with(message), "{line}: {said}");
        assert_eq!((error.line(), error.marked()), (Some(number), Some(marked)));
    }
    expect(
        &ExperimentSource::new("tiny.yaml", format!("{YAML}stragglers: [0.5]\n")),
        "stragglers: found a list, needed a map with keys such as share, deadline_seconds, work",
        13,
        "stragglers",
        "",
    );
}

/// YAML as experiments are read, in which `y` is a text.
fn parsed(yaml: &str) -> Value {
    let options = serde_yaml::options! { strict_booleans: true };
    serde_yaml::from_str_with_options(yaml, options).unwrap()
}

/// The settings of the README of the experiments, `key: value` each.
fn reference() -> Vec<(&'static str, Value)> {
    let text = include_str!("../../../../experiments/README.md");
    let mut settings = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```yaml" => inside = true,
            "```" => inside = false,
            _ if inside => {
                let (key, value) = line.split_once(": ").unwrap();
                settings.push((key, parsed(value)));
            }
            _ => {}
        }
    }
    settings
}

/// `value` with one of its maps as the list of the map's values, for each of its maps, and the path to that map.
fn with_a_list(value: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => {
            all.push((String::new(), map.values().cloned().collect()));
            map.iter()
                .map(|(key, value)| (key.clone(), value))
                .collect()
        }
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(index, value)| (index.to_string(), value))
            .collect(),
        _ => Vec::new(),
    };
    for (key, inside) in inner {
        for (path, replaced) in with_a_list(inside) {
            let mut changed = value.clone();
            match &mut changed {
                Value::Object(map) => map[&key] = replaced,
                Value::Array(list) => list[key.parse::<usize>().unwrap()] = replaced,
                _ => unreachable!("only maps and lists have something inside"),
            }
            all.push((format!(".{key}{path}"), changed));
        }
    }
    all
}

/// Whether the error is that of a list where something else is needed.
fn is_of_a_list(error: &ConfigError) -> bool {
    let said = error.to_string();
    said.contains("found a list") || said.contains("found an empty list")
}

#[test]
fn no_setting_of_the_reference_is_read_by_position() {
    let mut refused = BTreeSet::new();
    for (key, value) in reference() {
        for (path, value) in with_a_list(&value) {
            let others = YAML.lines().take_while(|line| *line != "algorithm:");
            let others = others.chain([
                "rounds: 5",
                "algorithm: {dsgd: {batch_size: 2, learning_rate: 1}}",
            ]);
            let mut lines: Vec<String> = others
                .filter(|line| !line.starts_with(&format!("{key}:")))
                .map(str::to_owned)
                .collect();
            lines.push(format!("{key}: {value}"));
            let source = ExperimentSource::new("e.yaml", lines.join("\n"));
            match plan(&source, &DataFolder::new("nowhere")) {
                Ok(_) => panic!("{key}{path} was read from a list: {value}"),
                Err(error) => assert!(is_of_a_list(&error), "{key}{path}: {error}"),
            }
            refused.insert(format!("{key}{path}"));
        }
    }
    assert!(refused.len() > 120, "{} maps", refused.len());
}

#[test]
fn no_setting_of_a_simulation_is_read_by_position() {
    let text = "nodes: 20\nlatency: {uniform: [20, 120]}\nstart: grown\nuntil_seconds: 20\n\
                events: [{at_seconds: 1, join: {count: 2}}, {at_seconds: 5, fail: {share: 0.1}}, \
                {at_seconds: 6, leave: {count: 1}}]\nsweep: {grid: {seed: [1, 2]}, cases: [{spaces: 2}]}\n";
    let whole = parsed(text);
    plan_churn(&ExperimentSource::new("churn.yaml", text)).unwrap();
    let changed = with_a_list(&whole);
    assert_eq!(changed.len(), 11);
    for (path, value) in changed {
        let error =
            plan_churn(&ExperimentSource::new("churn.yaml", value.to_string())).unwrap_err();
        assert!(is_of_a_list(&error), "{path}: {error}");
    }
}
