//! Carries out the experiments of the YAML files in this folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::files;
use crate::numbers::Numbers;

/// The folder of this test.
pub(crate) const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/numbers");

/// What every run is computed with: the same bits on every machine that has the instructions.
const DEVICE: [&str; 4] = ["--cpu", "avx2", "--threads", "2"];

/// The files in `real/`, and the folders of the datasets that they read.
pub(crate) const REAL_FILES: [(&str, &[&str]); 3] = [
    ("cwru", &["cwru"]),
    ("mnist", &["mnist", "fashion-mnist", "qmnist-writers"]),
    ("shakespeare", &["shakespeare"]),
];

/// Why nothing can be compared on this machine, if so.
pub(crate) fn why_nothing_compares() -> Option<&'static str> {
    // Logarithms and powers are the C library's.
    if !cfg!(target_os = "linux") {
        return Some("no Linux");
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        return None;
    }
    Some("no AVX2")
}

/// The YAML files in `folder`, in the order of their names.
pub(crate) fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "yaml");
    let mut files: Vec<PathBuf> = paths.filter(is_yaml).collect();
    files.sort();
    files
}

/// Runs the quickstart and the YAML files of this folder.
///
/// # Errors
/// What the program said where it failed.
pub(crate) fn of_this_folder() -> Result<Vec<Numbers>, String> {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    files::write(&data);
    let quickstart = Path::new(HOME).join("../../../../experiments/quickstart.yaml");
    let mut found = run("quickstart", &quickstart, &["--set", "rounds=20"], &folder)?;
    for file in yaml_files(Path::new(HOME)) {
        found.extend(run(stem(&file), &file, &[], &folder)?);
    }
    Ok(found)
}

/// Runs the file `name` in `real/`.
///
/// # Errors
/// What the program said where it failed.
pub(crate) fn of_real_file(name: &str) -> Result<Vec<Numbers>, String> {
    let folder = tempfile::tempdir().unwrap();
    let data = meshfold_test_needs::data_folder();
    let file = Path::new(HOME).join("real").join(format!("{name}.yaml"));
    let arguments = ["--data-dir", data.to_str().unwrap()];
    run(&format!("real/{name}"), &file, &arguments, &folder)
}

/// The name of `file` without its ending.
fn stem(file: &Path) -> &str {
    file.file_stem().unwrap().to_str().unwrap()
}

/// Runs `file` and returns the numbers of each of its runs, named `group/name`.
fn run(
    group: &str,
    file: &Path,
    arguments: &[&str],
    folder: &TempDir,
) -> Result<Vec<Numbers>, String> {
    let options = ["--results", "runs", "--json", "--quiet"];
    let arguments = [&DEVICE, options.as_slice(), arguments].concat();
    let output = meshfold("run", file, &arguments, folder);
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{} cannot be run:\n{said}", file.display()));
    }
    // Two cases of one configuration are one run, whose second name nobody would miss.
    if said.contains("asks for this run again") {
        return Err(format!("{} has a run twice:\n{said}", file.display()));
    }
    let mut found: Vec<Numbers> = Vec::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let mut name = format!("{group}/{}", line["summary"]["name"].as_str().unwrap());
        let is_same = |other: &&Numbers| other.name.split('#').next() == Some(name.as_str());
        let before = found.iter().filter(is_same).count();
        if before > 0 {
            name += &format!("#{}", before + 1);
        }
        let of_run = folder.path().join(line["folder"].as_str().unwrap());
        found.push(Numbers::of(name, &of_run));
    }
    // The pages of hundreds of runs would take a gigabyte.
    fs::remove_dir_all(folder.path().join("runs")).unwrap();
    Ok(found)
}

/// The program's `command` on `file`, in `folder`.
fn meshfold(command: &str, file: &Path, arguments: &[&str], folder: &TempDir) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_meshfold"));
    program.arg(command).arg(file).args(arguments);
    program.current_dir(folder.path());
    program.env("MESHFOLD_DATA", folder.path().join("data"));
    program.output().unwrap()
}
