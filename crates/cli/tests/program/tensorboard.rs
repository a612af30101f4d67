//! `run --tensorboard` and `meshfold tensorboard`. What TensorBoard reads of the files is tested in Python.

use std::fs;

use crate::sandbox::Sandbox;

/// The event files in a folder, by name.
fn event_files(sandbox: &Sandbox, folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(sandbox.path(folder)) else {
        return Vec::new();
    };
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
    let mut names: Vec<String> = entries.map(|entry| name(entry).unwrap()).collect();
    names.sort();
    assert!(
        names
            .iter()
            .all(|name| name.starts_with("events.out.tfevents."))
    );
    names
}

#[test]
fn every_run_of_a_sweep_has_an_event_file_by_its_label() {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    sandbox.write(
        "sweep.yaml",
        &format!("{tiny}sweep: {{grid: {{topology: [ring, complete]}}}}\n"),
    );
    let said = sandbox
        .says("run sweep.yaml --tensorboard -q")
        .ended_with(0);
    assert!(
        said.out
            .contains("events: tensorboard --logdir runs/tensorboard"),
        "{}",
        said.out
    );
    for label in ["topology=ring", "topology=complete"] {
        let files = event_files(&sandbox, &format!("runs/tensorboard/tiny/{label}"));
        assert_eq!(files.len(), 1, "{label}");
    }
    // The folder of all results is listed as before.
    let runs = sandbox.says("runs --json").ended_with(0).json();
    assert_eq!(runs.len(), 2);
}

#[test]
fn finished_runs_get_event_files_later() {
    let sandbox = Sandbox::new();
    sandbox.says("run tiny.yaml -q").ended_with(0);
    sandbox
        .says("run tiny.yaml -q --tensorboard=logs")
        .ended_with(0);
    let first = event_files(&sandbox, "logs/tiny/tiny");
    assert_eq!(first.len(), 1);
    sandbox
        .says("run tiny.yaml -q --tensorboard=logs")
        .ended_with(0);
    assert_eq!(
        event_files(&sandbox, "logs/tiny/tiny"),
        first,
        "a file that is there stays"
    );
    let said = sandbox.says("tensorboard runs").ended_with(0);
    assert_eq!(said.out, "events: tensorboard --logdir runs/tensorboard\n");
    assert_eq!(event_files(&sandbox, "runs/tensorboard/tiny/tiny").len(), 1);
    sandbox
        .says("run tiny.yaml -q --again --tensorboard=logs")
        .ended_with(0);
    let again = event_files(&sandbox, "logs/tiny/tiny");
    assert_eq!(again.len(), 2);
    let bytes = |name: &String| {
        sandbox
            .path("logs/tiny/tiny")
            .join(name)
            .metadata()
            .unwrap()
            .len()
    };
    assert!(
        again[0] == first[0] && bytes(&again[0]) == 0,
        "a run that begins again has its new events alone"
    );
    assert!(bytes(&again[1]) > 0);
}

#[test]
fn a_folder_that_cannot_be_written_to_is_refused_before_any_run() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "");
    let said = sandbox
        .says("run tiny.yaml --tensorboard=file")
        .ended_with(2);
    said.complained_of(&["file cannot be written"]);
    assert!(sandbox.runs("tiny").is_empty());
    sandbox
        .says("tensorboard nowhere")
        .ended_with(2)
        .complained_of(&["nowhere"]);
}

#[test]
fn a_damaged_run_is_left_out_and_named() {
    let sandbox = Sandbox::new();
    sandbox.says("run tiny.yaml -q").ended_with(0);
    let [folder] = sandbox.runs("tiny").try_into().unwrap();
    sandbox.write(&format!("{folder}/metrics.jsonl"), "");
    let said = sandbox.says("tensorboard runs/tiny").ended_with(1);
    said.complained_of(&["is left out"]);
}
