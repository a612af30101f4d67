//! One rank of each machine reads: labels and owners while runs are planned, examples when one begins.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use meshfold_data::{
    DataError, DataFolder, DatasetSummary, Examples, OwnDataset, Scale, Shape, Splits,
};
use meshfold_engine::{Device, DeviceRequest, Ranks};
use meshfold_experiment::{
    ConfigError, ExperimentSource, Own, RunPlan, expect_same_plans, plan_on,
};
use serde::{Deserialize, Serialize};

/// Who counts reads the datasets one after another.
static COUNTING: Mutex<()> = Mutex::new(());
static SUMMARIES: AtomicUsize = AtomicUsize::new(0);

/// Examples of four classes, which are counted when they are read.
#[derive(Serialize, Deserialize)]
struct Counted {
    examples: usize,
    /// Whether there are none to read.
    #[serde(default)]
    is_missing: bool,
}

impl OwnDataset for Counted {
    fn load(&self, _folder: &DataFolder) -> Result<Splits, DataError> {
        let of = |count: usize| {
            let labels = (0..count).map(|e| (e % 4) as u16).collect();
            let bytes = (0..3 * count).map(|byte| byte as u8).collect();
            Examples::new(bytes, labels, Shape::flat(3), 4, Scale::UNIT).map(Arc::new)
        };
        Ok(Splits {
            train: of(self.examples)?,
            test: of(10)?,
            validation: None,
        })
    }

    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        SUMMARIES.fetch_add(1, Ordering::Relaxed);
        match self.is_missing {
            true => Err(DataError::Own {
                reason: "there is nothing to read".to_owned(),
            }),
            false => Ok(DatasetSummary::of(&self.load(folder)?)),
        }
    }
}

/// An experiment of two datasets.
fn text(first: &str) -> String {
    format!(
        "name: counted\ndataset: {{own: {{name: counted, examples: 60}}}}\npartition: {{iid: {{clients: 6}}}}\n\
         topology: ring\nmodel: logistic\nalgorithm: {{dsgd: {{batch_size: 5, learning_rate: 0.1}}}}\nrounds: 1\n\
         sweep:\n  grid:\n    dataset: [{{own: {{name: counted, {first}}}}}, {{own: {{name: counted, examples: 80}}}}]\n\
         \x20   seed: [1, 2]\n"
    )
}

/// What a rank plans, and whether all have planned the same.
type Planned = (Result<Vec<RunPlan>, ConfigError>, Result<(), usize>);

/// What each of the ranks on `machines` plans of its text.
fn planned(machines: &[usize], texts: &[String]) -> Vec<Planned> {
    let own = Own::default().dataset::<Counted>("counted");
    thread::scope(|scope| {
        let of = |(ranks, text): (Ranks, &String)| {
            let source = ExperimentSource::new("counted.yaml", text.clone()).with_own(own.clone());
            move || {
                let device = Device::over_ranks(ranks, DeviceRequest::Cpu, Some(1), None).unwrap();
                let plans = plan_on(&device, &source, &DataFolder::new("unused"));
                let same = expect_same_plans(&device, plans.as_ref().ok().map(Vec::as_slice));
                (plans, same)
            }
        };
        let ranks = Ranks::on_machines(machines).into_iter().zip(texts);
        let threads: Vec<_> = ranks.map(|ranks| scope.spawn(of(ranks))).collect();
        let ends = threads.into_iter().map(|thread| thread.join().unwrap());
        ends.collect()
    })
}

#[test]
fn a_machine_reads_each_dataset_once_for_all_its_plans() {
    let _counting = COUNTING.lock();
    for (machines, readers) in [
        (vec![0, 0, 0], 1),
        (vec![0, 1, 0, 1, 1], 2),
        (vec![2, 1, 0], 3),
    ] {
        SUMMARIES.store(0, Ordering::Relaxed);
        let texts = vec![text("examples: 60"); machines.len()];
        let ends = planned(&machines, &texts);
        let first = ends[0].0.as_ref().unwrap();
        for (plans, same) in &ends {
            assert_eq!(*same, Ok(()));
            for (plan, of_first) in plans.as_ref().unwrap().iter().zip(first) {
                assert_eq!(plan.dataset.digest(), of_first.dataset.digest());
                assert_eq!(plan.partition.digest(), of_first.partition.digest());
            }
        }
        // Two datasets, each of two runs.
        let read = SUMMARIES.load(Ordering::Relaxed);
        assert_eq!(read, 2 * readers, "on machines {machines:?}");
    }
}

#[test]
fn a_dataset_that_cannot_be_read_is_told_of_on_all_ranks() {
    let _counting = COUNTING.lock();
    let texts = vec![text("examples: 60, is_missing: true"); 3];
    for (plans, same) in planned(&[0, 0, 1], &texts) {
        let error = plans.unwrap_err().to_string();
        assert!(error.contains("there is nothing to read"), "{error}");
        assert_eq!(same, Err(0));
    }
}

#[test]
fn ranks_that_read_other_datasets_end_without_waiting_for_each_other() {
    let _counting = COUNTING.lock();
    for other in [
        "examples: 61",
        "examples: 60, is_missing: true",
        "examples: no",
    ] {
        let texts = [text("examples: 60"), text("examples: 60"), text(other)];
        for (rank, (plans, same)) in planned(&[0, 0, 1], &texts).into_iter().enumerate() {
            assert_eq!(same, Err(2), "{other}");
            let error = plans.unwrap_err().to_string();
            let told = "rank 2 has planned other runs than rank 0";
            assert!(rank == 2 || error.contains(told), "{error}");
        }
    }
}
