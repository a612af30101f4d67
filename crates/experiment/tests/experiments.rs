//! Every experiment of the papers can be planned, but for those that wait for a dataset or a model.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use meshfold_data::DataFolder;
use meshfold_experiment::{Source, plan};

/// The folder with MNIST's files, or `None` with a printed reason.
fn data() -> Option<DataFolder> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("MESHFOLD_DATA").map_or(beside, PathBuf::from);
    if path.join("mnist").is_dir() {
        return Some(DataFolder::new(path));
    }
    let reason = format!("no mnist in {}", path.display());
    assert!(std::env::var_os("MESHFOLD_CI").is_none(), "{reason}");
    println!("skipped: {reason}");
    None
}

/// The YAML files of experiments below `folder`; `churn.yaml` is no experiment.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|kind| kind == "yaml") {
            found.push(path);
        }
    }
    found.retain(|path| !path.ends_with("churn.yaml"));
    found.sort();
    found
}

/// Whether the experiment needs files that a person has to bring.
fn waits(message: &str) -> bool {
    let waiting = [
        // Files that a person has to bring.
        "NORMAL_1.mat not found",
        "RC_2017-11 not found",
        "femnist: train/*.json not found",
        "leukemia_a2: dataset_A2_RMA.txt not found",
    ];
    waiting.iter().any(|words| message.contains(words))
}

#[test]
fn every_experiment_is_planned_or_says_what_it_waits_for() {
    let Some(data) = data() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let (mut planned, mut waiting) = (0, 0);
    for file in files(&folder) {
        let source = Source::read(&file).unwrap();
        match plan(&source, &data) {
            Ok(plans) => planned += plans.len().min(1),
            Err(error) if waits(&error.to_string()) => waiting += 1,
            // A machine with less memory than the largest experiments need still knows that they are right.
            Err(error) if error.to_string().contains("needs about") => planned += 1,
            Err(error) => panic!("{}: {error}", file.display()),
        }
    }
    println!("{planned} planned, {waiting} wait for their dataset or model");
    assert!(planned >= 20, "{planned} of the experiments are planned");
}
