//! Runs whose data have changed since they were begun.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use meshfold_data::{DataFolder, Splits};
use meshfold_experiment::{Ending, RunError, RunOptions, RunReport, run};
use tempfile::TempDir;

use crate::tiny::{Case, copy_files, files, results, rounds};

/// The settings of a run on `table.csv`: seven clients who own ten rows each.
const TABLE: [&str; 4] = [
    "dataset={csv: {file: table.csv, label: kind, client: who}}",
    "partition=by_writer",
    "model=logistic",
    "checkpoint={every: 2}",
];

/// A table of `owners` with ten rows each, the feature of the first row being `first`.
fn write(folder: &TempDir, owners: usize, first: f64) {
    let mut table = String::from("kind,who,a,b\n");
    for row in 0..10 * owners {
        let (kind, who) = (row % 3, row / 10);
        let a = if row == 0 { first } else { row as f64 };
        table.push_str(&format!("{kind},{who},{a},{}\n", 7 * row % 11));
    }
    fs::write(folder.path().join("table.csv"), table).unwrap();
}

/// A run on a table, broken off after round 4.
fn broken() -> (TempDir, Case) {
    let data = tempfile::tempdir().unwrap();
    write(&data, 7, 0.5);
    let case = Case::with_data(data.path(), &TABLE);
    assert_eq!(case.run_until(4).checkpoint, Some(4));
    (data, case)
}

/// The same run on the table as it is now.
fn on_the_table_as_it_is(data: &TempDir, case: Case) -> Case {
    let today = Case::with_data(data.path(), &TABLE);
    assert_eq!(today.plan.id, case.plan.id);
    Case {
        results: case.results,
        ..today
    }
}

/// The results of an uninterrupted run on the table as it is now.
fn in_one_go(data: &TempDir) -> (Vec<String>, Vec<u8>) {
    let case = Case::with_data(data.path(), &TABLE);
    results(&case.run())
}

/// The error of a run that is refused.
#[track_caller]
fn refusal(report: &RunReport) -> String {
    match &report.ending {
        Ending::Failed {
            error: error @ RunError::OtherData { .. },
        } => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_interrupted_run_does_not_resume_on_changed_data() {
    for (owners, first, changed) in [
        (7, 0.75, "(training examples)"),
        (5, 0.5, "(training examples, test examples, partition)"),
        (9, 0.5, "(training examples, test examples, partition)"),
    ] {
        let (data, case) = broken();
        write(&data, owners, first);
        let case = on_the_table_as_it_is(&data, case);
        let before = tempfile::tempdir().unwrap();
        copy_files(&case.folder(), before.path());
        let said = refusal(&case.run());
        for part in [
            "the data of csv have changed",
            changed,
            "restore them",
            "--again",
        ] {
            assert!(said.contains(part), "{said}");
        }
        for name in files(before.path()) {
            let read = |folder: &Path| fs::read(folder.join(&name)).unwrap();
            assert!(read(before.path()) == read(&case.folder()), "{name}");
        }
        let mut left = files(&case.folder());
        assert!(left.remove("failure.json"), "it says why");
        assert_eq!(files(before.path()), left);
        // With the data restored it resumes.
        write(&data, 7, 0.5);
        let case = on_the_table_as_it_is(&data, case);
        let resumed = case.run();
        assert_eq!(resumed.resumed_from, Some(4));
        assert!(results(&resumed) == in_one_go(&data));
    }
}

#[test]
fn a_run_that_is_started_again_takes_the_changed_data() {
    let (data, case) = broken();
    write(&data, 5, 0.5);
    let case = on_the_table_as_it_is(&data, case);
    let again = RunOptions {
        again: true,
        ..case.options()
    };
    let report = case.run_with(&again);
    assert!(matches!(report.ending, Ending::Finished));
    assert!(results(&report) == in_one_go(&data));
    assert_eq!(rounds(&report).len(), 8);
}

#[test]
fn without_a_checkpoint_a_run_starts_again_on_the_changed_data() {
    let (data, case) = broken();
    fs::remove_file(case.folder().join("checkpoint.safetensors")).unwrap();
    write(&data, 5, 0.5);
    let case = on_the_table_as_it_is(&data, case);
    let report = case.run();
    assert_eq!(report.resumed_from, None);
    assert!(results(&report) == in_one_go(&data));
}

#[test]
fn a_finished_run_whose_data_have_changed_is_skipped_and_reported() {
    let (data, case) = broken();
    case.run();
    let changed = |case: &Case| match case.run().ending {
        Ending::Skipped { changed, .. } => changed,
        other => panic!("{other:?}"),
    };
    let case = on_the_table_as_it_is(&data, case);
    assert_eq!(changed(&case), None);
    // The digest of the file shows that a feature has changed, though the examples are not read.
    write(&data, 7, 0.75);
    let case = on_the_table_as_it_is(&data, case);
    assert_eq!(changed(&case).unwrap(), "files of the dataset");
    write(&data, 5, 0.5);
    let case = on_the_table_as_it_is(&data, case);
    assert_eq!(
        changed(&case).unwrap(),
        "examples, files of the dataset, partition"
    );
    // Earlier versions did not record digests.
    let place = case.folder().join("environment.json");
    let mut environment: serde_json::Value =
        serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
    environment
        .as_object_mut()
        .unwrap()
        .shift_remove("data")
        .unwrap();
    fs::write(&place, environment.to_string()).unwrap();
    assert_eq!(changed(&case), None);
}

#[test]
fn the_environment_holds_digests_of_the_data() {
    let case = Case::new(&[]);
    let report = case.run();
    let text = fs::read(report.folder.join("environment.json")).unwrap();
    let environment: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let data = environment["data"].as_object().unwrap();
    let keys: Vec<&str> = data.keys().map(String::as_str).collect();
    assert_eq!(keys, ["train", "test", "outline", "partition"]);
    let is_digest = |value: &serde_json::Value| value.as_str().unwrap().len() == 64;
    assert!(data.values().all(is_digest));
    let recorded = report.data.unwrap();
    assert_eq!(data["train"], recorded.train);
    let other = Case::new(&["dataset.glyphs.seed=1"]).run().data.unwrap();
    assert!(other.train != recorded.train && other.test != recorded.test);
    let seeded = Case::new(&["seed=2"]).run().data.unwrap();
    assert_eq!(
        (&seeded.train, &seeded.test),
        (&recorded.train, &recorded.test)
    );
    assert_ne!(seeded.partition, recorded.partition);
}

#[test]
fn data_that_changed_since_the_plan_are_refused() {
    let data = tempfile::tempdir().unwrap();
    write(&data, 7, 0.5);
    let case = Case::with_data(data.path(), &TABLE);
    write(&data, 5, 0.5);
    let dataset = &case.plan.config.dataset;
    let later: Splits = dataset.load(&DataFolder::new(data.path())).unwrap();
    let stop = AtomicBool::new(false);
    let report = run(&case.plan, &later, &case.options(), &stop, &mut ()).unwrap();
    let Ending::Failed { error } = report.ending else {
        panic!("{:?}", report.ending)
    };
    let said = error.to_string();
    assert!(
        said.contains("csv have changed since the run was planned"),
        "{said}"
    );
    assert!(!case.folder().exists());
}
