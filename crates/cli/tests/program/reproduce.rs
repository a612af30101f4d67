//! `meshfold reproduce`: rows of a file beside runs.

use std::fs;

use serde_json::Value;

use crate::sandbox::Sandbox;

const EXPERIMENT: &str = "\
name: small
dataset: {glyphs: {train: 300, test: 100}}
partition: {shards: {clients: 6}}
model: logistic
algorithm: {dsgd: {batch_size: 10, learning_rate: 0.1}}
topology: ring
rounds: 6
evaluate: {every: 2}
sweep: {grid: {topology: [ring, complete], seed: [1, 2]}}
";

const ROWS: &str = "\
papers: {toy: A toy of ours}
rows:
  - id: T-lambda
    paper: toy
    place: Section 1
    says: the complete overlay has λ = 0
    experiment: toy/small.yaml
    only: {topology: complete}
    read: {plan: overlay.lambda}
    claims: [{number: {is: 0, within: 1.0e-9}}]
    telling: 1
  - id: T-level
    paper: toy
    place: Fig. 1
    says: accuracy on the ring
    experiment: toy/small.yaml
    only: {topology: ring}
    read: {last: test_accuracy}
    claims: [{number: {is: 2, within: 0.001}}]
    also: [{reading: the mean of the models, read: {last: mean_model_accuracy}}]
  - id: T-order
    paper: toy
    place: Fig. 1
    says: local steps are the same
    experiment: toy/small.yaml
    read: {last: local_steps}
    values: {ring: {only: {topology: ring}}, complete: {only: {topology: complete}}}
    claims: [{order: {of: [ring, complete]}}]
  - id: T-data
    paper: toy
    place: Fig. 2
    says: accuracy on data that are not there
    experiment: toy/small.yaml
    set: ['dataset=leukemia_a2', 'partition={iid: {clients: 6}}']
    read: {last: test_accuracy}
    claims: [{number: {is: 0.9, within: 0.01}}]
  - {id: T-test, paper: toy, place: Fig. 3, says: held by a test, tested: some_test}
";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("toy")).unwrap();
    sandbox.write("toy/small.yaml", EXPERIMENT);
    sandbox.write("rows.yaml", ROWS);
    sandbox.write("toy/README.md", "# Toy\n\n<!-- rows: written by `meshfold reproduce --record` -->\n<!-- end of rows -->\n\nEnd.\n");
    sandbox
}

/// The verdicts by the rows' ids.
fn verdicts(rows: &[Value]) -> Vec<(String, String)> {
    let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.iter()
        .map(|row| (word(row, "id"), word(row, "verdict")))
        .collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(id, verdict)| ((*id).to_owned(), (*verdict).to_owned()))
        .collect()
}

#[test]
fn a_row_that_cannot_be_read_as_written_is_refused_by_its_id() {
    let sandbox = sandbox();
    let rows = |from: &str, to: &str| sandbox.write("other.yaml", &ROWS.replace(from, to));
    rows("    only: {topology: ring}\n", "");
    let line = "reproduce --rows other.yaml T-level -q";
    let said = sandbox.says(&format!("{line} --list")).ended_with(2);
    said.complained_of(&["T-level", "differ in topology", "`only`"]);
    rows("{last: test_accuracy}", "{last: test_acuracy}");
    let said = sandbox.says(line).ended_with(2);
    said.complained_of(&["T-level", "`test_acuracy`", "test_accuracy"]);
    rows(
        "{last: test_accuracy}",
        "{at: {round: 3, figure: test_accuracy}}",
    );
    let said = sandbox.says(line).ended_with(2);
    said.complained_of(&["T-level", "rounds 3 to 3", "2 and 4"]);
}

#[test]
fn rows_are_listed_without_runs_and_judged_after_them() {
    let sandbox = sandbox();
    let listed = sandbox
        .says("reproduce --rows rows.yaml --list --json")
        .ended_with(0)
        .json();
    let before = [
        ("T-lambda", "reproduced"),
        ("T-level", "not-run"),
        ("T-order", "not-run"),
        ("T-data", "needs-data"),
        ("T-test", "tested"),
    ];
    assert_eq!(verdicts(&listed), pairs(&before));
    assert!(listed[1]["seconds"].as_f64().unwrap() > 0.0 && listed[0]["seconds"] == 0.0);
    assert!(
        listed[3]["reason"]
            .as_str()
            .unwrap()
            .contains("leukemia_a2"),
        "{}",
        listed[3]
    );
    assert!(!sandbox.path("runs").exists(), "a list runs nothing");

    let judged = sandbox
        .says("reproduce --rows rows.yaml --json -q")
        .ended_with(0)
        .json();
    let after = [
        ("T-lambda", "reproduced"),
        ("T-level", "contradicts"),
        ("T-order", "ordering-holds"),
        ("T-data", "needs-data"),
        ("T-test", "tested"),
    ];
    assert_eq!(verdicts(&judged), pairs(&after));
    let folders = sandbox.runs("small");
    assert_eq!(folders.len(), 4, "two overlays under two seeds");
    let mut last: Vec<f64> = Vec::new();
    for folder in &folders {
        let config = sandbox.read(&format!("{folder}/config.yaml"));
        if config.contains("ring") {
            let records = sandbox.records(folder);
            last.push(
                records.last().unwrap()["test_accuracy"]["mean"]
                    .as_f64()
                    .unwrap(),
            );
        }
    }
    let values = judged[1]["values"]["value"].as_object().unwrap();
    let mut read: Vec<f64> = values
        .values()
        .map(|value| value.as_f64().unwrap())
        .collect();
    last.sort_by(f64::total_cmp);
    read.sort_by(f64::total_cmp);
    assert_eq!(read, last, "values are those of the records");

    let page = sandbox.read("runs/reproduced.html");
    for part in [
        "A toy of ours",
        "T-level",
        "contradicts",
        "<svg",
        "the paper&#39;s number",
    ] {
        let part = part.replace("&#39;", "'");
        assert!(
            page.replace("&#39;", "'").contains(&part),
            "{part} is not on the page"
        );
    }
}

#[test]
fn a_budget_takes_what_fits_and_seeds_can_be_fewer() {
    let sandbox = sandbox();
    let none = sandbox
        .says("reproduce T-level --rows rows.yaml --within 0.000001s --json -q")
        .ended_with(0)
        .json();
    assert_eq!(verdicts(&none), pairs(&[("T-level", "not-run")]));
    let one = sandbox
        .says("reproduce T-level --rows rows.yaml --seeds 1 --within 1h --json -q")
        .ended_with(0)
        .json();
    assert_eq!(verdicts(&one), pairs(&[("T-level", "contradicts")]));
    assert_eq!(sandbox.runs("small").len(), 1);
}

#[test]
fn what_is_recorded_stands_in_the_readme_and_comes_back() {
    let sandbox = sandbox();
    sandbox
        .says("reproduce --rows rows.yaml --record -q")
        .ended_with(0);
    let readme = sandbox.read("toy/README.md");
    for part in [
        "| T-level | Fig. 1 | accuracy on the ring | contradicts |",
        "2 seeds",
        "End.\n",
    ] {
        assert!(readme.contains(part), "{part} is not in\n{readme}");
    }
    let measured = sandbox.json("measured.json");
    assert_eq!(
        measured["rows"]["T-level"]["values"]["value"]
            .as_object()
            .unwrap()
            .len(),
        2
    );
    sandbox
        .says("reproduce --rows rows.yaml --record -q")
        .ended_with(0);
    assert_eq!(sandbox.read("toy/README.md"), readme);
}

#[test]
fn rows_that_cannot_be_are_refused_by_name() {
    let sandbox = sandbox();
    let refused = |line: &str, parts: &[&str]| {
        sandbox.says(line).ended_with(2).complained_of(parts);
    };
    refused(
        "reproduce T-levle --rows rows.yaml",
        &["`T-levle` is neither a paper nor a row", "papers are toy"],
    );
    refused("reproduce", &["experiments/rows.yaml", "--rows"]);
    refused(
        "reproduce --rows rows.yaml --within 10",
        &["needed a time such as 90s, 10m or 2h"],
    );
    sandbox.write(
        "wrong.yaml",
        &ROWS.replace(
            "only: {topology: ring}\n    read: {last: test_accuracy}\n    claims",
            "only: {topology: torus}\n    read: {last: test_accuracy}\n    claims",
        ),
    );
    refused(
        "reproduce --rows wrong.yaml",
        &[
            "row T-level",
            "no run of toy/small.yaml has topology: \"torus\"",
        ],
    );
    sandbox.write(
        "wrong.yaml",
        &ROWS.replace("claims: [{order", "claim: [{order"),
    );
    refused(
        "reproduce --rows wrong.yaml",
        &[
            "unknown key `claim`",
            "wrong.yaml:",
            "claim: [{order",
            "did you mean `claims`?",
        ],
    );
}
