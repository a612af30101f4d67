//! Runs of small experiments with parts of a program's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use meshfold::Own;
use meshfold::data::DataFolder;
use meshfold::engine::Device;
use meshfold_experiment::{
    ConfigError, ExperimentSource, Observer, Record, RunOptions, RunPlan, plan, run,
};
use tempfile::TempDir;

/// An experiment without an algorithm and an overlay.
pub(crate) const BASE: &str = "\
name: own
dataset: {glyphs: {train: 400, test: 100}}
partition: {shards: {clients: 8}}
model: logistic
rounds: 6
evaluate: {every: 2, examples: 50}
checkpoint: {every: 2}
";

/// The runs of `BASE` with `more`, whose program has `own`.
pub(crate) fn planned(own: &Own, more: &str) -> Result<Vec<RunPlan>, ConfigError> {
    let source = ExperimentSource::new("own.yaml", format!("{BASE}{more}"));
    plan(&source.with_own(own.clone()), &DataFolder::new("unused"))
}

/// Stops a run at a record.
struct StopAt<'a> {
    round: usize,
    stop: &'a AtomicBool,
}

impl Observer for StopAt<'_> {
    fn record(&mut self, record: &Record) {
        if record.round >= self.round {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Carries the run out on the processor, up to the record of round `until`, and returns the run's folder.
pub(crate) fn carried_out(plan: &RunPlan, results: &Path, until: usize) -> PathBuf {
    carried_out_on(Device::cpu().unwrap(), plan, results, until)
}

/// Carries the run out on `device`, up to the record of round `until`, and returns the run's folder.
pub(crate) fn carried_out_on(
    device: Device,
    plan: &RunPlan,
    results: &Path,
    until: usize,
) -> PathBuf {
    let options = RunOptions {
        device,
        results: results.to_owned(),
        again: false,
        commit: None,
    };
    let examples = plan
        .config
        .dataset
        .load(&DataFolder::new("unused"))
        .unwrap();
    let stop = AtomicBool::new(false);
    let mut observer = StopAt {
        round: until,
        stop: &stop,
    };
    run(plan, &examples, &options, &stop, &mut observer)
        .unwrap()
        .folder
}

/// The records of a run without what depends on the clock.
pub(crate) fn records(folder: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let record = |line: &str| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        let fields = record.as_object_mut().unwrap();
        fields.retain(|key, _| !key.contains("wall") && !key.contains("seconds"));
        record
    };
    text.lines().map(record).collect()
}

/// The records of the only run of `BASE` with `more`.
pub(crate) fn records_of(own: &Own, more: &str) -> Vec<serde_json::Value> {
    let results = TempDir::new().unwrap();
    let plans = planned(own, more).unwrap();
    records(&carried_out(&plans[0], results.path(), usize::MAX))
}
