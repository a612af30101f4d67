//! `meshfold submit` with programs in place of Slurm's. `.ci/slurm` tries it with a real one.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::sandbox::{Said, Sandbox};

const SWEEP: &str = "sweep={grid: {seed: [1, 2, 3, 4, 5]}}";

/// A sandbox with a scheduler: `sbatch` notes what it is given, `squeue` lists the file `queue`.
fn with_slurm() -> Sandbox {
    let sandbox = Sandbox::new();
    let programs = [
        ("scontrol", "echo 'MaxArraySize            = 2'"),
        (
            "sbatch",
            "echo \"$@\" >> submitted; number=$(wc -l < submitted); echo $((100 + number))",
        ),
        ("squeue", "cat queue"),
    ];
    for (name, does) in programs {
        let path = format!("bin/{name}");
        sandbox.write(&path, &format!("#!/bin/sh\n{does}\n"));
        fs::set_permissions(sandbox.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
    }
    sandbox.write("queue", "");
    sandbox
}

fn submit(sandbox: &Sandbox, further: &[&str]) -> Said {
    with_slurm_in_the_path(sandbox, "submit", further)
}

/// `command` of the sweep.
fn with_slurm_in_the_path(sandbox: &Sandbox, command: &str, further: &[&str]) -> Said {
    let arguments = [&[command, "tiny.yaml", "--set", SWEEP], further].concat();
    let mut command = sandbox.command(&arguments);
    let path = std::env::var("PATH").unwrap();
    let bin = sandbox.path("bin");
    let output = command
        .env("PATH", format!("{}:{path}", bin.display()))
        .output()
        .unwrap();
    Said {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The folder of the one submission.
fn submission(sandbox: &Sandbox) -> String {
    let mut found = fs::read_dir(sandbox.path("runs/tiny/slurm")).unwrap();
    let name = found.next().unwrap().unwrap().file_name();
    format!("runs/tiny/slurm/{}", name.display())
}

#[test]
fn a_sweep_becomes_arrays_below_the_limit_and_a_report_after_them() {
    let sandbox = with_slurm();
    let asked = [
        "--jobs",
        "3",
        "--partition",
        "short",
        "--time",
        "1:00:00",
        "--account",
        "lab",
        "--cpus",
        "2",
        "--sbatch=--constraint=fast",
        "--jobs-at-once",
        "2",
    ];
    let said = submit(&sandbox, &asked).ended_with(0);
    assert!(said.err.contains("5 of 5 runs to submit"), "{}", said.err);
    assert!(said.err.contains("`checkpoint` is not set"), "{}", said.err);
    let folder = submission(&sandbox);
    let script = sandbox.read(&format!("{folder}/array-1.sh"));
    for option in [
        "--array=0-1%1",
        "--partition=short",
        "--time=1:00:00",
        "--account=lab",
        "--cpus-per-task=2",
        "--constraint=fast",
        "--signal=TERM@120",
        "--requeue",
        "--open-mode=append",
        "--mem=",
    ] {
        assert!(
            script.contains(&format!("#SBATCH {option}")),
            "{option}\n{script}"
        );
    }
    assert!(script.contains("-eq 75"), "{script}");
    let lists =
        ["array-1.runs", "array-2.runs"].map(|list| sandbox.read(&format!("{folder}/{list}")));
    assert_eq!(lists[0].lines().count() + lists[1].lines().count(), 3);
    assert_eq!(
        lists.concat().replace('\n', ",").matches(',').count(),
        5,
        "{lists:?}"
    );
    let submitted = sandbox.read("submitted");
    let last = submitted.lines().last().unwrap();
    assert!(
        last.contains("--dependency=afterany:101:102") && last.contains("report.sh"),
        "{last}"
    );
    let report = sandbox.read(&format!("{folder}/report.sh"));
    assert!(
        report.contains(" report ") && report.contains("runs/tiny"),
        "{report}"
    );
    assert!(report.contains("#SBATCH --time=1:00:00"), "{report}");
}

#[test]
fn a_scheduler_that_does_not_answer_is_told() {
    let sandbox = with_slurm();
    submit(&sandbox, &["--jobs", "5", "--jobs-at-once", "9"]).ended_with(0);
    sandbox.write("queue", "101 0\n102 1\n");
    let status = || with_slurm_in_the_path(&sandbox, "status", &[]).ended_with(0);
    let answered = status();
    assert!(
        answered.out.contains("2 queued") && answered.err.is_empty(),
        "{}",
        answered.out
    );
    fs::remove_file(sandbox.path("queue")).unwrap();
    let unanswered = status();
    assert!(
        unanswered.err.contains("`squeue` failed: cat: queue")
            && unanswered.err.contains("shown as waiting"),
        "{}",
        unanswered.err
    );
}

#[test]
fn only_what_is_missing_is_submitted_again() {
    let sandbox = with_slurm();
    submit(&sandbox, &["--jobs", "5", "--jobs-at-once", "9"]).ended_with(0);
    // Two of the elements still wait; the runs of the others have come to nothing.
    sandbox.write("queue", "101 0\n102 1\n");
    let said = submit(&sandbox, &["--dry-run"]).ended_with(0);
    assert!(
        said.err.contains("3 of 5 runs to submit, 2 queued"),
        "{}",
        said.err
    );
    sandbox
        .meshfold(&["run", "tiny.yaml", "--set", SWEEP, "-q"])
        .ended_with(0);
    sandbox.write("queue", "");
    let before = sandbox.read("submitted");
    let said = submit(&sandbox, &[]).ended_with(0);
    assert!(
        said.err.contains("0 of 5 runs to submit, 5 finished"),
        "{}",
        said.err
    );
    assert_eq!(sandbox.read("submitted"), before);
    // What was submitted is no run.
    let listed = sandbox.says("runs runs/tiny --json").ended_with(0).json();
    assert_eq!(listed.len(), 5);
    sandbox.says("report runs/tiny").ended_with(0);
}

#[test]
fn a_dry_run_needs_no_scheduler_and_writes_nothing() {
    let sandbox = Sandbox::new();
    let arguments = ["submit", "tiny.yaml", "--set", SWEEP];
    let mut command = sandbox.command(&[&arguments[..], &["--dry-run", "--gpus", "2"]].concat());
    let output = command.env("PATH", sandbox.path("none")).output().unwrap();
    let script = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{script}");
    assert!(
        script.contains("#SBATCH --gpus=2") && script.contains("--gpus-per-task=1"),
        "{script}"
    );
    assert!(
        script.contains("--device auto") && script.contains("SLURM_PROCID + 1))/2"),
        "{script}"
    );
    assert!(!sandbox.path("runs").exists());
    let mut command = sandbox.command(&arguments);
    let output = command.env("PATH", sandbox.path("none")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("submit where Slurm is installed") && said.contains("--dry-run"),
        "{said}"
    );
    assert!(!sandbox.path("runs").exists());
}
