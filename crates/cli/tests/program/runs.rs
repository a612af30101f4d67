//! `meshfold runs`: listing, comparing and removing runs.

use std::fs;

use meshfold_experiment::results::Claim;
use serde_json::Value;

use crate::sandbox::Sandbox;

/// A finished sweep of four runs, and their ids in the order of the sweep.
fn finished() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let sweep = "sweep={grid: {topology: [ring, complete], seed: [2, 1]}}";
    let said = sandbox.meshfold(&["run", "tiny.yaml", "--set", sweep, "--json", "-q"]);
    let ids = said.ended_with(0).json();
    let ids = ids
        .iter()
        .map(|line| line["id"].as_str().unwrap().to_owned());
    let ids = ids.collect();
    (sandbox, ids)
}

/// Makes of a finished run one that was interrupted after its second evaluation.
fn interrupt(sandbox: &Sandbox, id: &str) {
    for file in ["DONE", "summary.json", "clients.parquet"] {
        fs::remove_file(sandbox.path(&format!("runs/tiny/{id}/{file}"))).unwrap();
    }
    let metrics = format!("runs/tiny/{id}/metrics.jsonl");
    let lines: Vec<String> = sandbox.read(&metrics).lines().map(str::to_owned).collect();
    sandbox.write(&metrics, &format!("{}\n{}\n", lines[0], lines[1]));
}

/// The ids that `line` lists.
fn ids(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let lines = sandbox.says(&format!("{line} --json")).ended_with(0).json();
    let id = |line: &Value| line["id"].as_str().unwrap().to_owned();
    lines.iter().map(id).collect()
}

#[test]
fn runs_are_listed_with_their_settings_and_how_they_stand() {
    let (sandbox, runs) = finished();
    interrupt(&sandbox, &runs[1]);
    sandbox.write(&format!("runs/tiny/{}/checkpoint.safetensors", runs[1]), "");
    fs::remove_file(sandbox.path(&format!("runs/tiny/{}/overlay.json", runs[2]))).unwrap();
    let _held = Claim::take(&sandbox.path(&format!("runs/tiny/{}", runs[3]))).unwrap();
    let lines = sandbox.says("runs runs/tiny --json").ended_with(0).json();
    let column = |key: &str| {
        lines
            .iter()
            .map(|line| line[key].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(column("id"), runs, "in the order of the sweep");
    assert_eq!(
        column("state"),
        ["finished", "interrupted", "damaged", "running"]
    );
    assert_eq!(column("checkpoint")[..2], [Value::Null, true.into()]);
    assert_eq!(column("round")[..2], [4, 1]);
    assert_eq!(column("rounds"), [4; 4]);
    let problem = lines[2]["problem"].as_str().unwrap();
    assert!(problem.contains("overlay.json is missing"), "{problem}");
    let settings: Value = serde_json::json!({"seed": 1, "topology": "ring"});
    assert_eq!(lines[1]["settings"], settings);
    let records = sandbox.records(&format!("runs/tiny/{}", runs[0]));
    assert_eq!(
        lines[0]["test_accuracy"],
        records[4]["test_accuracy"]["mean"]
    );
    let folder = fs::read_dir(sandbox.path(&format!("runs/tiny/{}", runs[0]))).unwrap();
    let bytes: u64 = folder
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert_eq!(lines[0]["bytes"], bytes);
    let table = sandbox.says("runs").ended_with(0).out;
    for part in [
        "runs/tiny: 4 runs",
        "topology",
        "1 of 4",
        "interrupted, with checkpoint",
        "overlay.json is missing",
        "now",
    ] {
        assert!(table.contains(part), "{part} is not in\n{table}");
    }
}

#[test]
fn runs_are_chosen_by_settings_and_by_state() {
    let (sandbox, runs) = finished();
    interrupt(&sandbox, &runs[3]);
    let tiny = sandbox
        .read("tiny.yaml")
        .replace("name: tiny", "name: other");
    sandbox.write("other.yaml", &tiny);
    sandbox.says("run other.yaml -q").ended_with(0);
    assert_eq!(ids(&sandbox, "runs list").len(), 5, "of all experiments");
    assert_eq!(
        ids(&sandbox, "runs runs/tiny --only topology=ring"),
        runs[..2]
    );
    assert_eq!(
        ids(
            &sandbox,
            "runs runs/tiny --only seed=1 --only topology=complete,ring"
        ),
        [runs[1].clone(), runs[3].clone()]
    );
    assert_eq!(ids(&sandbox, "runs --state interrupted,damaged"), runs[3..]);
    assert!(ids(&sandbox, "runs --state damaged").is_empty());
    sandbox
        .says("runs runs/tiny --only topology=star")
        .ended_with(2)
        .complained_of(&["complete, ring"]);
    sandbox
        .says("runs nowhere")
        .ended_with(2)
        .complained_of(&["nowhere", "runs/<name>/<id>"]);
}

#[test]
fn two_runs_are_compared_setting_by_setting() {
    let (sandbox, runs) = finished();
    let said = sandbox.says(&format!(
        "runs compare {} runs/tiny/{}",
        &runs[0][..6],
        runs[3]
    ));
    let said = said.ended_with(0).out;
    for part in [
        "topology",
        "ring",
        "complete",
        "seed",
        "test_accuracy.min",
        "different runs",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    let line = &sandbox
        .says(&format!("runs compare {} {} --json", runs[0], runs[1]))
        .ended_with(0)
        .json()[0];
    assert_eq!(line["sameness"], "different");
    assert_eq!(line["settings"], serde_json::json!({"seed": [2, 1]}));
    let last =
        |id: &str| sandbox.records(&format!("runs/tiny/{id}"))[4]["test_loss"]["mean"].clone();
    let losses = [last(&runs[0]), last(&runs[1])];
    assert_eq!(line["figures"]["test_loss"], Value::from(losses.to_vec()));
    // The same configuration under another name is the same run.
    let tiny = sandbox
        .read("tiny.yaml")
        .replace("name: tiny", "name: other");
    sandbox.write("other.yaml", &tiny.replace("seed: 1", "seed: 2"));
    sandbox.says("run other.yaml -q").ended_with(0);
    let copies = sandbox.says(&format!("runs compare runs/other runs/tiny/{}", runs[0]));
    let copies = copies.ended_with(0).out;
    assert!(copies.contains("the same run in two folders"), "{copies}");
    assert!(!copies.contains("setting "), "{copies}");
    let itself = format!("runs compare runs/tiny/{0} runs/tiny/{0}", runs[1]);
    let itself = sandbox.says(&itself).ended_with(0).out;
    assert!(itself.contains("in the same folder"), "{itself}");
    sandbox
        .says(&format!("runs compare {} {}", runs[0], runs[1]))
        .ended_with(2)
        .complained_of(&["runs/other", "runs/tiny", "write more"]);
    sandbox
        .says("runs compare xyz runs/tiny")
        .ended_with(2)
        .complained_of(&["xyz", "--results"]);
    sandbox
        .says("runs compare runs/tiny runs/tiny")
        .ended_with(2)
        .complained_of(&["4 runs, needed one"]);
}

#[test]
fn removing_asks_for_yes_and_brings_the_experiment_up_to_date() {
    let (sandbox, runs) = finished();
    let shown = sandbox
        .says(&format!("runs remove {}", runs[0]))
        .ended_with(0);
    assert!(
        shown.out.contains(&runs[0]) && shown.err.contains("--yes"),
        "{shown:?}"
    );
    assert_eq!(sandbox.runs("tiny").len(), 4);
    sandbox.write(&format!("runs/tiny/{}/notes.txt", runs[0]), "mine");
    let said = sandbox.says(&format!("runs remove {} --yes", runs[0]));
    let said = said.ended_with(0);
    assert!(said.out.contains("removed 1 run"), "{said:?}");
    assert_eq!(ids(&sandbox, "runs"), runs[1..]);
    assert_eq!(
        sandbox.json("runs/tiny/sweep.json")["runs"],
        serde_json::json!(runs[1..])
    );
    let page = sandbox.read("runs/tiny/report.html");
    assert!(!page.contains(&runs[0]) && page.contains(&runs[1]));
    // From within the folder of a run as well.
    let inside = sandbox.path(&format!("runs/tiny/{}", runs[3]));
    let mut command = sandbox.command(&["runs", "remove", ".", "--yes"]);
    let removed = command.current_dir(inside).output().unwrap();
    assert!(removed.status.success(), "{removed:?}");
    assert_eq!(
        sandbox.json("runs/tiny/sweep.json")["runs"],
        serde_json::json!(runs[1..3])
    );
    sandbox
        .says("runs remove runs/tiny --only topology=complete -y")
        .ended_with(0);
    assert_eq!(ids(&sandbox, "runs"), runs[1..2]);
    let told = |line: &str| sandbox.says(line).ended_with(0).json();
    let kept = told("runs remove runs --json");
    assert!(
        !kept.is_empty() && kept.iter().all(|run| run["removed"] == false),
        "{kept:?}"
    );
    let removed = told("runs remove runs --yes --json");
    assert_eq!(removed.len(), kept.len());
    assert!(
        removed.iter().all(|run| run["removed"] == true),
        "{removed:?}"
    );
    assert!(!sandbox.path("runs/tiny").exists());
}

#[test]
fn what_may_not_be_removed_keeps_all_from_it() {
    let (sandbox, runs) = finished();
    let refused = |parts: &[&str]| {
        sandbox
            .says("runs remove runs/tiny --yes")
            .ended_with(2)
            .complained_of(&["nothing is removed"])
            .complained_of(parts);
        assert!(
            sandbox
                .path(&format!("runs/tiny/{}/DONE", runs[0]))
                .exists()
        );
    };
    let held = Claim::take(&sandbox.path(&format!("runs/tiny/{}", runs[3]))).unwrap();
    refused(&[&runs[3], "another process"]);
    drop(held);
    let folder = format!("runs/tiny/{}/other", runs[2]);
    fs::create_dir(sandbox.path(&folder)).unwrap();
    refused(&[&folder, "no part of a run"]);
    fs::remove_dir(sandbox.path(&folder)).unwrap();
    // The folder of an experiment with a configuration in it is none of a run.
    sandbox.write("runs/tiny/config.yaml", &sandbox.read("tiny.yaml"));
    refused(&["no part of a run"]);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let (sandbox, runs) = finished();
    fs::create_dir(sandbox.path("kept")).unwrap();
    sandbox.write("kept/file", "mine");
    let moved = sandbox.path("moved");
    fs::rename(sandbox.path(&format!("runs/tiny/{}", runs[0])), &moved).unwrap();
    symlink(&moved, sandbox.path(&format!("runs/tiny/{}", runs[0]))).unwrap();
    for slash in ["", "/"] {
        sandbox
            .says(&format!("runs remove runs/tiny/{}{slash} --yes", runs[0]))
            .ended_with(2)
            .complained_of(&["is a link"]);
    }
    assert!(moved.join("DONE").exists());
    symlink(
        sandbox.path("kept"),
        sandbox.path(&format!("runs/tiny/{}/link", runs[1])),
    )
    .unwrap();
    sandbox
        .says(&format!("runs remove {} --yes", runs[1]))
        .ended_with(0);
    assert_eq!(sandbox.read("kept/file"), "mine");
}

#[test]
fn trained_models_are_taken_out_and_started_from() {
    let sandbox = Sandbox::new();
    let run = |line: &[&str]| {
        let run = ["run", "tiny.yaml", "-q", "--json", "--set"];
        let lines = sandbox
            .meshfold(&[&run, line].concat())
            .ended_with(0)
            .json();
        lines[0]["id"].as_str().unwrap().to_owned()
    };
    let id = run(&["checkpoint={}"]);
    let none = sandbox.says(&format!("runs models {id}")).ended_with(2);
    none.complained_of(&["--set checkpoint.keep=true --again"]);
    assert_eq!(
        run(&["checkpoint.keep=true", "--again"]),
        id,
        "the same run"
    );
    let other = sandbox.says(&format!("runs models {id} -o start.npz"));
    other
        .ended_with(2)
        .complained_of(&["start.npz", ".safetensors", "numpy.savez"]);
    assert!(!sandbox.path("start.npz").exists());
    let said = sandbox.says(&format!("runs models {id} --mean -o start.safetensors"));
    let said = said.ended_with(0).out;
    assert_eq!(
        said,
        "1 model of 7850 parameters after round 4: start.safetensors\n"
    );
    let said = sandbox
        .says(&format!("runs models {}", &id[..6]))
        .ended_with(0);
    let file = format!("runs/tiny/{id}/models.safetensors");
    assert!(
        said.out.starts_with("10 models of 7850 parameters"),
        "{}",
        said.out
    );
    assert!(sandbox.path(&file).is_file());
    let second = run(&["start={models: {file: start.safetensors}}"]);
    let figure = |id: &str, place: usize| {
        sandbox.records(&format!("runs/tiny/{id}"))[place]["mean_model_accuracy"].clone()
    };
    assert_eq!(figure(&second, 0), figure(&id, 4));
    let other = "start={models: {file: tiny.yaml}}";
    sandbox
        .meshfold(&["run", "tiny.yaml", "--set", other])
        .ended_with(2)
        .complained_of(&["tiny.yaml", "start"]);
    let remove = format!("runs remove runs/tiny/{id} --yes");
    sandbox.says(&remove).ended_with(0);
    assert!(!sandbox.path(&format!("runs/tiny/{id}")).exists());
}
