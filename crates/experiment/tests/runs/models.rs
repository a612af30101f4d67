//! Trained models are taken out of runs, and others start from them.

use std::fs;
use std::path::Path;

use meshfold_data::DataFolder;
use meshfold_experiment::results::{ModelsError, TrainedModels};
use meshfold_experiment::{Ending, ExperimentSource, RunError, plan};
use safetensors::SafeTensors;

use crate::tiny::{Case, YAML, results};

const KEPT: &str = "checkpoint={keep: true}";

/// A finished run that kept its models, and these in a file.
fn trained(overrides: &[&str]) -> (Case, TrainedModels, std::path::PathBuf) {
    let case = Case::new(&[overrides, &[KEPT]].concat());
    case.run();
    let models = TrainedModels::of(&case.folder()).unwrap();
    let file = case.results.path().join("models.safetensors");
    models.write(&file).unwrap();
    (case, models, file)
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    let numbers = bytes.as_chunks::<4>().0.iter();
    numbers.map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn start(file: &Path) -> String {
    format!("start={{models: {{file: {}}}}}", file.display())
}

#[test]
fn a_file_of_models_has_the_parameters_of_every_row_by_name() {
    let (case, models, file) = trained(&[]);
    assert_eq!((models.round, models.models.rows()), (7, 6));
    let bytes = fs::read(&file).unwrap();
    for _ in 0..8 {
        models.write(&file).unwrap();
        assert!(
            fs::read(&file).unwrap() == bytes,
            "the same models, other bytes"
        );
    }
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let shapes: Vec<(String, Vec<usize>)> = case
        .plan
        .model
        .layout()
        .blocks()
        .iter()
        .map(|block| (block.name.clone(), vec![6, block.inputs, block.outputs]))
        .collect();
    assert_eq!(tensors.len(), shapes.len());
    let rows = models.models.to_host();
    for (place, (name, shape)) in shapes.iter().enumerate() {
        let tensor = tensors.tensor(name).unwrap();
        assert_eq!(tensor.shape(), shape);
        let range = models.models.layout().blocks()[place].range();
        let each = rows.chunks_exact(models.models.layout().width());
        let values: Vec<f32> = each.flat_map(|row| row[range.clone()].to_vec()).collect();
        assert_eq!(numbers(tensor.data()), values, "{name}");
    }
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let about = metadata.metadata().clone().unwrap();
    assert_eq!(
        (about["run"].as_str(), about["round"].as_str()),
        (case.plan.id.as_str(), "7")
    );
    let mean = models.mean().models;
    let column: f32 = rows.iter().step_by(mean.layout().width()).sum();
    assert_eq!(mean.rows(), 1);
    assert!((mean.to_host()[0] - column / 6.0).abs() < 1e-6);
}

#[test]
fn an_interrupted_run_has_the_models_of_its_checkpoint() {
    let case = Case::new(&["checkpoint={}"]);
    assert_eq!(case.run_until(2).checkpoint, Some(2));
    assert_eq!(TrainedModels::of(&case.folder()).unwrap().round, 2);
    assert!(matches!(case.run().ending, Ending::Finished));
    let none = TrainedModels::of(&case.folder()).unwrap_err();
    assert!(matches!(none, ModelsError::NoCheckpoint { .. }));
    assert!(
        none.to_string().contains("checkpoint.keep=true --again"),
        "{none}"
    );
}

#[test]
fn a_run_that_starts_from_models_begins_where_they_ended() {
    let (before, _, file) = trained(&["rounds=3"]);
    let after = Case::new(&[&start(&file)]);
    let report = after.run();
    let records = |case: &Case| {
        let text = fs::read_to_string(case.folder().join("metrics.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<serde_json::Value>>()
    };
    let (last, first) = (&records(&before)[3], &records(&after)[0]);
    for figure in [
        "test_accuracy",
        "test_loss",
        "consensus_distance",
        "mean_model_accuracy",
    ] {
        assert_eq!(first[figure], last[figure], "{figure}");
    }
    let again = Case::new(&[&start(&file)]);
    assert!(
        results(&again.run()) == results(&report),
        "the same bits again"
    );
}

#[test]
fn one_model_is_the_start_of_all_rows() {
    let (_case, models, file) = trained(&["rounds=2"]);
    models.mean().write(&file).unwrap();
    let started = Case::new(&[
        &start(&file),
        KEPT,
        "algorithm.dfedavgm.learning_rate=1.0e-30",
    ]);
    started.run();
    let found = TrainedModels::of(&started.folder()).unwrap().models;
    let rows = found.to_host();
    let width = found.layout().width();
    for row in rows.chunks_exact(width) {
        assert_eq!(row, &rows[..width]);
    }
}

#[test]
fn the_content_of_the_file_is_part_of_the_run() {
    let (_case, models, file) = trained(&["rounds=2"]);
    let first = Case::new(&[&start(&file)]);
    models.mean().write(&file).unwrap();
    let second = Case::new(&[&start(&file)]);
    assert_ne!(first.plan.id, second.plan.id);
    let options = first.options();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let error = meshfold_experiment::run(&first.plan, &first.data, &options, &stop, &mut ());
    let error: RunError = error.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("changed since the run was planned"),
        "{error}"
    );
}

#[test]
fn files_that_do_not_fit_are_refused_where_they_are_named() {
    let (_case, _, file) = trained(&["rounds=2"]);
    let refused = |more: &[&str]| {
        let start = start(&file);
        let overrides = [&[start.as_str()], more].concat();
        let source = ExperimentSource::new("tiny.yaml", YAML).with_overrides(overrides);
        let error = plan(&source, &DataFolder::new("unused")).unwrap_err();
        format!("{error:?}")
    };
    for (more, needed) in [
        (
            "partition={shards: {clients: 5}}",
            "it has 6 models, needed 1, or one for each of the 5 rows (clients)",
        ),
        (
            "model=logistic",
            "has the shape [6, 784, 8], needed [rows, 784, 10] or [784, 10]",
        ),
        (
            "model={mlp: {hidden: [8, 8]}}",
            "has the shape [6, 8, 10], needed [rows, 8, 8] or [8, 8]",
        ),
        ("model={mlp: {hidden: [9]}}", "has the shape [6, 784, 8]"),
        ("start.models.file=nowhere", "nowhere"),
        ("start.models.sha256=abc", "needed abc"),
    ] {
        let found = refused(&[more]);
        assert!(found.contains(needed), "{needed} is not in {found}");
    }
}

#[test]
fn the_mean_of_models_leaves_out_clients_that_have_failed() {
    let failures = "failures=[{clients: {list: [1, 4]}, from_round: 3}]";
    let (_case, models, file) = trained(&[failures]);
    assert_eq!(models.alive, [true, false, true, true, false, true]);
    let (_, metadata) = SafeTensors::read_metadata(&fs::read(file).unwrap()).unwrap();
    assert_eq!(metadata.metadata().clone().unwrap()["failed"], "1,4");
    let width = models.models.layout().width();
    let rows = models.models.to_host();
    let first: f32 = [0, 2, 3, 5].iter().map(|row| rows[row * width]).sum();
    let mean = models.mean().models.to_host()[0];
    assert!((mean - first / 4.0).abs() < 1e-6, "{mean}");
}
