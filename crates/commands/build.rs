//! Finds the commit that the program is built from, for `environment.json`; without git there is none. Makes the program smaller by a schema
//! of the settings without line breaks.

use std::env;
use std::fs;
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
    keep_in_one_line(Path::new("../../docs/reference/settings.json"));
    if let Some(commit) = given().or_else(asked_of_git) {
        println!("cargo::rustc-env=MESHFOLD_COMMIT={commit}");
    }
}

/// Writes the JSON of `path`, which has a value a line, in one line to a file of its name.
fn keep_in_one_line(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let line: String = text.lines().map(str::trim).collect();
    let folder = env::var_os("OUT_DIR").expect("cargo names a folder");
    let name = path.file_name().expect("it is a file");
    fs::write(Path::new(&folder).join(name), line).expect("the folder can be written to");
}

/// For builds from an archive, which has no history.
fn given() -> Option<String> {
    let commit = env::var("MESHFOLD_COMMIT").ok()?;
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
