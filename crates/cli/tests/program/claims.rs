//! Many processes in one folder of results: claims, parts and named runs.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Fifty runs of a moment.
const MANY: &str = "\
name: many
dataset: {glyphs: {train: 200, test: 20}}
partition: {iid: {clients: 4}}
topology: ring
model: logistic
algorithm: {dfedavgm: {local: {steps: 1}, batch_size: 20, learning_rate: 0.05}}
rounds: 2
sweep: {grid: {seed: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], algorithm.dfedavgm.learning_rate: [0.01, 0.02, 0.03, 0.04, 0.05]}}
";

/// Some seconds of work, saved every so often.
const LONG: &str = "\
name: long
dataset: {glyphs: {train: 600, test: 50}}
partition: {iid: {clients: 4}}
topology: ring
model: logistic
algorithm: {dfedavgm: {local: {steps: 20}, batch_size: 20, learning_rate: 0.01}}
rounds: 1000
checkpoint: {every: 20}
";

fn endings(child: Child) -> Vec<Value> {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn send(signal: &str, child: &Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.unwrap().success());
}

/// Waits until something `is_due`.
fn wait(is_due: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_due() {
        assert!(began.elapsed() < Duration::from_secs(100));
        sleep(Duration::from_millis(5));
    }
}

/// The folder of the run of `long`, once it has `records`.
fn run_with(sandbox: &Sandbox, records: usize) -> String {
    let count = || {
        let folder = sandbox.runs("long").into_iter().next()?;
        let text = fs::read_to_string(sandbox.path(&folder).join("metrics.jsonl")).ok()?;
        Some(text.lines().count())
    };
    wait(|| count().unwrap_or(0) >= records);
    sandbox.runs("long").remove(0)
}

/// No claims and no unfinished files are left of runs that are done.
fn expect_no_leftovers(sandbox: &Sandbox, name: &str) {
    for run in sandbox.runs(name) {
        for entry in fs::read_dir(sandbox.path(&run)).unwrap() {
            let file = entry.unwrap().file_name().to_string_lossy().into_owned();
            assert!(
                !file.starts_with("claim-") && !file.starts_with('.'),
                "{run}/{file}"
            );
        }
    }
}

#[test]
fn of_many_processes_one_carries_out_each_run() {
    let sandbox = Sandbox::new();
    sandbox.write("many.yaml", MANY);
    let start = |_| sandbox.start("run many.yaml --threads 1 --json -q");
    let children: Vec<Child> = (0..5).map(start).collect();
    let mut finished = Vec::new();
    for child in children {
        let lines = endings(child);
        assert_eq!(lines.len(), 50);
        let own = lines.iter().filter(|line| line["ending"] == "finished");
        finished.extend(own.map(|line| line["id"].as_str().unwrap().to_owned()));
    }
    let distinct: BTreeSet<&String> = finished.iter().collect();
    assert_eq!((finished.len(), distinct.len()), (50, 50));
    expect_no_leftovers(&sandbox, "many");
}

#[test]
fn parts_are_disjoint_and_together_they_are_the_sweep() {
    let sandbox = Sandbox::new();
    sandbox.write("many.yaml", MANY);
    let mut ids = Vec::new();
    for part in 1..=3 {
        let said = sandbox.says(&format!("run many.yaml --part {part}/3 --json"));
        let said = said.ended_with(0);
        let of_all = format!("of 50 runs (part {part} of 3)");
        assert!(said.err.contains(&of_all), "{}", said.err);
        let lines = said.json();
        assert!((16..=17).contains(&lines.len()), "{}", lines.len());
        assert!(lines.iter().all(|line| line["ending"] == "finished"));
        ids.extend(
            lines
                .iter()
                .map(|line| line["id"].as_str().unwrap().to_owned()),
        );
    }
    let distinct: BTreeSet<&String> = ids.iter().collect();
    assert_eq!((ids.len(), distinct.len()), (50, 50));
    let whole = sandbox.says("run many.yaml --json -q").ended_with(0).json();
    assert!(whole.iter().all(|line| line["ending"] == "skipped"));
    let order = sandbox.json("runs/many/sweep.json");
    let expected: Vec<&Value> = whole.iter().map(|line| &line["id"]).collect();
    assert_eq!(
        order["runs"].as_array().unwrap().iter().collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn runs_are_chosen_by_the_beginnings_of_their_ids() {
    let sandbox = Sandbox::new();
    sandbox.write("many.yaml", MANY);
    let plans = sandbox.says("plan many.yaml --json").ended_with(0).json();
    let id = |place: usize| plans[place]["id"].as_str().unwrap().to_owned();
    let only = format!("{},{}", id(30), &id(4)[..8]);
    let lines = sandbox.says(&format!("run many.yaml --only {only} --json"));
    let lines = lines.ended_with(0).json();
    let ids: Vec<&str> = lines
        .iter()
        .map(|line| line["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [id(4), id(30)]);
    sandbox
        .says("run many.yaml --only zzz")
        .ended_with(2)
        .complained_of(&[
            "no run of this experiment has the id `zzz`",
            "meshfold plan",
        ]);
    sandbox
        .says("run many.yaml --part 4/3")
        .ended_with(2)
        .complained_of(&["such as 3/16"]);
}

#[test]
fn runs_are_chosen_by_their_settings() {
    let sandbox = Sandbox::new();
    sandbox.write("many.yaml", MANY);
    let plans = sandbox.says("plan many.yaml --json").ended_with(0).json();
    let id = |place: usize| plans[place]["id"].as_str().unwrap();
    let chosen = |only: &str| {
        let lines = sandbox.says(&format!("run many.yaml {only} --json"));
        let lines = lines.ended_with(0).json();
        let ids = lines
            .iter()
            .map(|line| line["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    // The rate changes fastest: five runs of each seed.
    let settings = "--only seed=1,7 --only learning_rate=0.02";
    assert_eq!(chosen(settings), [id(1), id(31)]);
    let ids = format!("--only {},{} --only seed=7", id(4), id(30));
    assert_eq!(chosen(&ids), [id(30)]);
    for (only, complaint) in [
        ("seed=11", "11"),
        ("sead=1", "no setting is called `sead`"),
        ("learning_rate=", "learning_rate"),
    ] {
        sandbox
            .says(&format!("run many.yaml --only {only}"))
            .ended_with(2)
            .complained_of(&["--only: ", complaint]);
    }
}

#[test]
fn a_killed_process_costs_no_run() {
    let sandbox = Sandbox::new();
    sandbox.write("long.yaml", LONG);
    let mut killed = sandbox.start("run long.yaml --threads 1 -q");
    let run = run_with(&sandbox, 30);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(sandbox.path(&format!("{run}/claim-1.json")).exists());
    let listed = sandbox.says("runs runs/long --json").ended_with(0).json();
    assert_eq!(listed[0]["state"], "interrupted");
    let resumed = sandbox.says("run long.yaml").ended_with(0);
    assert!(
        resumed.err.contains("goes on after round"),
        "{}",
        resumed.err
    );
    sandbox.says("run long.yaml --results whole").ended_with(0);
    let whole = run.replacen("runs", "whole", 1);
    assert!(sandbox.results(&run) == sandbox.results(&whole));
    expect_no_leftovers(&sandbox, "long");
}

#[cfg(target_os = "linux")]
#[test]
fn a_suspended_process_of_this_machine_keeps_its_run() {
    let sandbox = Sandbox::new();
    sandbox.write("long.yaml", LONG);
    let child = sandbox.start("run long.yaml --threads 1 --json -q");
    run_with(&sandbox, 30);
    send("-STOP", &child);
    let mut other = sandbox.command(&["run", "long.yaml", "--json"]);
    let output = other.env("MESHFOLD_CLAIM_SECONDS", "0.3").output().unwrap();
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&line["ending"], output.status.code()),
        (&"elsewhere".into(), Some(0))
    );
    send("-CONT", &child);
    assert_eq!(endings(child)[0]["ending"], "finished");
}

/// Makes of the claim of a suspended process that of one on another machine.
fn move_away(sandbox: &Sandbox, run: &str) {
    let path = format!("{run}/claim-1.json");
    let mut claim = sandbox.json(&path);
    claim["host"] = "far-away".into();
    // In place: it stays the file that the process knows.
    fs::write(sandbox.path(&path), format!("{claim:<1023}\n")).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_was_suspended_too_long_notices_and_leaves_its_run() {
    let sandbox = Sandbox::new();
    sandbox.write("long.yaml", LONG);
    let slow = sandbox.start("run long.yaml --threads 1 --json -q");
    let run = run_with(&sandbox, 30);
    send("-STOP", &slow);
    move_away(&sandbox, &run);
    let listed = sandbox.says("runs runs/long --json").ended_with(0).json();
    assert_eq!(listed[0]["state"], "running", "its clock says so");
    let mut other = sandbox.command(&["run", "long.yaml", "--json"]);
    let other = other.env("MESHFOLD_CLAIM_SECONDS", "1.5").output().unwrap();
    let said = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(said.contains("goes on after round"), "{said}");
    let line: Value = serde_json::from_slice(&other.stdout).unwrap();
    assert_eq!(line["ending"], "finished", "{said}");
    let written = |name: &str| fs::read(sandbox.path(&format!("{run}/{name}"))).unwrap();
    let files = ["DONE", "metrics.jsonl", "summary.json", "clients.parquet"];
    let before = files.map(written);
    send("-CONT", &slow);
    let output = slow.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("was taken over by") && said.contains("no sign of life"),
        "{said}"
    );
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(line["ending"], "skipped", "{said}");
    assert!(
        files.map(written) == before,
        "it wrote into a run that is another's"
    );
    sandbox.says("run long.yaml").ended_with(0);
    expect_no_leftovers(&sandbox, "long");
}
