//! A tiny experiment, and what the tests read of its runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use meshfold_data::{DataFolder, Splits};
use meshfold_engine::{Device, DeviceRequest};
use meshfold_experiment::{
    ExperimentSource, Observer, Record, Resumed, RoundProgress, RunOptions, RunPlan, RunReport,
    plan, plan_without_data, read_records, run,
};
use tempfile::TempDir;

pub(crate) const YAML: &str = "
name: tiny
dataset: {glyphs: {train: 240, test: 60}}
partition: {shards: {clients: 6}}
topology: ring
model: {mlp: {hidden: [8]}}
algorithm: {dfedavgm: {local: {steps: 3}, batch_size: 7, learning_rate: 0.1}}
rounds: 7
evaluate: {targets: [0.01, 1.0]}
";

/// Why the settings of a test with `overrides` cannot be planned.
pub(crate) fn refusal(overrides: &[&str]) -> String {
    let device = Device::open(DeviceRequest::Cpu, Some(1), None).unwrap();
    let source = ExperimentSource::new("tiny.yaml", YAML);
    let source = source.with_overrides(overrides.iter().copied());
    let planned = plan_without_data(&device, &source, &DataFolder::new("unused"));
    planned.unwrap_err().to_string()
}

/// The settings of a test: YAML with overrides, and where it writes.
pub(crate) struct Case {
    pub(crate) plan: RunPlan,
    pub(crate) data: Splits,
    pub(crate) results: TempDir,
}

impl Case {
    pub(crate) fn new(overrides: &[&str]) -> Self {
        Self::with_data(Path::new("unused"), overrides)
    }

    /// With datasets in `folder`.
    pub(crate) fn with_data(folder: &Path, overrides: &[&str]) -> Self {
        let folder = DataFolder::new(folder);
        let source =
            ExperimentSource::new("tiny.yaml", YAML).with_overrides(overrides.iter().copied());
        let plan = plan(&source, &folder).unwrap().remove(0);
        let data = plan.config.dataset.load(&folder).unwrap();
        Self {
            plan,
            data,
            results: tempfile::tempdir().unwrap(),
        }
    }

    /// The same case, which writes where `other` does.
    pub(crate) fn beside(self, other: Self) -> Self {
        Self {
            results: other.results,
            ..self
        }
    }

    /// The folder of the run.
    pub(crate) fn folder(&self) -> PathBuf {
        self.results.path().join("tiny").join(&self.plan.id)
    }

    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            device: Device::open(DeviceRequest::Cpu, Some(1), None).unwrap(),
            results: self.results.path().to_owned(),
            again: false,
            commit: Some("0123abcd".to_owned()),
        }
    }

    pub(crate) fn run_with(&self, options: &RunOptions) -> RunReport {
        run(
            &self.plan,
            &self.data,
            options,
            &AtomicBool::new(false),
            &mut (),
        )
        .unwrap()
    }

    pub(crate) fn run(&self) -> RunReport {
        self.run_with(&self.options())
    }

    /// Runs to the end, watched by `observer`.
    pub(crate) fn run_watched(&self, observer: &mut dyn Observer) -> RunReport {
        let stop = AtomicBool::new(false);
        run(&self.plan, &self.data, &self.options(), &stop, observer).unwrap()
    }

    /// The same case with the files that a process leaves that is killed in `round`.
    pub(crate) fn killed_in(self, round: usize) -> Self {
        let left = tempfile::tempdir().unwrap();
        let mut witness = Witness {
            round,
            from: self.folder(),
            to: left.path().join("tiny").join(&self.plan.id),
        };
        let claim = witness.to.join("claim-1.json");
        self.run_watched(&mut witness);
        // Beyond the highest number of a process: this one still lives.
        let text = fs::read_to_string(&claim).unwrap();
        let mut killed: serde_json::Value = serde_json::from_str(&text).unwrap();
        killed["pid"] = (1 << 23).into();
        fs::write(claim, killed.to_string()).unwrap();
        Self {
            results: left,
            ..self
        }
    }

    /// Runs until `round` is done and then asks to stop.
    pub(crate) fn run_until(&self, round: usize) -> RunReport {
        let stop = AtomicBool::new(false);
        let mut stopper = Stopper { round, stop: &stop };
        run(&self.plan, &self.data, &self.options(), &stop, &mut stopper).unwrap()
    }
}

struct Stopper<'a> {
    round: usize,
    stop: &'a AtomicBool,
}

impl Observer for Stopper<'_> {
    fn round(&mut self, progress: &RoundProgress) {
        self.stop
            .store(progress.round >= self.round, Ordering::Relaxed);
    }
}

/// Copies the folder of a run while it goes on.
struct Witness {
    round: usize,
    from: PathBuf,
    to: PathBuf,
}

impl Observer for Witness {
    fn round(&mut self, progress: &RoundProgress) {
        if progress.round == self.round {
            copy_files(&self.from, &self.to);
        }
    }
}

/// Makes `to` a folder with the files of `from` and no others.
pub(crate) fn copy_files(from: &Path, to: &Path) {
    fs::remove_dir_all(to).ok();
    fs::create_dir_all(to).unwrap();
    for name in files(from) {
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

/// Notes what it is told.
#[derive(Default)]
pub(crate) struct Notes(pub(crate) Vec<String>);

impl Observer for Notes {
    fn started(&mut self, plan: &RunPlan) {
        self.0.push(format!("started {}", plan.label()));
    }
    fn preparing(&mut self, what: &str) {
        self.0.push(format!("looks for {what}"));
    }
    fn resumed(&mut self, from: &Resumed) {
        let of = from
            .shorter
            .as_ref()
            .map(|shorter| format!(" of {shorter}"));
        let (round, of) = (from.round, of.unwrap_or_default());
        self.0.push(format!("resumed {round}{of}"));
    }
    fn round(&mut self, progress: &RoundProgress) {
        self.0.push(format!(
            "round {} of {}, {} steps",
            progress.round, progress.rounds, progress.local_steps
        ));
    }
    fn record(&mut self, record: &Record) {
        self.0.push(format!("record {}", record.round));
    }
}

pub(crate) fn records(report: &RunReport) -> Vec<Record> {
    read_records(&report.folder.join("metrics.jsonl")).unwrap()
}

/// The records' lines without the one figure that is measured.
pub(crate) fn timeless(report: &RunReport) -> Vec<String> {
    let timeless = |record| Record {
        wall_seconds: 0.0,
        ..record
    };
    records(report)
        .into_iter()
        .map(|record| serde_json::to_string(&timeless(record)).unwrap())
        .collect()
}

/// The records without their time, and the table of clients.
pub(crate) fn results(report: &RunReport) -> (Vec<String>, Vec<u8>) {
    let table = fs::read(report.folder.join("clients.parquet")).unwrap();
    (timeless(report), table)
}

pub(crate) fn files(folder: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

pub(crate) fn rounds(report: &RunReport) -> Vec<usize> {
    records(report).iter().map(|record| record.round).collect()
}
