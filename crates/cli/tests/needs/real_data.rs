//! The main job on MNIST.

use std::path::Path;

use meshfold_test_needs::{Test, data_folder, test};

use crate::sandbox::Sandbox;

fn quickstart() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/quickstart.yaml");
    path.display().to_string()
}

/// The tests of this file.
pub(crate) fn tests() -> Vec<Test> {
    let tests = [
        test!(the_quickstart_runs_on_the_real_digits),
        test!(damaged_images_are_refused_before_anything_is_written),
    ];
    tests.map(|test| test.needs_data(&["mnist"])).into()
}

fn the_quickstart_runs_on_the_real_digits() {
    let folder = data_folder().display().to_string();
    let sandbox = Sandbox::new();
    let file = quickstart();
    let less = [
        "--set",
        "rounds=2",
        "--set",
        "evaluate.examples=200",
        "--set",
        "evaluate.every=2",
    ];
    let line = [
        "run",
        &file,
        "--set",
        "dataset=mnist",
        "--data-dir",
        &folder,
        "--json",
    ];
    let lines = sandbox
        .meshfold(&[line.as_slice(), less.as_slice()].concat())
        .ended_with(0)
        .json();
    assert_eq!(lines.len(), 3);
    for line in &lines {
        let last = &line["summary"]["last"];
        assert_eq!(
            (&last["round"], &line["summary"]["clients"]),
            (&2.into(), &100.into())
        );
        let accuracy = last["test_accuracy"]["mean"].as_f64().unwrap();
        assert!(accuracy > 0.1 && accuracy < 1.0, "{accuracy}");
    }
    let page = sandbox.read("runs/quickstart/report.html");
    assert!(page.contains("3-regular") && page.contains("mnist"));
    sandbox
        .meshfold(&["data", "check", "mnist", "--data-dir", &folder])
        .ended_with(0);
    let fetched = sandbox
        .meshfold(&["data", "fetch", "mnist", "--data-dir", &folder, "--json"])
        .ended_with(0)
        .json();
    assert!(
        fetched.len() == 4 && fetched.iter().all(|file| file["url"].is_null()),
        "what is there is not fetched"
    );
}

fn damaged_images_are_refused_before_anything_is_written() {
    let folder = data_folder();
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("data/mnist")).unwrap();
    for name in [
        "train-labels-idx1",
        "train-images-idx3",
        "t10k-labels-idx1",
        "t10k-images-idx3",
    ] {
        let name = format!("{name}-ubyte.gz");
        let bytes = std::fs::read(folder.join("mnist").join(&name)).unwrap();
        let kept = if name.starts_with("train-images") {
            bytes.len() / 2
        } else {
            bytes.len()
        };
        std::fs::write(sandbox.path("data/mnist").join(name), &bytes[..kept]).unwrap();
    }
    let parts = ["train-images-idx3-ubyte.gz", "meshfold data fetch mnist"];
    sandbox
        .says("run tiny.yaml --set dataset=mnist")
        .ended_with(2)
        .complained_of(&parts);
    assert!(!sandbox.path("runs").exists());
}
