//! A folder of its own for each test, and the program in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::default_signals;

/// An experiment that takes a moment: `tiny.yaml` of every sandbox.
pub(crate) const TINY: &str = "\
name: tiny
seed: 1
dataset: {glyphs: {train: 600, test: 100}}
partition: {shards: {clients: 10, per_client: 2}}
topology: ring
model: logistic
algorithm:
  dfedavgm:
    local: {steps: 3}
    batch_size: 20
    learning_rate: 0.05
rounds: 4
";

/// A working folder with `tiny.yaml` in it and no data.
pub(crate) struct Sandbox(TempDir);

/// How the program ended, and what it said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The lines of standard output, each as JSON.
    pub(crate) fn json(&self) -> Vec<Value> {
        let parse =
            |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.out.lines().map(parse).collect()
    }

    /// Requires the exit code.
    pub(crate) fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    /// Requires every one of `parts` on standard error.
    pub(crate) fn complained_of(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.err.contains(part), "{part:?} is not in\n{}", self.err);
        }
        self
    }
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let sandbox = Self(tempfile::tempdir().unwrap());
        sandbox.write("tiny.yaml", TINY);
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The program, to be started in the folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = default_signals::command(env!("CARGO_BIN_EXE_meshfold"));
        command.args(arguments).current_dir(self.0.path());
        command.env("MESHFOLD_DATA", self.path("data"));
        command
    }

    /// Runs the program to its end.
    pub(crate) fn meshfold(&self, arguments: &[&str]) -> Said {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Runs the words of `line`, which hold no spaces.
    pub(crate) fn says(&self, line: &str) -> Said {
        self.meshfold(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Starts the program and does not wait for it.
    pub(crate) fn start(&self, line: &str) -> Child {
        let mut command = self.command(&line.split_whitespace().collect::<Vec<_>>());
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The folders of the runs of `name`, in the order of their ids.
    pub(crate) fn runs(&self, name: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path("runs").join(name)) else {
            return Vec::new();
        };
        let folders = entries
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().is_dir());
        let mut names: Vec<String> = folders
            .map(|entry| format!("runs/{name}/{}", entry.file_name().to_string_lossy()))
            .collect();
        names.sort();
        names
    }

    /// The records of the run in `folder`.
    pub(crate) fn records(&self, folder: &str) -> Vec<Value> {
        let text = self.read(&format!("{folder}/metrics.jsonl"));
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The records without the time that they took.
    pub(crate) fn results(&self, folder: &str) -> Vec<Value> {
        let mut records = self.records(folder);
        for record in &mut records {
            record
                .as_object_mut()
                .unwrap()
                .shift_remove("wall_seconds")
                .unwrap();
        }
        records
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }
}

/// The keys of an object in their order.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}
