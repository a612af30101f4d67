//! Where event files lie, and what happens to earlier ones.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use meshfold_tensorboard::{End, LogFolder};
use serde_json::json;
use tempfile::TempDir;

/// The folder of a run that has so many records.
fn run(results: &TempDir, id: &str, records: usize) -> PathBuf {
    let folder = results.path().join("first").join(id);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), "name: first\nseed: 1\n").unwrap();
    let lines: String = (0..records)
        .map(|round| format!("{}\n", record(round)))
        .collect();
    fs::write(folder.join("metrics.jsonl"), lines).unwrap();
    folder
}

fn record(round: usize) -> serde_json::Value {
    json!({"round": round, "test_accuracy": {"mean": 0.5}, "wall_seconds": round})
}

fn known(label: &str) -> Option<(String, serde_json::Map<String, serde_json::Value>)> {
    Some((label.to_owned(), serde_json::Map::new()))
}

/// All files below `folder`, without it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// How many records of TFRecord are in the file.
fn events(file: &Path) -> usize {
    let bytes = fs::read(file).unwrap();
    let (mut rest, mut events) = (bytes.as_slice(), 0);
    while !rest.is_empty() {
        let length = u64::from_le_bytes(rest[..8].try_into().unwrap());
        rest = &rest[usize::try_from(length).unwrap() + 16..];
        events += 1;
    }
    events
}

/// Version, session, settings and configuration.
const HEAD: usize = 4;

#[test]
fn a_run_that_goes_on_has_one_file_with_every_record_once() {
    let (results, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = run(&results, "ab12", 0);
    let logs = LogFolder::open(out.path()).unwrap();
    let mut log = logs.begin(&folder, known("seed=1")).unwrap();
    for round in [0, 1, 1, 2, 3] {
        log.append(&record(round)).unwrap();
    }
    log.end(End::Open).unwrap();
    let [first] = files(out.path()).try_into().unwrap();
    assert_eq!(first.parent(), Some(&*out.path().join("first/seed=1")));
    assert_eq!(events(&first), HEAD + 4);

    // Its checkpoint was of round 2, in another process.
    run(&results, "ab12", 3);
    let logs = LogFolder::open(out.path()).unwrap();
    let mut log = logs.begin(&folder, known("seed=1")).unwrap();
    log.append(&record(2)).unwrap();
    log.append(&record(3)).unwrap();
    log.end(End::Finished).unwrap();
    let [empty, second] = files(out.path()).try_into().unwrap();
    assert_eq!((&empty, events(&empty)), (&first, 0));
    assert_eq!(events(&second), HEAD + 4 + 1);
    assert!(logs.has(&folder).unwrap());

    logs.begin(&folder, known("seed=1")).unwrap();
    let left = files(out.path());
    assert_eq!(left.len(), 2, "files that were emptied before are removed");
    assert_eq!((&left[0], events(&left[0])), (&second, 0));
}

#[test]
fn runs_of_one_label_lie_in_two_folders() {
    let (results, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let logs = LogFolder::open(out.path()).unwrap();
    for id in ["ab12", "cd34"] {
        logs.begin(&run(&results, id, 2), known("seed=1")).unwrap();
    }
    let folder = |file: &PathBuf| file.parent().unwrap().file_name().unwrap().to_owned();
    let folders: Vec<_> = files(out.path()).iter().map(folder).collect();
    assert_eq!(folders, ["seed=1", "seed=1 (cd34)"]);
}

#[test]
fn a_run_of_another_label_leaves_its_earlier_folder_and_files_of_others_stay() {
    let (results, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = run(&results, "ab12", 2);
    let logs = LogFolder::open(out.path()).unwrap();
    logs.begin(&folder, known("seed=1")).unwrap();
    let foreign = out.path().join("first/seed=1/events.out.tfevents.1.host");
    fs::write(&foreign, "").unwrap();
    logs.begin(&folder, known("seed=1, topology=ring")).unwrap();
    let [one, other] = files(out.path()).try_into().unwrap();
    assert_eq!(one, foreign);
    assert!(other.starts_with(out.path().join("first/seed=1, topology=ring")));
}

#[test]
fn a_finished_run_goes_by_its_summary_and_a_torn_record_is_left_out() {
    let (results, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = run(&results, "ab12", 2);
    let metrics = folder.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics).unwrap();
    fs::write(&metrics, format!("{text}\n{{\"round\": 2")).unwrap();
    let summary = json!({"label": "seed=7", "settings": {"seed": 7}, "status": "failed"});
    fs::write(folder.join("summary.json"), summary.to_string()).unwrap();
    let logs = LogFolder::open(out.path()).unwrap();
    logs.begin(&folder, None).unwrap();
    let [file] = files(out.path()).try_into().unwrap();
    assert!(file.starts_with(out.path().join("first/seed=7")));
    assert_eq!(events(&file), HEAD + 2 + 1);
}

#[test]
fn what_is_no_run_and_what_is_no_folder_are_named() {
    let out = tempfile::tempdir().unwrap();
    let logs = LogFolder::open(out.path()).unwrap();
    let error = logs.begin(&out.path().join("none"), None).unwrap_err();
    assert!(error.to_string().contains("none"), "{error}");
    fs::write(out.path().join("file"), "").unwrap();
    let error = LogFolder::open(&out.path().join("file")).unwrap_err();
    assert!(
        error.to_string().contains("file cannot be written"),
        "{error}"
    );
}
