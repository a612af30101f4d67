//! Runs of a sweep at the same time.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use meshfold_data::{DataFolder, Splits};
use meshfold_engine::{Device, DeviceRequest};
use meshfold_experiment::results::Claim;
use meshfold_experiment::{
    Ending, ExperimentSource, Observer, RunError, RunHost, RunOptions, RunPlan, RunReport, plan,
    run, run_all,
};
use tempfile::TempDir;

use crate::tiny::{self, YAML};

/// Runs that differ in method, overlay and seed.
const SWEEP: &str = "
sweep:
  cases:
    - {}
    - {augment: {crop_padding: 4, horizontal_flip: true}}
    - {topology: complete, failures: [{clients: {share: 0.2}, from_round: 2}]}
    - {algorithm: {dfedrw: {walkers: 3, hops: 3, batch_size: 7, learning_rate: 0.1}}}
    - {algorithm: {fedavg: {participation: {clients: 2}, batch_size: 7, learning_rate: 0.1}}, topology: null}
  grid: {seed: [1, 2]}
";

fn plans() -> Vec<RunPlan> {
    let source = ExperimentSource::new("sweep.yaml", format!("{YAML}{SWEEP}"));
    plan(&source, &DataFolder::new("unused")).unwrap()
}

fn options(results: &TempDir, threads: usize) -> RunOptions {
    RunOptions {
        device: Device::open(DeviceRequest::Cpu, Some(threads), None).unwrap(),
        results: results.path().to_owned(),
        again: false,
        commit: None,
    }
}

/// Counts the runs that go on, and may ask that several do.
#[derive(Default)]
struct Counting {
    plans: Vec<RunPlan>,
    ended: Mutex<BTreeSet<usize>>,
    active: Mutex<usize>,
    most: AtomicUsize,
    changed: Condvar,
    /// How many runs wait for one another when they start.
    gathers: usize,
}

struct Started<'a>(&'a Counting);

impl Observer for Started<'_> {
    fn started(&mut self, _plan: &RunPlan) {
        let counting = self.0;
        let mut active = counting.active.lock().unwrap();
        *active += 1;
        counting.most.fetch_max(*active, Ordering::Relaxed);
        counting.changed.notify_all();
        let patience = Duration::from_secs(30);
        let alone = |_: &mut usize| counting.most.load(Ordering::Relaxed) < counting.gathers;
        drop(
            counting
                .changed
                .wait_timeout_while(active, patience, alone)
                .unwrap(),
        );
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        *self.0.active.lock().unwrap() -= 1;
    }
}

impl RunHost for Counting {
    type Error = RunError;

    fn data(&self, index: usize, _next: usize) -> Result<Splits, RunError> {
        let dataset = &self.plans[index].config.dataset;
        Ok(dataset.load(&DataFolder::new("unused")).unwrap())
    }

    fn observer(&self, _index: usize) -> Box<dyn Observer + '_> {
        Box::new(Started(self))
    }

    fn ended(&self, index: usize, _report: &RunReport, _took: Duration) -> Result<(), RunError> {
        self.ended.lock().unwrap().insert(index);
        Ok(())
    }
}

#[test]
fn runs_at_the_same_time_have_the_bits_of_runs_alone() {
    let plans = plans();
    let alone = tempfile::tempdir().unwrap();
    let one_by_one = options(&alone, 1);
    let expected: Vec<_> = plans
        .iter()
        .map(|plan| {
            let data = plan
                .config
                .dataset
                .load(&DataFolder::new("unused"))
                .unwrap();
            tiny::results(&run(plan, &data, &one_by_one, &AtomicBool::new(false), &mut ()).unwrap())
        })
        .collect();
    for (threads, at_once) in [(1, 1), (2, 2), (3, 2), (4, 100)] {
        let results = tempfile::tempdir().unwrap();
        let host = Counting {
            plans: plans.clone(),
            gathers: at_once.min(threads),
            ..Counting::default()
        };
        let (stop, options) = (AtomicBool::new(false), options(&results, threads));
        let reports = run_all(&plans, &options, at_once, &stop, &host).unwrap();
        assert_eq!(host.most.into_inner(), at_once.min(threads));
        assert_eq!(host.ended.into_inner().unwrap().len(), plans.len());
        let ids: Vec<&str> = reports.iter().map(|report| report.id.as_str()).collect();
        assert!(ids.iter().eq(plans.iter().map(|plan| &plan.id)));
        let found: Vec<_> = reports.iter().map(tiny::results).collect();
        assert!(found == expected, "{threads} threads, {at_once} at once");
    }
}

#[test]
fn after_a_stop_no_run_begins() {
    let (plans, results) = (plans(), tempfile::tempdir().unwrap());
    let host = Counting {
        plans: plans.clone(),
        ..Counting::default()
    };
    let options = options(&results, 2);
    let stopped = AtomicBool::new(true);
    assert!(
        run_all(&plans, &options, 2, &stopped, &host)
            .unwrap()
            .is_empty()
    );
    let reports = run_all(&plans, &options, 2, &AtomicBool::new(false), &host).unwrap();
    let is_finished = |report: &RunReport| matches!(report.ending, Ending::Finished);
    assert!(reports.len() == plans.len() && reports.iter().all(is_finished));
    let again = run_all(&plans, &options, 2, &AtomicBool::new(false), &host).unwrap();
    let is_skipped = |report: &RunReport| matches!(report.ending, Ending::Skipped { .. });
    assert!(again.iter().all(is_skipped));
}

#[test]
fn a_run_that_another_process_has_is_left_to_it_and_the_others_go_on() {
    let (plans, results) = (plans(), tempfile::tempdir().unwrap());
    let folder = results.path().join("tiny").join(&plans[1].id);
    fs::create_dir_all(&folder).unwrap();
    let taken = Claim::take(&folder).unwrap();
    let run_all = || {
        let host = Counting {
            plans: plans.clone(),
            ..Counting::default()
        };
        run_all(
            &plans,
            &options(&results, 2),
            2,
            &AtomicBool::new(false),
            &host,
        )
        .unwrap()
    };
    let reports = run_all();
    assert_eq!(reports.len(), plans.len());
    for (index, report) in reports.iter().enumerate() {
        match index {
            1 => assert!(
                matches!(report.ending, Ending::Elsewhere),
                "{:?}",
                report.ending
            ),
            _ => assert!(
                matches!(report.ending, Ending::Finished),
                "{:?}",
                report.ending
            ),
        }
    }
    assert!(!folder.join("metrics.jsonl").exists());
    // The other process ends without having carried it out.
    drop(taken);
    assert!(matches!(run_all()[1].ending, Ending::Finished));
}
