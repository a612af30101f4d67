//! What a run left in its folder, without the times that it took: what an undisturbed run and a disturbed one must share.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;

use crate::session::{CaseResult, complaint, panic_message};

/// Files of a run that are the same bytes however often it was interrupted.
const SAME_BYTES: [&str; 4] = [
    "config.yaml",
    "partition.csv",
    "overlay.edges",
    "overlay.json",
];

/// What stands in place of the content of a file that cannot be read, before the reason.
const UNREADABLE: &str = "cannot be read: ";

/// The content of every file that decides what a run came to, by the name of the file; lines of text each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome(BTreeMap<String, Vec<String>>);

impl Outcome {
    /// Reads the folder of a run. A file that cannot be read has a line that says why.
    pub(crate) fn read(folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut keep = |name: &str, lines: Result<Vec<String>, String>| {
            let lines = lines.unwrap_or_else(|error| vec![format!("{UNREADABLE}{error}")]);
            files.insert(name.to_owned(), lines);
        };
        for name in SAME_BYTES {
            if folder.join(name).exists() {
                keep(name, text(&folder.join(name)));
            }
        }
        if folder.join("DONE").exists() {
            keep("DONE", who_finished(&folder.join("DONE")));
        }
        keep("metrics.jsonl", records(&folder.join("metrics.jsonl")));
        keep("summary.json", summary(&folder.join("summary.json")));
        keep("clients.parquet", table(&folder.join("clients.parquet")));
        Self(files)
    }

    /// The records alone, as far as they go.
    pub(crate) fn records(&self) -> &[String] {
        &self.0["metrics.jsonl"]
    }

    /// Whether records, summary and table of clients are files of the right form.
    pub(crate) fn is_readable(&self) -> bool {
        let results = ["metrics.jsonl", "summary.json", "clients.parquet"];
        let is_broken = |line: &String| line.starts_with(UNREADABLE);
        !results
            .iter()
            .any(|name| self.lines(name).iter().any(is_broken))
    }

    /// The names of the files in which `other` differs, and the first difference.
    pub(crate) fn differences(&self, other: &Self) -> Option<(Vec<String>, String)> {
        let names = self.0.keys().chain(other.0.keys());
        let mut differing: Vec<String> = names
            .filter(|name| self.0.get(*name) != other.0.get(*name))
            .cloned()
            .collect();
        differing.sort();
        differing.dedup();
        let first = differing.first()?.clone();
        let (ours, theirs) = (self.lines(&first), other.lines(&first));
        let line = (0..).find(|line| ours.get(*line) != theirs.get(*line))?;
        let shown = |lines: &[String]| {
            let line = lines.get(line).map_or("(no such line)", String::as_str);
            line.chars().take(600).collect::<String>()
        };
        let detail = format!(
            "{first} line {}:\nundisturbed: {}\nfound:       {}",
            line + 1,
            shown(ours),
            shown(theirs)
        );
        Some((differing, detail))
    }

    fn lines(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Requires that the run in `folder` came to the same.
    pub(crate) fn expect_same(&self, folder: &Path) -> CaseResult {
        match self.differences(&Self::read(folder)) {
            None => Ok(()),
            Some((names, detail)) => Err(complaint(
                format!("other results in {}", names.join(", ")),
                detail,
            )),
        }
    }
}

/// The folders of the runs in `results`, a folder such as `runs/name`, in the order of their ids.
pub(crate) fn run_folders(results: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(results) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Requires that a finished run has files that are documented, and nothing else but `also`.
pub(crate) fn expect_documented_files(folder: &Path, also: &[&str]) -> CaseResult {
    let documented = documented_files();
    let mut others: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !documented.contains(&name.as_str()) && !also.contains(&name.as_str()))
        .collect();
    others.sort();
    if others.is_empty() {
        return Ok(());
    }
    let kind = |name: &String| match name.starts_with(".meshfold-unfinished") {
        true => ".meshfold-unfinished-*".to_owned(),
        false => name.clone(),
    };
    let mut kinds: Vec<String> = others.iter().map(kind).collect();
    kinds.dedup();
    let what = format!("left in a finished run: {}", kinds.join(", "));
    Err(complaint(what, format!("{}: {others:?}", folder.display())))
}

/// What the program's documentation says of results.
const DOCUMENTATION: &str = include_str!("../../../../docs/results.md");

/// What an interrupted run goes on from. A finished run has it only if it was asked to keep it.
pub(crate) const CHECKPOINT: &str = "checkpoint.safetensors";

/// What a finished run has that was asked to keep its checkpoint.
pub(crate) const KEPT: [&str; 2] = [CHECKPOINT, "clients.spool"];

/// The files of a finished run, as the table of the documentation names them.
fn documented_files() -> Vec<&'static str> {
    let rows = DOCUMENTATION
        .lines()
        .filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let names = cells.flat_map(|cell| cell.split(['`', ',', ' ']));
    names
        .filter(|name| !name.is_empty() && *name != CHECKPOINT)
        .collect()
}

/// Requires that nothing lies beside the folders of the runs in `results` but what the documentation speaks of.
pub(crate) fn expect_documented_beside(results: &Path) -> CaseResult {
    let entries = fs::read_dir(results).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| !entry.path().is_dir());
    let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
    // A name may end in a number that differs from file to file, behind a dash.
    let start = |name: &str| name.find('-').map_or(name.len(), |dash| dash + 1);
    let is_known = |name: &String| DOCUMENTATION.contains(&name[..start(name)]);
    let others: Vec<String> = names.filter(|name| !is_known(name)).collect();
    match others.is_empty() {
        true => Ok(()),
        false => Err(complaint(
            "left beside the runs of a sweep",
            format!("{others:?}"),
        )),
    }
}

fn text(path: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    Ok(text.split('\n').map(str::to_owned).collect())
}

/// `DONE` without the digests of files, in some of which times stand.
fn who_finished(path: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut done: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if let Some(done) = done.as_object_mut() {
        done.remove("sha256");
    }
    Ok(vec![done.to_string()])
}

fn records(path: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let record = |line: &str| {
        let mut record: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        forget_times(&mut record);
        Ok(record.to_string())
    };
    text.lines().map(record).collect()
}

fn summary(path: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut summary: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    forget_times(&mut summary);
    let pretty = serde_json::to_string_pretty(&summary).map_err(|error| error.to_string())?;
    Ok(pretty.lines().map(str::to_owned).collect())
}

/// Removes how long something took, wherever it stands.
fn forget_times(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.shift_remove("wall_seconds");
            map.shift_remove("seconds");
            map.values_mut().for_each(forget_times);
        }
        Value::Array(values) => values.iter_mut().for_each(forget_times),
        _ => {}
    }
}

/// The rows of a table. Of some damaged ones the library that reads them panics.
fn table(path: &Path) -> Result<Vec<String>, String> {
    let rows = catch_unwind(|| rows(path));
    rows.unwrap_or_else(|panic| Err(panic_message(&*panic)))
}

fn rows(path: &Path) -> Result<Vec<String>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
    let rows = reader
        .get_row_iter(None)
        .map_err(|error| error.to_string())?;
    rows.map(|row| {
        row.map(|row| row.to_string())
            .map_err(|error| error.to_string())
    })
    .collect()
}

#[test]
fn the_documentation_names_the_files_of_a_run() {
    let names = documented_files();
    for name in SAME_BYTES
        .into_iter()
        .chain(["metrics.jsonl", "clients.parquet"])
    {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
    assert!(names.len() < 20, "{names:?}");
}
