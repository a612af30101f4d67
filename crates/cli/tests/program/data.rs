//! Datasets that are there, missing or corrupt.

use crate::sandbox::{Sandbox, keys};

#[test]
fn datasets_are_listed_with_what_is_there_of_them() {
    let sandbox = Sandbox::new();
    sandbox.write("data/mnist/train-labels-idx1-ubyte", "not yet checked");
    let said = sandbox.says("data list --json").ended_with(0);
    let listed = said.json();
    let names: Vec<_> = listed
        .iter()
        .map(|dataset| dataset["name"].as_str().unwrap())
        .collect();
    let made_and_fetched = ["glyphs", "consensus", "mnist", "fashion_mnist", "cifar10"];
    assert_eq!(names[..5], made_and_fetched);
    for name in [
        "cifar100",
        "qmnist",
        "femnist",
        "leukemia_a2",
        "shakespeare",
        "reddit",
        "cwru",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    assert_eq!(
        (&listed[2]["files"], &listed[2]["files_present"]),
        (&4.into(), &1.into())
    );
    let table = sandbox.says("data list").ended_with(0).out;
    assert!(
        table.contains("1 of 4 files: meshfold data fetch mnist")
            && table.contains("MESHFOLD_DATA"),
        "{table}"
    );
}

#[test]
fn missing_files_are_named_with_where_they_were_looked_for_and_what_fetches_them() {
    let sandbox = Sandbox::new();
    let looked = sandbox
        .path("data/mnist/train-images-idx3-ubyte.gz")
        .display()
        .to_string();
    let parts = [
        looked.as_str(),
        "meshfold data fetch mnist",
        "MESHFOLD_DATA",
        "--set",
        "dataset",
    ];
    sandbox
        .says("run tiny.yaml --set dataset=mnist")
        .ended_with(2)
        .complained_of(&parts);
    assert!(!sandbox.path("runs").exists());
    let elsewhere = sandbox
        .says("plan tiny.yaml --set dataset=mnist --data-dir elsewhere")
        .ended_with(2);
    elsewhere.complained_of(&["elsewhere/mnist", "--data-dir"]);
}

#[test]
fn corrupt_files_are_refused_with_what_replaces_them() {
    let sandbox = Sandbox::new();
    for split in ["train", "t10k"] {
        sandbox.write(
            &format!("data/mnist/{split}-labels-idx1-ubyte"),
            "no idx file",
        );
        sandbox.write(
            &format!("data/mnist/{split}-images-idx3-ubyte"),
            "no idx file",
        );
    }
    let parts = [
        "data/mnist/train-labels-idx1-ubyte",
        "meshfold data fetch mnist",
    ];
    sandbox
        .says("run tiny.yaml --set dataset=mnist")
        .ended_with(2)
        .complained_of(&parts);
    assert!(!sandbox.path("runs").exists());
    let checked = sandbox
        .says("data check mnist --json")
        .ended_with(2)
        .complained_of(&["meshfold data fetch mnist"]);
    assert_eq!(
        keys(&checked.json()[0]),
        ["dataset", "path", "status", "url"]
    );
    assert!(
        checked
            .json()
            .iter()
            .all(|file| file["status"] == "wrong_size")
    );
}

#[test]
fn a_dataset_that_does_not_exist_is_answered_with_the_nearest() {
    let sandbox = Sandbox::new();
    sandbox
        .says("data fetch fashion")
        .ended_with(2)
        .complained_of(&["did you mean `fashion_mnist`?"]);
    sandbox
        .says("data check minst")
        .ended_with(2)
        .complained_of(&["did you mean `mnist`?"]);
    assert!(!sandbox.path("data").exists());
}
