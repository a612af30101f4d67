//! Signals that were ignored when the program started, and the limit for the size of files.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::default_signals;
use crate::sandbox::{Said, Sandbox};

/// Some seconds of work.
const LONG: &str = "\
name: long
dataset: {glyphs: {train: 600, test: 50}}
partition: {iid: {clients: 4}}
topology: ring
model: logistic
algorithm: {dfedavgm: {local: {steps: 20}, batch_size: 20, learning_rate: 0.01}}
rounds: 400
";

impl Sandbox {
    /// The program with the words of `line`, started by a shell that does `first` before.
    fn shell(&self, first: &str, line: &str) -> Command {
        let mut shell = default_signals::command("sh");
        shell
            .arg("-c")
            .arg(format!("{first}; exec \"$0\" {line}"))
            .arg(env!("CARGO_BIN_EXE_meshfold"))
            .current_dir(self.path(""))
            .env("MESHFOLD_DATA", self.path("data"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        shell
    }
}

fn said(output: std::process::Output) -> Said {
    Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn send(signal: &str, process: u32) {
    let sent = Command::new("kill")
        .args([signal, &process.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Waits until the run of `long` has `count` records.
fn wait_for(sandbox: &Sandbox, count: usize) {
    let began = Instant::now();
    let records = || {
        let folder = sandbox.runs("long").into_iter().next()?;
        let text = fs::read_to_string(sandbox.path(&folder).join("metrics.jsonl")).ok()?;
        Some(text.lines().count())
    };
    while records().unwrap_or(0) < count {
        assert!(
            began.elapsed() < Duration::from_secs(100),
            "{:?}",
            records()
        );
        sleep(Duration::from_millis(2));
    }
}

/// Starts the long run in a shell that does `first`, sends it `signals` and returns what it said.
fn interrupted(first: &str, signals: &[&str]) -> (Sandbox, Said) {
    let sandbox = Sandbox::new();
    sandbox.write("long.yaml", LONG);
    let child = sandbox
        .shell(first, "run long.yaml --threads 1")
        .spawn()
        .unwrap();
    wait_for(&sandbox, 3);
    for signal in signals {
        send(signal, child.id());
        sleep(Duration::from_millis(20));
    }
    (sandbox, said(child.wait_with_output().unwrap()))
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    for (ignored, signal) in [("HUP", "-HUP"), ("INT", "-INT"), ("TERM", "-TERM")] {
        let (sandbox, said) = interrupted(&format!("trap '' {ignored}"), &[signal, signal]);
        assert_eq!(said.code, Some(0), "{ignored}: {}", said.err);
        let [folder] = sandbox.runs("long").try_into().unwrap();
        assert_eq!(sandbox.records(&folder).len(), 401, "{ignored}");
        assert!(!said.err.contains("stopping"), "{ignored}: {}", said.err);
    }
}

#[test]
fn what_is_not_ignored_still_ends_the_run() {
    for (ignored, signal, code) in [
        ("INT", "-TERM", 75),
        ("HUP", "-INT", 130),
        ("TERM", "-HUP", 130),
        ("HUP", "-USR1", 75),
        ("HUP", "-USR2", 75),
        ("HUP", "-XCPU", 75),
    ] {
        let (sandbox, said) = interrupted(&format!("trap '' {ignored}"), &[signal]);
        assert_eq!(said.code, Some(code), "{signal}: {}", said.err);
        let [folder] = sandbox.runs("long").try_into().unwrap();
        let summary = sandbox.json(&format!("{folder}/summary.json"));
        assert_eq!(summary["status"], "interrupted", "{signal}");
    }
}

#[test]
fn a_terminal_that_is_closed_twice_ends_the_run_in_order() {
    let (sandbox, said) = interrupted("true", &["-HUP", "-HUP"]);
    assert_eq!(said.code, Some(130), "{}", said.err);
    let [folder] = sandbox.runs("long").try_into().unwrap();
    let summary = sandbox.json(&format!("{folder}/summary.json"));
    assert_eq!(summary["status"], "interrupted");
}

#[test]
fn a_scheduler_that_asks_twice_still_gets_its_checkpoint() {
    let (sandbox, said) = interrupted("true", &["-TERM", "-TERM", "-TERM"]);
    assert_eq!(said.code, Some(75), "{}", said.err);
    assert_eq!(said.err.matches("asked to end").count(), 1, "{}", said.err);
    let [folder] = sandbox.runs("long").try_into().unwrap();
    let summary = sandbox.json(&format!("{folder}/summary.json"));
    assert_eq!(summary["status"], "interrupted");
}

#[test]
fn a_limit_for_the_size_of_files_is_named_and_nothing_is_lost() {
    let sandbox = Sandbox::new();
    let yaml = LONG
        .replace("topology: ring", "topology: path")
        .replace("clients: 4", "clients: 2");
    sandbox.write("long.yaml", &format!("{yaml}checkpoint: {{every: 50}}\n"));
    let run = "run long.yaml";
    // Blocks of 512 bytes: the records grow beyond them, a checkpoint does not.
    let output = sandbox.shell("ulimit -f 200", run).output().unwrap();
    let said = said(output).ended_with(1);
    let [folder] = sandbox.runs("long").try_into().unwrap();
    let metrics = format!("{folder}/metrics.jsonl cannot be written");
    assert!(
        said.err.contains(&metrics) && said.err.contains("102400 bytes"),
        "{}",
        said.err
    );
    assert!(said.err.contains("ulimit -f"), "{}", said.err);
    assert!(said.out.contains("failed"), "{}", said.out);
    let text = sandbox.read(&format!("{folder}/metrics.jsonl"));
    assert_eq!(text.len(), 102_400);

    let resumed = sandbox.says(run).ended_with(0);
    assert!(
        resumed.err.contains("goes on after round"),
        "{}",
        resumed.err
    );
    sandbox
        .says(&format!("{run} --results whole"))
        .ended_with(0);
    let whole = folder.replacen("runs", "whole", 1);
    assert!(
        sandbox.results(&folder) == sandbox.results(&whole),
        "other records"
    );
}

#[test]
fn a_limit_that_is_met_by_pages_alone_leaves_the_runs_finished() {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    sandbox.write(
        "sweep.yaml",
        &format!("{tiny}sweep: {{grid: {{seed: [1, 2]}}}}\n"),
    );
    let mut run = sandbox.shell("ulimit -f 100", "run sweep.yaml --json");
    let said = said(run.output().unwrap()).ended_with(1);
    assert!(said.json().iter().all(|line| line["ending"] == "finished"));
    assert!(
        said.err.contains("no report of the sweep") && said.err.contains("ulimit -f"),
        "{}",
        said.err
    );
    sandbox.says("run sweep.yaml").ended_with(0);
    assert!(sandbox.path("runs/tiny/report.html").is_file());
}
