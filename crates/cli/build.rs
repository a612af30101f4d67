//! Finds the commit that the program is built from, for `environment.json`; without git there is none. Makes the program smaller:
//! by the linker, where it can, and by a schema of the settings without line breaks.

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
    if env::var_os("CARGO_CFG_UNIX").is_some() {
        for argument in [ONE_COPY, PACKED_RELOCATIONS]
            .into_iter()
            .filter(|argument| serves(argument))
        {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
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

/// Has the linker keep one copy of functions whose instructions are the same.
const ONE_COPY: &str = "-Wl,--icf=all";

/// Has the linker note the addresses that change as the program is loaded in two bits each, not in 24 bytes.
const PACKED_RELOCATIONS: &str = "-Wl,-z,pack-relative-relocs";

/// Whether a program that is linked with `argument` runs, tried with the smallest one. Linkers and loaders of some systems take it.
fn serves(argument: &str) -> bool {
    try_out(argument).is_some_and(|ran| ran)
}

fn try_out(argument: &str) -> Option<bool> {
    let folder = env::var_os("OUT_DIR")?;
    let source = Path::new(&folder).join("smallest.rs");
    fs::write(&source, "fn main() {}").ok()?;
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let mut compiler = Command::new(env::var_os("RUSTC")?);
    compiler.args(["--target", &env::var("TARGET").ok()?]);
    compiler.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.arg(format!("-Clinker={linker}"));
    }
    let argument = format!("-Clink-arg={argument}");
    compiler.arg(argument).arg(source).current_dir(&folder);
    let linked = compiler.output().ok()?.status.success();
    Some(
        linked
            && Command::new(Path::new(&folder).join("smallest"))
                .status()
                .ok()?
                .success(),
    )
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
