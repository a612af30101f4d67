//! The rows of the papers, and the tables of their READMEs.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use meshfold_reproduction::{Ledger, RowOutcome, Rows, refreshed, table};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rows() -> Rows {
    Rows::read(&root().join("experiments/rows.yaml")).unwrap()
}

/// The Rust sources of the workspace.
fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_tables_of_the_readmes_are_those_of_what_was_measured() {
    let rows = rows();
    let text = fs::read_to_string(root().join("experiments/measured.json")).unwrap();
    let ledger: Ledger = serde_json::from_str(&text).unwrap();
    let all = ledger.outcomes(&rows);
    for paper in rows.papers.keys() {
        let readme = root().join("experiments").join(paper).join("README.md");
        let text = fs::read_to_string(&readme).unwrap();
        let of_paper: Vec<RowOutcome<'_>> = all
            .iter()
            .filter(|outcome| outcome.row.paper == *paper)
            .cloned()
            .collect();
        let fresh = refreshed(&text, &table(&of_paper)).unwrap();
        assert!(
            fresh == text,
            "{} is stale: `meshfold reproduce --list --record` writes it anew",
            readme.display()
        );
    }
}

#[test]
fn measured_rows_are_rows_of_the_file() {
    let rows = rows();
    let text = fs::read_to_string(root().join("experiments/measured.json")).unwrap();
    let ledger: Ledger = serde_json::from_str(&text).unwrap();
    for id in ledger.rows.keys() {
        assert!(rows.rows.iter().any(|row| row.id == *id), "{id} is no row");
    }
}

#[test]
fn tests_that_hold_rows_exist() {
    let mut all = String::new();
    sources(&root().join("crates"), &mut all);
    for row in rows().rows {
        if let Some(test) = row.tested {
            assert!(
                all.contains(&format!("fn {test}(")),
                "{}: no test is called {test}",
                row.id
            );
        }
    }
}
