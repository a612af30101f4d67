//! Files without an end, or as good as without one, in place of every file that a dataset reads.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use meshfold_data::{DataFolder, DatasetConfig, FileStatus, Manifest, check};

/// Settings with the files that they read.
const DATASETS: [(&str, &[&str]); 13] = [
    (
        r#"{"mnist": {}}"#,
        &[
            "mnist/train-images-idx3-ubyte",
            "mnist/train-labels-idx1-ubyte",
            "mnist/t10k-images-idx3-ubyte",
            "mnist/t10k-labels-idx1-ubyte",
        ],
    ),
    (
        r#"{"cifar10": {}}"#,
        &[
            "cifar10/data_batch_1.bin",
            "cifar10/data_batch_2.bin",
            "cifar10/data_batch_3.bin",
            "cifar10/data_batch_4.bin",
            "cifar10/data_batch_5.bin",
            "cifar10/test_batch.bin",
        ],
    ),
    (
        r#"{"femnist": {}}"#,
        &["femnist/train/a.json", "femnist/test/a.json"],
    ),
    (r#"{"femnist": {}}"#, &["femnist/femnist.npz"]),
    (
        r#"{"shakespeare": {}}"#,
        &["shakespeare/t8.shakespeare.txt"],
    ),
    (
        r#"{"shakespeare": {"source": "tiny"}}"#,
        &["shakespeare/tinyshakespeare_input.txt"],
    ),
    (
        r#"{"reddit": {}}"#,
        &["reddit/RC_2017-11", "reddit/RC_2017-10"],
    ),
    (
        r#"{"reddit": {"source": "leaf"}}"#,
        &["reddit/train/a.json", "reddit/test/a.json"],
    ),
    (
        r#"{"leukemia_a2": {}}"#,
        &[
            "swarm-a2/dataset_A2_RMA.txt",
            "swarm-a2/dataset_A2_annotation.txt",
        ],
    ),
    (r#"{"csv": {"file": "a/t.csv", "label": 0}}"#, &["a/t.csv"]),
    (
        r#"{"csv": {"file": "t.csv.gz", "label": 0}}"#,
        &["t.csv.gz"],
    ),
    (
        r#"{"csv": {"file": "t.csv.zst", "label": 0}}"#,
        &["t.csv.zst"],
    ),
    (r#"{"npz": {"file": "a.npz"}}"#, &["a.npz"]),
];

/// What loading says once `make` has made every file.
fn refusals(make: impl Fn(&Path)) -> Vec<String> {
    let refusal = |(settings, files): &(&str, &[&str])| {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = files.iter().map(|file| folder.path().join(file)).collect();
        for path in &paths {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            make(path);
        }
        let dataset: DatasetConfig = serde_json::from_str(settings).unwrap();
        let started = Instant::now();
        let place = DataFolder::new(folder.path());
        let load = dataset.load(&place).unwrap_err().to_string();
        let summary = dataset.summary(&place).unwrap_err().to_string();
        let told = |words: &str| files.iter().any(|file| words.contains(file));
        assert!(
            told(&load) && told(&summary),
            "{settings}: {load}; {summary}"
        );
        assert!(started.elapsed() < Duration::from_secs(60), "{settings}");
        load
    };
    DATASETS.iter().map(refusal).collect()
}

#[test]
fn a_terabyte_of_nothing_is_refused_within_the_limits_of_each_format() {
    // Nothing is on the disk but the length.
    let refusals = refusals(|path| File::create(path).unwrap().set_len(1 << 40).unwrap());
    for words in refusals {
        assert!(words.len() < 500, "{words}");
    }
}

#[test]
fn pipes_are_not_waited_for_and_devices_not_read() {
    let told = |refusals: Vec<String>, kind: &str| {
        for words in refusals {
            assert!(
                words.ends_with(&format!("it is {kind}, not a file"))
                    || words.contains("not found"),
                "{words}"
            );
        }
    };
    let zero = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    told(refusals(zero), "a device");
    let pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    told(refusals(pipe), "a named pipe");
}

#[test]
fn checking_reads_no_further_than_a_file_may_go() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["mnist", "cifar10", "shakespeare"] {
        let manifest = Manifest::by_name(name).unwrap();
        for file in &manifest.files {
            // As published, and unpacked.
            for name in [file.name.as_str(), file.name.trim_end_matches(".gz")] {
                let path = folder.path().join(&manifest.folder).join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                File::create(path).unwrap().set_len(1 << 40).unwrap();
            }
        }
        let started = Instant::now();
        for file in check(manifest, &DataFolder::new(folder.path())).files {
            assert!(
                matches!(
                    file.status,
                    FileStatus::Overlong { .. } | FileStatus::WrongSize { .. }
                ),
                "{}: {:?}",
                file.path.display(),
                file.status
            );
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{name}");
    }
}
