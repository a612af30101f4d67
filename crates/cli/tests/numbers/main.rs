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
use std::process::ExitCode;
use std::sync::LazyLock;

use meshfold_test_needs::{Test, test};

use experiments::REAL_FILES;
use golden::{Difference, FILE, Golden};
use numbers::Numbers;

fn main() -> ExitCode {
    let of_processor = [
        test!(the_numbers_are_those_recorded),
        test!(the_configurations_are_those_recorded),
        test!(every_run_is_recorded_and_every_line_is_of_a_run),
    ];
    let of_real_files = REAL_FILES.map(|(name, datasets)| {
        let path = format!("{}::real::{name}", module_path!());
        Test::new(&path, || all_is_as_recorded(found(name))).needs_data(datasets)
    });
    let comparing = of_processor.into_iter().chain(of_real_files);
    let reason = experiments::why_nothing_compares();
    let mut tests: Vec<Test> = comparing.map(|test| test.unless(reason)).collect();
    tests.push(test!(no_two_runs_have_the_same_numbers));
    tests.push(test!(every_choice_of_the_reference_is_run));
    tests.extend(golden::tests());
    tests.extend(numbers::tests());
    tests.extend(reference::tests());
    meshfold_test_needs::run(tests)
}

/// What the runs of the files of this folder gave, or what the program said where it failed; likewise those of each file in `real/`
/// whose datasets are here.
static FOUND: LazyLock<BTreeMap<&'static str, Result<Vec<Numbers>, String>>> =
    LazyLock::new(|| {
        let mut found = BTreeMap::from([(HERE, experiments::of_this_folder())]);
        for (name, datasets) in REAL_FILES {
            if meshfold_test_needs::missing_dataset(datasets).is_none() {
                found.insert(name, experiments::of_real_file(name));
            }
        }
        found
    });

/// The key of the files of this folder.
const HERE: &str = "";

/// What `golden.txt` holds, after the runs were recorded in it if that is asked for.
static RECORDED: LazyLock<Golden> = LazyLock::new(|| {
    let golden = Golden::read();
    if std::env::var_os("MESHFOLD_RECORD").is_none() {
        return golden;
    }
    let all = FOUND.keys().flat_map(|name| found(name)).cloned();
    golden.record(&all.collect::<Vec<_>>())
});

/// What the runs of a file in `real/` gave, or those [`HERE`].
#[track_caller]
fn found(name: &str) -> &'static [Numbers] {
    match &FOUND[name] {
        Ok(found) => found,
        Err(said) => panic!("{said}"),
    }
}

/// Fails with a message about `differences` of some of `all` runs, if there are any. `what` says in what the runs differ.
#[track_caller]
fn expect_none(differences: &[Difference], what: &str, all: &[Numbers]) {
    assert!(
        differences.is_empty(),
        "{}",
        golden::message(differences, what, all.len())
    );
}

fn the_numbers_are_those_recorded() {
    numbers_are_those_recorded(found(HERE));
}

fn the_configurations_are_those_recorded() {
    configurations_are_those_recorded(found(HERE));
}

fn every_run_is_recorded_and_every_line_is_of_a_run() {
    names_are_those_recorded(found(HERE));
}

fn all_is_as_recorded(found: &[Numbers]) {
    numbers_are_those_recorded(found);
    configurations_are_those_recorded(found);
    names_are_those_recorded(found);
}

fn numbers_are_those_recorded(found: &[Numbers]) {
    expect_none(&RECORDED.other_numbers(found), "other numbers", found);
}

fn configurations_are_those_recorded(found: &[Numbers]) {
    expect_none(
        &RECORDED.other_configurations(found),
        "another config.yaml or id",
        found,
    );
}

fn names_are_those_recorded(found: &[Numbers]) {
    let unknown = RECORDED.names_unknown_to(found);
    assert!(
        unknown.is_empty(),
        "{FILE} and the YAML files do not name the same runs: {unknown:?}"
    );
}

/// The files whose runs may leave the models as they are in other runs of the same file.
const NO_MODEL_CHANGES: [&str; 2] = ["networks/", "evaluations/"];

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

fn every_choice_of_the_reference_is_run() {
    let missing = reference::choices_without_a_run();
    assert!(
        missing.is_empty(),
        "no YAML file in crates/cli/tests/numbers has these choices of experiments/README.md: {missing:#?}"
    );
}
