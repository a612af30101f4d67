//! The numbers of small runs of everything that the program has, compared with those that were recorded.
//!
//! The YAML files in this folder are ordinary experiments. Those in `real/` need the files of a dataset. Each run of
//! theirs has a line in `golden.txt`. No change of the program may change these numbers, unless it is meant to. Then they
//! are recorded anew, and the difference is part of the change:
//!
//! ```sh
//! MESHFOLD_RECORD=1 cargo test --release --workspace --test numbers
//! git diff crates/cli/tests/numbers/golden.txt
//! ```

#![allow(clippy::unwrap_used)]

mod archive;
mod experiments;
mod files;
mod golden;
mod numbers;
mod reference;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use golden::{Difference, FILE, Golden};
use numbers::Numbers;

/// What the runs gave, or what the program said where it failed. `None` where nothing can be compared.
static FOUND: LazyLock<Option<Result<Vec<Numbers>, String>>> = LazyLock::new(|| {
    if let Some(reason) = experiments::why_skipped() {
        println!("skipped: {reason}");
        return None;
    }
    let found = experiments::of_this_folder().and_then(|mut found| {
        found.extend(experiments::of_real_files()?);
        Ok(found)
    });
    Some(found)
});

/// What `golden.txt` holds, after the runs were recorded in it if that is asked for.
static RECORDED: LazyLock<Golden> = LazyLock::new(|| {
    let golden = Golden::read();
    match (found(), std::env::var_os("MESHFOLD_RECORD")) {
        (Some(found), Some(_)) => golden.record(found),
        _ => golden,
    }
});

/// What the runs gave; `None` where nothing can be compared.
#[track_caller]
fn found() -> Option<&'static [Numbers]> {
    match FOUND.as_ref()? {
        Ok(found) => Some(found),
        Err(said) => panic!("{said}"),
    }
}

/// Fails with a message about `differences`, if there are any. `what` says in what the runs differ.
#[track_caller]
fn expect_none(differences: &[Difference], what: &str) {
    let all = found().map_or(0, <[Numbers]>::len);
    assert!(
        differences.is_empty(),
        "{}",
        golden::message(differences, what, all)
    );
}

#[test]
fn the_numbers_are_those_recorded() {
    let Some(found) = found() else { return };
    expect_none(&RECORDED.other_numbers(found), "other numbers");
}

#[test]
fn the_configurations_are_those_recorded() {
    let Some(found) = found() else { return };
    expect_none(
        &RECORDED.other_configurations(found),
        "another config.yaml or id",
    );
}

#[test]
fn every_run_is_recorded_and_every_line_is_of_a_run() {
    let Some(found) = found() else { return };
    let unknown = RECORDED.names_unknown_to(found);
    assert!(
        unknown.is_empty(),
        "{FILE} and the YAML files do not name the same runs: {unknown:?}"
    );
}

/// The files whose runs may leave the models as they are in other runs of the same file.
const NO_MODEL_CHANGES: [&str; 2] = ["networks/", "evaluations/"];

#[test]
fn no_two_runs_have_the_same_numbers() {
    let mut records = BTreeMap::new();
    let mut tables = BTreeMap::new();
    for line in RECORDED.lines() {
        if let Some(other) = records.insert(&line.records, &line.name) {
            panic!("{} and {other} have the same metrics.jsonl", line.name);
        }
        let changes_models = !NO_MODEL_CHANGES
            .iter()
            .any(|file| line.name.starts_with(file));
        if let Some(other) = tables.insert(&line.table, &line.name) {
            let told = "a setting that is to change models changes none";
            assert!(!changes_models, "{} and {other}: {told}", line.name);
        }
    }
}

#[test]
fn every_choice_of_the_reference_is_run() {
    let missing = reference::choices_without_a_run();
    assert!(
        missing.is_empty(),
        "no YAML file in crates/cli/tests/numbers has these choices of experiments/README.md: {missing:#?}"
    );
}
