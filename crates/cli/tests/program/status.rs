//! `meshfold status`: how the runs of a sweep stand.

use std::fs;
use std::time::{Duration, SystemTime};

use meshfold_experiment::results::Claim;
use serde_json::Value;

use crate::sandbox::{Said, Sandbox};

/// Six runs, one of which diverges.
const SWEEP: &str = "sweep={cases: [{seed: 1}, {seed: 2}, {seed: 3}, {seed: 4}, {seed: 5}, {seed: 6, \
                     algorithm.dfedavgm.learning_rate: 1.0e+38}]}";

/// A sweep whose runs stand in every way: finished, failed, interrupted, running, damaged and waiting.
fn mixed() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let plan = sandbox.meshfold(&["plan", "tiny.yaml", "--set", SWEEP, "--json"]);
    let ids = plan.ended_with(0).json();
    let ids: Vec<String> = ids
        .iter()
        .map(|line| line["id"].as_str().unwrap().to_owned())
        .collect();
    let but_the_fifth = [&ids[0], &ids[1], &ids[2], &ids[3], &ids[5]].map(|id| &id[..8]);
    let only = but_the_fifth.join(",");
    sandbox
        .meshfold(&["run", "tiny.yaml", "--set", SWEEP, "--only", &only, "-q"])
        .ended_with(1);
    for file in ["DONE", "summary.json", "clients.parquet"] {
        fs::remove_file(sandbox.path(&format!("runs/tiny/{}/{file}", ids[1]))).unwrap();
    }
    fs::remove_file(sandbox.path(&format!("runs/tiny/{}/overlay.json", ids[3]))).unwrap();
    (sandbox, ids)
}

fn status(sandbox: &Sandbox) -> Said {
    sandbox.meshfold(&["status", "tiny.yaml", "--set", SWEEP, "--json"])
}

#[test]
fn every_run_of_the_file_is_listed_with_how_it_stands() {
    let (sandbox, ids) = mixed();
    let claim = Claim::take(&sandbox.path(&format!("runs/tiny/{}", ids[2]))).unwrap();
    let lines = status(&sandbox).ended_with(0).json();
    let column = |key: &str| {
        lines
            .iter()
            .map(|line| line[key].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(column("id"), ids, "in the order of the sweep");
    assert_eq!(
        column("state"),
        [
            "finished",
            "interrupted",
            "running",
            "damaged",
            "waiting",
            "failed"
        ]
    );
    assert_eq!(lines[2]["pid"], std::process::id());
    assert!(lines[2]["host"].is_string() && lines[2]["since"].is_string());
    assert_eq!(
        (&lines[0]["round"], &lines[0]["rounds"]),
        (&4.into(), &4.into())
    );
    assert!(lines[5]["problem"].as_str().unwrap().contains("finite"));
    assert_eq!(lines[4]["round"], Value::Null);
    assert!(lines[2]["last_sign_seconds"].is_number() && lines[1]["last_sign_seconds"].is_null());
    drop(claim);

    let table = sandbox.meshfold(&["status", "tiny.yaml", "--set", SWEEP]);
    let table = table.ended_with(0).out;
    assert!(
        table.contains("2 of 6 finished, 1 waiting, 1 interrupted, 1 failed, 1 damaged"),
        "{table}"
    );
    assert!(table.contains(&format!("({}): ", ids[5])), "{table}");

    let folder = sandbox.says("status runs/tiny --json").ended_with(0).json();
    assert_eq!(folder.len(), 5, "those that were begun");
    let failed = sandbox
        .says("runs runs/tiny --state failed --json")
        .ended_with(0)
        .json();
    assert_eq!(failed.len(), 1);
}

#[test]
fn a_machine_that_has_given_no_sign_for_a_while_is_told() {
    let (sandbox, ids) = mixed();
    let folder = format!("runs/tiny/{}", ids[1]);
    let claim = Claim::take(&sandbox.path(&folder)).unwrap();
    let path = format!("{folder}/claim-1.json");
    let text = sandbox.read(&path);
    drop(claim);
    let mut holder: Value = serde_json::from_str(&text).unwrap();
    holder["host"] = "elsewhere".into();
    sandbox.write(&path, &holder.to_string());
    let row = |seconds: u64| {
        let file = fs::File::options().append(true).open(sandbox.path(&path));
        let then = SystemTime::now() - Duration::from_secs(seconds);
        file.unwrap().set_modified(then).unwrap();
        let table = sandbox.meshfold(&["status", "tiny.yaml", "--set", SWEEP]);
        let table = table.ended_with(0).out;
        let mut lines = table.lines();
        lines
            .find(|line| line.contains(&ids[1]))
            .unwrap()
            .to_owned()
    };
    let late = row(150);
    assert!(
        late.contains("running") && late.contains("elsewhere"),
        "{late}"
    );
    assert!(late.contains("last sign 2 min"), "{late}");
    assert!(row(3600).contains("interrupted"));
}

#[test]
fn running_again_does_what_is_missing_and_watching_ends_with_the_last_run() {
    let (sandbox, ids) = mixed();
    fs::remove_dir_all(sandbox.path(&format!("runs/tiny/{}", ids[3]))).unwrap();
    let again = sandbox.meshfold(&["run", "tiny.yaml", "--set", SWEEP, "-q", "--json"]);
    let endings = again.ended_with(1).json();
    let endings: Vec<&str> = endings
        .iter()
        .map(|line| line["ending"].as_str().unwrap())
        .collect();
    assert_eq!(
        endings,
        [
            "skipped", "finished", "skipped", "finished", "finished", "failed"
        ]
    );
    let watched = sandbox.meshfold(&["status", "tiny.yaml", "--set", SWEEP, "--watch", "1"]);
    let watched = watched.ended_with(0).out;
    assert!(watched.contains("5 of 6 finished, 1 failed"), "{watched}");
}

#[test]
fn a_run_that_breaks_off_leaves_its_reason() {
    let sandbox = Sandbox::new();
    let write = |rows: usize| {
        let row = |row: usize| format!("{},{},{}\n", row % 3, row, 7 * row % 11);
        let rows: String = (0..rows).map(row).collect();
        sandbox.write("data/table.csv", &format!("kind,a,b\n{rows}"));
    };
    let csv = "dataset={csv: {file: table.csv, label: kind}}";
    let command = [
        "run",
        "tiny.yaml",
        "--set",
        csv,
        "--set",
        "partition={iid: {clients: 4}}",
        "-q",
    ];
    let command = [
        &command[..],
        &["--set", "checkpoint={every: 1, keep: true}"],
    ]
    .concat();
    write(200);
    sandbox.meshfold(&command).ended_with(0);
    let [run] = sandbox.runs("tiny").try_into().unwrap();
    for file in ["DONE", "summary.json"] {
        fs::remove_file(sandbox.path(&format!("{run}/{file}"))).unwrap();
    }
    write(240);
    sandbox.meshfold(&command).ended_with(1);
    let line = &sandbox.says("status runs/tiny --json").ended_with(0).json()[0];
    assert_eq!(line["state"], "failed");
    assert!(
        line["problem"]
            .as_str()
            .unwrap()
            .contains("have changed since"),
        "{line}"
    );
    write(200);
    sandbox.meshfold(&command).ended_with(0);
    assert!(!sandbox.path(&format!("{run}/failure.json")).exists());
}

#[test]
fn what_is_no_experiment_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("empty/file", "");
    sandbox
        .says("status empty")
        .ended_with(2)
        .complained_of(&["config.yaml"]);
    sandbox
        .says("status none.yaml")
        .ended_with(2)
        .complained_of(&["none.yaml"]);
    sandbox
        .says("status tiny.yaml --json --watch")
        .ended_with(2)
        .complained_of(&["--watch"]);
}
