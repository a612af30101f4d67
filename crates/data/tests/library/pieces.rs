//! Examples that are read in pieces are those that are read whole, and pieces are as small as asked for.

use std::fs;
use std::path::Path;

use meshfold_data::{
    DataFolder, DatasetConfig, DatasetSummary, ExamplesBuilder, Features, ListedPieces,
};

fn bytes(features: &Features) -> usize {
    match features {
        Features::Bytes { values, .. } => values.len(),
        Features::Numbers(values) => size_of_val(values.as_slice()),
        Features::Tokens(windows) => size_of_val(windows.starts()),
    }
}

/// The pieces of `dataset` make its examples, whatever the pieces are.
fn expect_the_same(dataset: &str, folder: &DataFolder) {
    let settings: DatasetConfig = serde_json::from_str(dataset).unwrap();
    let whole = settings.load(folder).unwrap();
    let each = bytes(whole.train.features()) / whole.train.len();
    for most in [1, 3 * each + 1, usize::MAX] {
        let mut builder = ExamplesBuilder::of(whole.train.len());
        let mut listed = ListedPieces::of(whole.train.len());
        let mut largest = 0;
        let left = settings.load_in_pieces(folder, most, &mut |piece| {
            assert!(!piece.is_empty());
            largest = largest.max(bytes(piece.features()));
            listed.push(piece);
            builder.push(piece);
        });
        let left = left.unwrap();
        let all = each * whole.train.len();
        assert_eq!(
            largest,
            (most / each).max(1).saturating_mul(each).min(all),
            "{dataset}"
        );
        assert_eq!(left.test, whole.test, "{dataset}");
        assert_eq!(left.validation, whole.validation, "{dataset}");
        let gathered = builder.finish(&left.train);
        assert_eq!(gathered, *whole.train, "{dataset}");
        let (_, digest, outline) = listed.finish(&left);
        assert_eq!(digest, whole.train.digest(), "{dataset}");
        assert_eq!(outline, DatasetSummary::digest_of(&whole), "{dataset}");
        let summary = settings.summary(folder).unwrap();
        assert_eq!(summary.digest(), outline, "{dataset}");
        assert_eq!(summary.train_bytes(), all, "{dataset}");
    }
}

#[test]
fn what_the_program_makes_comes_in_pieces() {
    let folder = DataFolder::new("unused");
    expect_the_same(r#"{"glyphs": {"train": 25, "test": 4}}"#, &folder);
    let kept_apart = r#"{"glyphs": {"train": 25, "test": 4, "validation": 6}}"#;
    expect_the_same(kept_apart, &folder);
    expect_the_same(r#"{"consensus": {"examples": 5}}"#, &folder);
}

#[test]
fn tables_come_in_pieces_standardised_by_all_training_rows() {
    let folder = tempfile::tempdir().unwrap();
    let table = |name: &str, rows: usize| {
        let row = |row: usize| {
            let number = (row * 7919 % 101) as f64 / 7.0;
            format!("{number},{},{},w{}\n", number * 3.1 - 5.0, row % 3, row % 4)
        };
        let text: String = (0..rows).map(row).collect();
        fs::write(folder.path().join(name), text).unwrap();
    };
    table("a.csv", 41);
    table("b.csv", 9);
    let data = DataFolder::new(folder.path());
    for standardise in ["true", "false"] {
        for test in [r#"{"share": 0.3}"#, r#"{"file": "b.csv"}"#] {
            let dataset = format!(
                r#"{{"csv": {{"file": "a.csv", "label": 2, "client": 3, "header": false, "standardise": {standardise},
                    "test": {test}}}}}"#
            );
            expect_the_same(&dataset, &data);
        }
    }
}

#[test]
fn tables_of_words_and_empty_cells_come_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let row = |row: usize| {
        let colour = ["red", "blue", "", "green"][row * 5 % 4];
        let number = if row % 7 == 2 { "" } else { "7.25" };
        let part = ["train", "test", "train", "validation", "train"][row % 5 * 3 % 5];
        format!("{row},{colour},{number},{part},{}\n", row % 3)
    };
    let text: String = (0..41).map(row).collect();
    fs::write(folder.path().join("a.csv"), text).unwrap();
    let data = DataFolder::new(folder.path());
    for standardise in ["true", "false"] {
        for test in [r#"{"column": 3}"#, r#"{"share": 0.3}"#] {
            let ignored = if test.contains("column") { "" } else { "3" };
            let dataset = format!(
                r#"{{"csv": {{"file": "a.csv", "label": 4, "header": false, "standardise": {standardise},
                    "categories": [1], "ignore": [{ignored}], "missing": "mean", "test": {test}}}}}"#
            );
            expect_the_same(&dataset, &data);
        }
    }
}

#[test]
fn arrays_come_in_pieces() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/femnist");
    let data = DataFolder::new(fixture);
    let arrays = r#""file": "expected.npz", "client": "client", "classes": 62"#;
    for test in [r#"{"file": "expected.npz"}"#, r#"{"share": 0.3}"#] {
        for standardise in ["false", "true"] {
            let settings = format!(r#"{arrays}, "test": {test}, "standardise": {standardise}"#);
            expect_the_same(&format!(r#"{{"npz": {{{settings}}}}}"#), &data);
        }
    }
}
