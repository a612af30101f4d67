//! What is wrong in a user's data file is marked at the key that names the file.

use std::fs;

use meshfold_data::DataFolder;
use meshfold_experiment::plan;

use crate::{Seen, seen, with};

/// The error of a `dataset` where `good.csv` is a table and `bad.csv` has a row that is too short.
fn refused_in_folder(dataset: &str) -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let good: String = (0..20).map(|row| format!("{row},{}\n", row % 2)).collect();
    fs::write(folder.path().join("good.csv"), format!("x,y\n{good}")).unwrap();
    fs::write(folder.path().join("bad.csv"), "x,y\n1,0\n2\n").unwrap();
    fs::write(folder.path().join("bad.npz"), "no archive").unwrap();
    let source = with("dataset", &format!("dataset: {dataset}"));
    seen(&plan(&source, &DataFolder::new(folder.path())).unwrap_err())
}

#[test]
fn the_file_with_the_mistake_is_marked() {
    for (dataset, marked) in [
        ("{csv: {label: y, file: bad.csv}}", "bad.csv"),
        (
            "{csv: {label: y, test: {file: bad.csv}, file: good.csv}}",
            "bad.csv",
        ),
        (
            "{csv: {label: y, test: {file: good.csv}, file: bad.csv}}",
            "bad.csv",
        ),
        ("{npz: {file: bad.npz}}", "bad.npz"),
    ] {
        let seen = refused_in_folder(dataset);
        assert!(seen.message.contains(marked), "{seen:?}");
        assert_eq!((seen.line, seen.marked.as_str()), (2, marked), "{seen:?}");
    }
}
