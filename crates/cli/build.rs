//! Finds the commit that the program is built from, for `environment.json`; without git there is none. Makes the program smaller.

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
    if links_by_the_compilers_own() {
        // Functions of the same instructions stand once, and addresses are known before the program is loaded.
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

/// Whether the compiler links with the linker that it brings along, lld: it does so on this target unless it is told otherwise.
fn links_by_the_compilers_own() -> bool {
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    is("TARGET", "x86_64-unknown-linux-gnu")
        && !flags.contains("link")
        && std::env::var_os("RUSTC_LINKER").is_none()
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
