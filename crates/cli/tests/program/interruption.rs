//! Ctrl-C, and going on afterwards.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;

/// Some seconds of work, saved at every round.
const LONG: &str = "\
name: long
dataset: {glyphs: {train: 2000, test: 50}}
partition: {iid: {clients: 10}}
topology: ring
model: {mlp: {hidden: [128]}}
algorithm: {dfedavgm: {local: {steps: 20}, batch_size: 20, learning_rate: 0.01}}
rounds: 120
checkpoint: {every: 1}
sweep: {grid: {seed: [1, 2, 3]}}
";

/// Sends `signal` as soon as the first run has `records` records; returns the exit code and standard error.
fn interrupt(
    sandbox: &Sandbox,
    child: Child,
    signal: &str,
    records: usize,
) -> (Option<i32>, String) {
    let began = Instant::now();
    let metrics = || -> Option<PathBuf> {
        Some(
            sandbox
                .path(sandbox.runs("long").first()?)
                .join("metrics.jsonl"),
        )
    };
    let lines = || {
        metrics()
            .and_then(|path| fs::read_to_string(path).ok())
            .map_or(0, |text| text.lines().count())
    };
    while lines() < records {
        assert!(
            began.elapsed() < Duration::from_secs(100),
            "{} records",
            lines()
        );
        sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn ctrl_c_keeps_everything_and_the_same_command_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.write("long.yaml", LONG);
    let child = sandbox.start("run long.yaml --set sweep=null --json");
    let (code, said) = interrupt(&sandbox, child, "-INT", 4);
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains("interrupted") && said.contains("goes on from the last checkpoint"),
        "{said}"
    );
    let [folder] = sandbox.runs("long").try_into().unwrap();
    let before = sandbox.results(&folder);
    assert!(before.len() >= 4 && before.len() < 121, "{}", before.len());
    assert_eq!(
        sandbox.json(&format!("{folder}/summary.json"))["status"],
        "interrupted"
    );
    for (file, exists) in [
        ("DONE", false),
        ("clients.parquet", true),
        ("report.html", true),
    ] {
        assert_eq!(
            sandbox.path(&format!("{folder}/{file}")).exists(),
            exists,
            "{file}"
        );
    }

    let resumed = sandbox.says("run long.yaml --set sweep=null").ended_with(0);
    assert!(
        resumed.err.contains("goes on after round"),
        "{}",
        resumed.err
    );
    let whole = sandbox.results(&folder);
    assert_eq!(whole.len(), 121);
    assert_eq!(whole[..before.len()], before);
    sandbox
        .says("run long.yaml --set sweep=null --results whole")
        .ended_with(0);
    let uninterrupted = folder.replacen("runs", "whole", 1);
    assert!(
        sandbox.results(&uninterrupted) == whole,
        "a resumed run has other results than one in one go"
    );
}

#[test]
fn a_request_to_end_stops_a_sweep_before_its_next_run() {
    for at_once in [1, 2] {
        let sandbox = Sandbox::new();
        sandbox.write("long.yaml", LONG);
        let child = sandbox.start(&format!(
            "run long.yaml --threads 2 --at-once {at_once} --json"
        ));
        let (code, said) = interrupt(&sandbox, child, "-TERM", 2);
        assert_eq!(code, Some(130), "{said}");
        assert_eq!(sandbox.runs("long").len(), at_once);
        assert_eq!(said.matches("interrupted").count(), at_once, "{said}");
    }
}
