//! Every experiment of the papers can be planned. Where files must be brought by hand, their published figures are
//! used.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use meshfold_data::{DataFolder, Partitioner};
use meshfold_engine::Device;
use meshfold_experiment::{ConfigError, ExperimentSource, RunPlan, plan, plan_without_data};
use meshfold_test_needs::{data_folder, test};
use rayon::prelude::*;

fn main() -> ExitCode {
    meshfold_test_needs::run(vec![
        test!(every_experiment_is_planned).needs_data(&DATASETS),
        test!(every_experiment_is_planned_by_what_is_published_of_its_data),
        test!(halves_of_the_normal_recording_are_dealt_as_figure_14_deals_all),
        test!(a_stack_of_every_writer_of_femnist_is_known_without_the_data),
    ])
}

/// Whose files the experiments read, but for those that a person has to bring.
const DATASETS: [&str; 6] = [
    "mnist",
    "fashion-mnist",
    "qmnist-writers",
    "cifar10",
    "cwru",
    "shakespeare",
];

fn experiments() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

/// The YAML files of experiments below `folder`; `churn.yaml` and `rows.yaml` are no experiments.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|kind| kind == "yaml") {
            found.push(path);
        }
    }
    found.retain(|path| {
        !["churn.yaml", "rows.yaml"]
            .iter()
            .any(|name| path.ends_with(name))
    });
    found.sort();
    found
}

/// The runs of the experiment in `file` by what is published of its data where that is missing, or why there are none.
fn published(file: &Path, data: &DataFolder) -> Result<Vec<RunPlan>, ConfigError> {
    let device = Device::cpu().unwrap();
    let source = ExperimentSource::read(file).unwrap();
    plan_without_data(&device, &source, data)
}

/// Whether the experiment is right, though the machine has less memory than it needs.
fn is_too_large(error: &ConfigError) -> bool {
    error.to_string().contains("needs about")
}

fn every_experiment_is_planned() {
    let data = DataFolder::new(data_folder());
    let waiting = [
        // Files that a person has to bring.
        "NORMAL_1.mat not found",
        "RC_2017-11 not found",
        "femnist: train/*.json not found",
        "leukemia_a2: dataset_A2_RMA.txt not found",
    ];
    // Reading the datasets takes nearly all of the time.
    let is_planned = |file: &PathBuf| {
        let source = ExperimentSource::read(file).unwrap();
        let Err(error) = plan(&source, &data) else {
            return true;
        };
        let message = error.to_string();
        let waits = waiting.iter().any(|words| message.contains(words));
        let fits = waits || is_too_large(&error);
        assert!(fits, "{}: {error}", file.display());
        !waits
    };
    let files = files(&experiments());
    let planned = files.par_iter().filter(|file| is_planned(file)).count();
    let waiting_files = files.len() - planned;
    println!("{planned} planned, {waiting_files} wait for their dataset");
    assert!(planned >= 60, "{planned} of the experiments are planned");
}

fn every_experiment_is_planned_by_what_is_published_of_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = DataFolder::new(folder.path());
    for file in files(&experiments()) {
        match published(&file, &nothing) {
            Ok(plans) => {
                let told = |plan: &RunPlan| {
                    let told = plan
                        .warnings
                        .iter()
                        .any(|text| text.contains("published figures"));
                    told || plan.config.dataset.published().unwrap().is_none()
                };
                assert!(plans.iter().all(told), "{}", file.display());
            }
            // A user's own months of Reddit.
            Err(error) if error.to_string().contains("RC_2006-01 not found") => {}
            Err(error) if is_too_large(&error) => {}
            Err(error) => panic!("{}: {error}", file.display()),
        }
    }
}

/// The counts of windows of the runs of an experiment of DeceFL, each once, `[N][C]`.
fn counts(name: &str) -> Vec<Vec<Vec<u32>>> {
    let folder = tempfile::tempdir().unwrap();
    let file = experiments().join("decefl").join(name);
    let plans = published(&file, &DataFolder::new(folder.path())).unwrap();
    let mut counts: Vec<Vec<Vec<u32>>> = Vec::new();
    for plan in plans {
        let Partitioner::Explicit(explicit) = plan.config.partition else {
            panic!("{name}: other partitions than explicit ones")
        };
        counts.extend(explicit.counts.filter(|found| !counts.contains(found)));
    }
    counts
}

fn halves_of_the_normal_recording_are_dealt_as_figure_14_deals_all() {
    for classes in [4, 10] {
        let all = counts(&format!("cwru-{classes}-non-iid.yaml"));
        let halves = counts(&format!("cwru-{classes}-non-iid-halves.yaml"));
        let nodes = |counts: &[Vec<Vec<u32>>]| counts.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(
            (nodes(&all), nodes(&halves)),
            (vec![4, 8, 16], vec![4, 8, 16])
        );
        for (all, halves) in all.iter().zip(&halves) {
            assert_eq!(halves.iter().map(|node| node[0]).sum::<u32>(), 400);
            for (all, halves) in all.iter().zip(halves) {
                assert_eq!(all[1..], halves[1..]);
                assert!((f64::from(halves[0]) - f64::from(all[0]) / 3.0).abs() < 1.0);
            }
        }
    }
}

fn a_stack_of_every_writer_of_femnist_is_known_without_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = DataFolder::new(folder.path());
    let file = experiments().join("p-fedavg/rivals-femnist.yaml");
    // P-FedAvg's Table V on DPSGD: a stack of 3,550 models of 26.4 MB.
    if let Err(error) = published(&file, &nothing) {
        let said = error.to_string();
        let start = "a run of 3550 rows with 6603710 parameters needs about ";
        assert!(said.starts_with(start), "{said}");
    }
    let source = ExperimentSource::read(&file).unwrap().with_overrides([
        "sweep=null".to_owned(),
        "algorithm={fedavg: {participation: {clients: 36}, local: {steps: 20}, batch_size: 32, learning_rate: 0.05}}"
            .to_owned(),
    ]);
    let device = Device::cpu().unwrap();
    let plans = plan_without_data(&device, &source, &nothing);
    let plan = plans.unwrap().remove(0);
    assert_eq!((plan.clients, plan.rows.count), (3550, 1));
    assert_eq!(plan.parameters, 6_603_710);
    let sizes = plan.partition.sizes();
    // Nine tenths of 805,263 images in 3,550 shares.
    assert!(sizes.iter().all(|size| [204, 205].contains(size)));
}
