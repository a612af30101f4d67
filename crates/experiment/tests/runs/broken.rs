//! Runs whose folders or files fail, and runs that were damaged after they were finished.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use meshfold_data::{DataFolder, Splits};
use meshfold_engine::{Device, DeviceRequest};
use meshfold_experiment::{
    Ending, ExperimentSource, Observer, RunError, RunHost, RunOptions, RunPlan, RunReport, plan,
    run_all,
};
use tempfile::TempDir;

use crate::tiny::{YAML, timeless};

/// A sweep of three seeds.
struct Sweep {
    plans: Vec<RunPlan>,
    results: TempDir,
    /// The runs that have ended, in the order in which they did.
    ended: Mutex<Vec<usize>>,
}

impl RunHost for Sweep {
    type Error = RunError;

    fn data(&self, index: usize, _next: usize) -> Result<Splits, RunError> {
        let dataset = &self.plans[index].config.dataset;
        Ok(dataset.load(&DataFolder::new("unused")).unwrap())
    }

    fn observer(&self, _index: usize) -> Box<dyn Observer + '_> {
        Box::new(())
    }

    fn ended(&self, index: usize, _report: &RunReport, _took: Duration) -> Result<(), RunError> {
        self.ended.lock().unwrap().push(index);
        Ok(())
    }
}

impl Sweep {
    fn new() -> Self {
        let sweep = format!("{YAML}sweep: {{grid: {{seed: [3, 1, 2]}}}}\n");
        let source = ExperimentSource::new("sweep.yaml", sweep);
        Self {
            plans: plan(&source, &DataFolder::new("unused")).unwrap(),
            results: tempfile::tempdir().unwrap(),
            ended: Mutex::default(),
        }
    }

    /// The folder of a run.
    fn folder(&self, index: usize) -> PathBuf {
        let results = self.results.path();
        results.join("tiny").join(&self.plans[index].id)
    }

    fn run_in(&self, results: &Path) -> Result<Vec<RunReport>, RunError> {
        let options = RunOptions {
            device: Device::open(DeviceRequest::Cpu, Some(1), None).unwrap(),
            results: results.to_owned(),
            again: false,
            commit: None,
        };
        run_all(&self.plans, &options, 1, &AtomicBool::new(false), self)
    }

    fn run(&self) -> Vec<RunReport> {
        self.run_in(self.results.path()).unwrap()
    }
}

#[test]
fn a_run_that_cannot_be_written_costs_no_other_run() {
    for in_the_way in [
        "metrics.jsonl",
        "clients.spool",
        "config.yaml",
        "overlay.json",
        "DONE",
    ] {
        let sweep = Sweep::new();
        fs::create_dir_all(sweep.folder(1).join(in_the_way).join("inside")).unwrap();
        let reports = sweep.run();
        let Ending::Failed { error } = &reports[1].ending else {
            panic!("{in_the_way}: {:?}", reports[1].ending)
        };
        assert!(error.to_string().contains(in_the_way), "{error}");
        assert_eq!(reports[1].folder, sweep.folder(1));
        for other in [0, 2] {
            assert!(
                matches!(reports[other].ending, Ending::Finished),
                "{in_the_way}"
            );
        }
        assert_eq!(*sweep.ended.lock().unwrap(), [0, 1, 2]);
    }
}

#[test]
fn a_run_whose_folder_cannot_be_made_costs_no_other_run() {
    let sweep = Sweep::new();
    fs::create_dir_all(sweep.folder(0).parent().unwrap()).unwrap();
    fs::write(sweep.folder(0), "a file where the folder should be").unwrap();
    let reports = sweep.run();
    assert!(matches!(
        reports[0].ending,
        Ending::Failed {
            error: RunError::Folder { .. }
        }
    ));
    assert!(
        reports[1..]
            .iter()
            .all(|report| matches!(report.ending, Ending::Finished))
    );
}

#[test]
fn results_that_cannot_be_written_at_all_are_refused_before_any_run() {
    let sweep = Sweep::new();
    let taken = sweep.results.path().join("taken");
    fs::write(&taken, "no folder").unwrap();
    let refused = sweep.run_in(&taken);
    assert!(
        matches!(refused, Err(RunError::Folder { .. })),
        "{refused:?}"
    );
    assert!(sweep.ended.lock().unwrap().is_empty());
}

#[test]
fn a_finished_run_that_was_damaged_is_told_apart_and_costs_no_other_run() {
    let sweep = Sweep::new();
    let first = sweep.run();
    let expected = timeless(&first[0]);
    for file in [
        "config.yaml",
        "environment.json",
        "metrics.jsonl",
        "clients.parquet",
        "overlay.json",
        "overlay.edges",
        "partition.csv",
        "summary.json",
    ] {
        let path = sweep.folder(1).join(file);
        let whole = fs::read(&path).unwrap();
        let spoilt: [Option<&[u8]>; 3] = [None, Some(b""), Some(&whole[..whole.len() / 2])];
        for content in spoilt {
            match content {
                Some(content) => fs::write(&path, content).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let reports = sweep.run();
            let Ending::Damaged { problem } = &reports[1].ending else {
                panic!("{file}: {:?}", reports[1].ending)
            };
            assert!(
                problem.contains(file) && problem.contains("--again"),
                "{problem}"
            );
            for other in [0, 2] {
                let ending = &reports[other].ending;
                assert!(
                    matches!(ending, Ending::Skipped { .. }),
                    "{file}: {ending:?}"
                );
            }
            assert_eq!(timeless(&reports[0]), expected);
        }
        fs::write(&path, whole).unwrap();
    }
    let reports = sweep.run();
    assert!(
        reports
            .iter()
            .all(|report| matches!(report.ending, Ending::Skipped { .. }))
    );
}

/// What can be read as well as before is told apart by the digests in `DONE`.
#[test]
fn an_altered_number_of_a_finished_run_is_noticed() {
    let sweep = Sweep::new();
    sweep.run();
    let flip = |bytes: &[u8], place: usize| {
        let mut bytes = bytes.to_vec();
        bytes[place] ^= 1;
        bytes
    };
    let without_the_second_line = |bytes: &[u8]| {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
        let kept = lines.filter(|(number, _)| *number != 1);
        kept.flat_map(|(_, line)| line.to_vec()).collect::<Vec<_>>()
    };
    for (file, harm) in [
        ("metrics.jsonl", 0),
        ("clients.parquet", 1),
        ("overlay.edges", 0),
        ("DONE", 2),
    ] {
        let path = sweep.folder(1).join(file);
        let whole = fs::read(&path).unwrap();
        let spoilt = match harm {
            0 => without_the_second_line(&whole),
            1 => flip(&whole, 40),
            _ => Vec::new(),
        };
        fs::write(&path, spoilt).unwrap();
        let reports = sweep.run();
        let Ending::Damaged { problem } = &reports[1].ending else {
            panic!("{file}: {:?}", reports[1].ending)
        };
        assert!(
            problem.contains(file) && problem.contains("--again"),
            "{problem}"
        );
        fs::write(&path, whole).unwrap();
    }
    let sealed = fs::read_to_string(sweep.folder(1).join("DONE")).unwrap();
    let mut earlier: serde_json::Value = serde_json::from_str(&sealed).unwrap();
    assert_eq!(earlier["sha256"].as_object().unwrap().len(), 8);
    // Versions that took no digests vouch for nothing.
    earlier.as_object_mut().unwrap().remove("sha256");
    fs::write(sweep.folder(1).join("DONE"), earlier.to_string()).unwrap();
    let reports = sweep.run();
    assert!(
        matches!(reports[1].ending, Ending::Skipped { .. }),
        "{:?}",
        reports[1].ending
    );
}

#[test]
fn a_folder_with_the_configuration_of_another_run_is_damaged() {
    let sweep = Sweep::new();
    sweep.run();
    fs::copy(
        sweep.folder(0).join("config.yaml"),
        sweep.folder(1).join("config.yaml"),
    )
    .unwrap();
    let reports = sweep.run();
    let Ending::Damaged { problem } = &reports[1].ending else {
        panic!("{:?}", reports[1].ending)
    };
    assert!(problem.contains("config.yaml"), "{problem}");
}

#[test]
fn the_order_of_a_sweep_is_noted_beside_its_runs() {
    let sweep = Sweep::new();
    sweep.run();
    let noted = fs::read(sweep.results.path().join("tiny/sweep.json")).unwrap();
    let noted: serde_json::Value = serde_json::from_slice(&noted).unwrap();
    let ids: Vec<&str> = sweep.plans.iter().map(|plan| plan.id.as_str()).collect();
    assert_eq!(noted["runs"], serde_json::json!(ids));
}
