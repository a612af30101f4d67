//! `meshfold churn`: overlays whose nodes join, leave and fail.

use crate::sandbox::{Sandbox, keys};

const CHURN: &str = "\
nodes: 60
spaces: 3
latency: {uniform: [20, 120]}
events:
  - {at_seconds: 2, fail: {share: 0.3}}
  - {at_seconds: 20, join: {count: 5}}
  - {at_seconds: 30, leave: {count: 3}}
until_seconds: 40
";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("churn.yaml", CHURN);
    sandbox
}

#[test]
fn every_event_has_its_line() {
    let out = sandbox().says("churn churn.yaml").ended_with(0).out;
    for part in ["fail", "join", "leave", "recovered after", "messages"] {
        assert!(out.contains(part), "{part} is not in\n{out}");
    }
    assert!(
        out.contains("after 40 s: 100.0 % of the nodes have the correct neighbours"),
        "{out}"
    );
}

#[test]
fn events_and_samples_are_there_as_json() {
    let sandbox = sandbox();
    let sweep = "sweep={grid: {events.0.fail.share: [0.1, 0.5]}}";
    let runs = sandbox
        .meshfold(&["churn", "churn.yaml", "--json", "--set", sweep])
        .ended_with(0)
        .json();
    assert_eq!(runs.len(), 2);
    for (run, (share, nodes)) in runs.iter().zip([("share=0.1", 6), ("share=0.5", 30)]) {
        assert_eq!(keys(run), ["label", "correct", "events", "samples"]);
        assert_eq!(
            (&run["label"], &run["correct"]),
            (&share.into(), &1.0.into())
        );
        let failed = &run["events"][0];
        assert_eq!(
            (&failed["kind"], &failed["nodes"]),
            (&"fail".into(), &nodes.into())
        );
        assert!(failed["messages"].as_u64().unwrap() > 0);
        assert!(failed["recovered_seconds"].as_f64().unwrap() < 15.0);
        assert_eq!(run["samples"].as_array().unwrap().len(), 81);
    }
    let again = |seed: &str| {
        let seed = format!("seed={seed}");
        sandbox
            .meshfold(&["churn", "churn.yaml", "--json", "--set", &seed])
            .out
    };
    assert_eq!(again("3"), again("3"));
    assert_ne!(again("3"), again("4"));
}

#[test]
fn a_page_shows_the_course() {
    let sandbox = sandbox();
    let said = sandbox
        .says("churn churn.yaml --html pages/churn.html")
        .ended_with(0);
    assert!(
        said.out.contains("report: pages/churn.html"),
        "{}",
        said.out
    );
    let page = sandbox.read("pages/churn.html");
    assert!(page.contains("chart-correct") && page.contains("chart-messages"));
    assert!(!page.contains("src=\"http"));
}

#[test]
fn mistakes_point_at_their_line() {
    let sandbox = sandbox();
    let refused = |old: &str, new: &str, parts: &[&str]| {
        sandbox.write("bad.yaml", &CHURN.replace(old, new));
        let said = sandbox
            .says("churn bad.yaml --html page.html")
            .ended_with(2);
        said.complained_of(parts);
    };
    refused(
        "spaces: 3",
        "spcaes: 3",
        &["bad.yaml:2", "did you mean `spaces`?"],
    );
    refused(
        "share: 0.3",
        "share: 3",
        &["bad.yaml:5", "events.0.fail.share is 3"],
    );
    refused("nodes: 60", "nodes: 1", &["bad.yaml:1", "nodes is 1"]);
    refused(
        "join: {count: 5}",
        "jion: {count: 5}",
        &["bad.yaml:6", "did you mean `join`?"],
    );
    refused(
        "until_seconds: 40",
        "until_seconds: 4",
        &["bad.yaml:6", "in the order of time"],
    );
    refused("[20, 120]", "[20]", &["bad.yaml:3", "latency"]);
    sandbox
        .says("churn churn.yaml --set nodes=0")
        .ended_with(2)
        .complained_of(&["--set", "nodes is 0"]);
    sandbox
        .says("churn none.yaml")
        .ended_with(2)
        .complained_of(&["none.yaml"]);
    assert!(!sandbox.path("page.html").exists());
}
