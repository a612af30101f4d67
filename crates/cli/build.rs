//! Finds the commit that the program is built from, for `environment.json`. Without git there is none.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=MESHFOLD_COMMIT");
    // Grows by a line with every commit, checkout and merge.
    let log = Path::new("../../.git/logs/HEAD");
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(commit) = given().or_else(asked_of_git) {
        println!("cargo::rustc-env=MESHFOLD_COMMIT={commit}");
    }
}

/// For builds from an archive, which has no history.
fn given() -> Option<String> {
    let commit = std::env::var("MESHFOLD_COMMIT").ok()?;
    Some(commit).filter(|commit| !commit.is_empty())
}

fn asked_of_git() -> Option<String> {
    let output = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}
