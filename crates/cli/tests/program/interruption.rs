//! Ctrl-C, and going on afterwards.

use std::fs;
use std::path::Path;
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
    let lines = |text: String| text.lines().count();
    interrupt_when(sandbox, child, signal, |run| {
        fs::read_to_string(run.join("metrics.jsonl")).map_or(0, lines) >= records
    })
}

/// Sends `signal` as soon as the folder of the first run `is_ready`; returns the exit code and standard error.
fn interrupt_when(
    sandbox: &Sandbox,
    child: Child,
    signal: &str,
    is_ready: impl Fn(&Path) -> bool,
) -> (Option<i32>, String) {
    interrupt_once(child, signal, || {
        let runs = sandbox.runs("long");
        let run = runs.first().map(|run| sandbox.path(run));
        run.is_some_and(|run| is_ready(&run))
    })
}

/// Sends `signal` once something `is_due`; returns the exit code and standard error.
pub(crate) fn interrupt_once(
    child: Child,
    signal: &str,
    is_due: impl Fn() -> bool,
) -> (Option<i32>, String) {
    let began = Instant::now();
    while !is_due() {
        assert!(began.elapsed() < Duration::from_secs(100));
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
fn an_interrupted_run_is_not_lost_to_another_instruction_set() {
    let sandbox = Sandbox::new();
    let devices = sandbox.says("devices --json").ended_with(0).json();
    let has_another = devices[0]["instructions"][0] != "portable";
    sandbox.write("long.yaml", LONG);
    let child = sandbox.start("run long.yaml --set sweep=null --cpu portable");
    let (code, said) = interrupt(&sandbox, child, "-INT", 4);
    assert_eq!(code, Some(130), "{said}");
    let [folder] = sandbox.runs("long").try_into().unwrap();
    let files = ["checkpoint.safetensors", "metrics.jsonl", "summary.json"];
    let contents =
        || files.map(|file| fs::read(sandbox.path(&format!("{folder}/{file}"))).unwrap());
    let before = contents();
    if has_another {
        let said = sandbox.says("run long.yaml --set sweep=null").ended_with(1);
        let reason = "was begun on cpu/portable and has a checkpoint of round";
        assert!(
            said.err.contains(reason) && said.err.contains("--again"),
            "{}",
            said.err
        );
        assert!(contents() == before);
        let line = &sandbox.says("status runs/long --json").ended_with(0).json()[0];
        assert_eq!(line["state"], "interrupted", "{line}");
    }
    let resumed = sandbox
        .says("run long.yaml --set sweep=null --cpu portable --set rounds=120")
        .ended_with(0);
    assert!(
        resumed.err.contains("goes on after round"),
        "{}",
        resumed.err
    );
}

#[test]
fn a_line_of_the_log_for_each_step_of_a_run_has_its_time() {
    let sandbox = Sandbox::new();
    let run = "run tiny.yaml -q --set checkpoint={every: 1}";
    let words: Vec<&str> = run.splitn(5, ' ').collect();
    let said = sandbox
        .meshfold(&[&words[..], &["-v"]].concat())
        .ended_with(0);
    for part in [
        "INFO tiny ",
        "checkpoint of round 1, written",
        "test accuracy",
        "finished in round",
    ] {
        assert!(said.err.contains(part), "{part}: {}", said.err);
    }
    let year = |line: &str| {
        line.get(..5)
            .is_some_and(|start| start.starts_with("20") && start.ends_with('-'))
    };
    assert!(
        said.err
            .lines()
            .filter(|line| line.contains("INFO"))
            .all(year),
        "{}",
        said.err
    );
    let quiet = sandbox
        .meshfold(&[&words[..], &["--again"]].concat())
        .ended_with(0);
    assert_eq!(quiet.err, "");
}

#[test]
fn ctrl_c_keeps_everything_and_the_same_command_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.write("long.yaml", LONG);
    let child = sandbox.start("run long.yaml --set sweep=null --json");
    let (code, said) = interrupt(&sandbox, child, "-INT", 4);
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains("interrupted") && said.contains("the same command resumes it after round"),
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
fn runs_that_never_began_are_told_after_ctrl_c() {
    let sandbox = Sandbox::new();
    sandbox.write("long.yaml", LONG);
    let child = sandbox.start("run long.yaml --at-once 1 --threads 1");
    let (code, said) = interrupt(&sandbox, child, "-INT", 4);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("2 runs have not begun"), "{said}");
}

#[test]
fn a_run_that_the_system_stops_has_the_bits_of_one_in_one_go() {
    let sandbox = Sandbox::new();
    sandbox.write("long.yaml", LONG);
    let command = "run long.yaml --set sweep=null --set checkpoint.every=1000";
    let child = sandbox.start(command);
    let (code, said) = interrupt(&sandbox, child, "-TERM", 4);
    assert_eq!(code, Some(75), "{said}");
    assert!(said.contains("resumes it after round"), "{said}");
    let resumed = sandbox.says(command).ended_with(0);
    assert!(
        resumed.err.contains("goes on after round"),
        "{}",
        resumed.err
    );
    let whole = format!("{command} --results whole");
    sandbox.says(&whole).ended_with(0);
    let [folder] = sandbox.runs("long").try_into().unwrap();
    let uninterrupted = folder.replacen("runs", "whole", 1);
    assert!(sandbox.results(&folder) == sandbox.results(&uninterrupted));
}

#[test]
fn what_is_said_after_ctrl_c_is_true_between_evaluations_too() {
    let sparse = "run long.yaml --set sweep=null --set evaluate.every=1000 --set rounds=40";
    let sandbox = Sandbox::new();
    sandbox.write("long.yaml", LONG);
    sandbox
        .says(&format!("{sparse} --results whole"))
        .ended_with(0);
    let whole = fs::read_dir(sandbox.path("whole/long")).unwrap().next();
    let whole = format!(
        "whole/long/{}",
        whole.unwrap().unwrap().file_name().display()
    );
    let whole = sandbox.results(&whole);
    assert_eq!(whole.len(), 2, "the start and the end");

    let has_checkpoint = |run: &Path| run.join("checkpoint.safetensors").exists();
    let is_begun =
        |run: &Path| fs::read(run.join("metrics.jsonl")).is_ok_and(|text| !text.is_empty());
    for (every, next) in [
        ("1", "the same command resumes it after round"),
        ("30", "the same command resumes it after round"),
        (
            "never",
            "the same command starts it again, as `checkpoint` is not set",
        ),
    ] {
        let command = match every {
            "never" => format!("{sparse} --set checkpoint=null"),
            _ => format!("{sparse} --set checkpoint.every={every}"),
        };
        let child = sandbox.start(&command);
        let (code, said) = interrupt_when(&sandbox, child, "-INT", |run| match every {
            "1" => has_checkpoint(run),
            _ => is_begun(run),
        });
        assert_eq!(code, Some(130), "{said}");
        let [folder] = sandbox.runs("long").try_into().unwrap();
        let left = has_checkpoint(&sandbox.path(&folder));
        // It may be stopped before its first round is done.
        let early = !left && said.contains("starts it again, as there is no checkpoint yet");
        assert!(said.contains(next) || early, "{said}");
        assert_eq!(left, said.contains("resumes it after round"), "{said}");

        let resumed = sandbox.says(&command).ended_with(0);
        let goes_on = resumed.err.contains("goes on after round");
        assert_eq!(left, goes_on, "{}", resumed.err);
        assert!(sandbox.results(&folder) == whole, "{every}");
        fs::remove_dir_all(sandbox.path("runs")).unwrap();
    }
}

#[test]
fn a_table_that_was_replaced_meanwhile_is_refused_and_named() {
    let sandbox = Sandbox::new();
    let write = |owners: usize| {
        let row = |row: usize| format!("{},{},{},{}\n", row % 3, row / 40, row, 7 * row % 11);
        let rows: String = (0..40 * owners).map(row).collect();
        sandbox.write("data/table.csv", &format!("kind,who,a,b\n{rows}"));
    };
    let long = LONG
        .replace(
            "glyphs: {train: 2000, test: 50}",
            "csv: {file: table.csv, label: kind, client: who}",
        )
        .replace("{iid: {clients: 10}}", "by_writer")
        .replace("rounds: 120", "rounds: 100000\nevaluate: {every: 1000}");
    sandbox.write("long.yaml", &long);
    for owners in [8, 12] {
        write(10);
        let command = "run long.yaml --set sweep=null";
        let child = sandbox.start(command);
        let (code, said) = interrupt_when(&sandbox, child, "-INT", |run| {
            run.join("checkpoint.safetensors").exists()
        });
        assert_eq!(code, Some(130), "{said}");
        write(owners);
        sandbox.says(command).ended_with(1).complained_of(&[
            "the data of csv have changed since",
            "restore them",
            "--again",
        ]);
        fs::remove_dir_all(sandbox.path("runs")).unwrap();
    }
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
        assert_eq!(code, Some(75), "{said}");
        assert_eq!(sandbox.runs("long").len(), at_once);
        assert_eq!(said.matches("interrupted").count(), at_once, "{said}");
    }
}
