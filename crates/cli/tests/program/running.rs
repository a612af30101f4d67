//! Runs and sweeps: what they write, and when they are skipped.

use std::fs;

use crate::sandbox::{Sandbox, keys};

const RECORD: &str = "round local_steps examples_seen train_loss test_accuracy test_loss mean_model_accuracy \
                      consensus_distance bytes_total bytes_busiest_node messages_total simulated_seconds wall_seconds alive";

#[test]
fn a_run_writes_all_that_belongs_to_it() {
    let sandbox = Sandbox::new();
    let said = sandbox.says("run tiny.yaml").ended_with(0);
    let [folder] = sandbox.runs("tiny").try_into().unwrap();
    let files = "DONE clients.parquet config.yaml environment.json metrics.jsonl overlay.edges overlay.json \
                 partition.csv report.html summary.json";
    let mut found: Vec<String> = fs::read_dir(sandbox.path(&folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, files.split_whitespace().collect::<Vec<_>>());

    let records = sandbox.records(&folder);
    assert_eq!(records.len(), 5, "the start and four rounds");
    for (round, record) in records.iter().enumerate() {
        assert_eq!(keys(record), RECORD.split_whitespace().collect::<Vec<_>>());
        assert_eq!(record["round"], round);
        assert_eq!(record["local_steps"], 30 * round);
        // Ten clients send 7,850 floats to two neighbours each.
        assert_eq!(record["bytes_total"], 20 * 4 * 7_850 * round);
        assert_eq!(
            keys(&record["test_accuracy"]),
            ["mean", "min", "max", "std"]
        );
    }
    let first = records[0]["test_accuracy"]["mean"].as_f64().unwrap();
    let last = records[4]["test_accuracy"]["mean"].as_f64().unwrap();
    assert!(last > first + 0.1, "{first} {last}");

    let summary = sandbox.json(&format!("{folder}/summary.json"));
    assert_eq!(summary["status"], "finished");
    assert_eq!(
        summary["last"]["test_accuracy"]["mean"].as_f64(),
        Some(last)
    );
    assert!(
        sandbox
            .read(&format!("{folder}/report.html"))
            .contains("</html>")
    );
    assert!(
        fs::read(sandbox.path(&format!("{folder}/clients.parquet")))
            .unwrap()
            .starts_with(b"PAR1")
    );
    assert!(
        said.out.contains("mean accuracy")
            && said.out.contains(&format!("report: {folder}/report.html"))
    );
    assert!(
        said.out.contains(&format!("{:.1} %", 100.0 * last)),
        "{}",
        said.out
    );
}

#[test]
fn the_configuration_that_a_run_writes_is_the_same_run() {
    let sandbox = Sandbox::new();
    sandbox.says("run tiny.yaml --set seed=7 -q").ended_with(0);
    let [folder] = sandbox.runs("tiny").try_into().unwrap();
    assert!(
        sandbox
            .read(&format!("{folder}/config.yaml"))
            .contains("seed: 7")
    );
    let again = sandbox
        .meshfold(&["plan", &format!("{folder}/config.yaml"), "--json"])
        .ended_with(0);
    assert!(folder.ends_with(again.json()[0]["id"].as_str().unwrap()));
}

#[test]
fn a_sweep_runs_each_of_its_runs_once_and_compares_them() {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    sandbox.write(
        "sweep.yaml",
        &format!("{tiny}sweep: {{grid: {{topology: [ring, complete]}}}}\n"),
    );
    let first = sandbox.says("run sweep.yaml --json").ended_with(0);
    let lines = first.json();
    let labels: Vec<_> = lines
        .iter()
        .map(|line| line["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["topology=ring", "topology=complete"]);
    let expected = [
        "id", "label", "settings", "ending", "error", "folder", "report", "summary",
    ];
    assert!(
        lines
            .iter()
            .all(|line| keys(line) == expected && line["ending"] == "finished")
    );
    assert_eq!(sandbox.runs("tiny").len(), 2);
    let page = sandbox.read("runs/tiny/report.html");
    assert!(page.contains("ring") && page.contains("complete"));
    // The complete overlay mixes to the mean in one round.
    let distance = |line: usize| {
        let records = sandbox.records(lines[line]["folder"].as_str().unwrap());
        records.last().unwrap()["consensus_distance"]
            .as_f64()
            .unwrap()
    };
    assert!(
        distance(1) < 1e-3 * distance(0),
        "{} {}",
        distance(1),
        distance(0)
    );

    let environment = || {
        let folder = lines[0]["folder"].as_str().unwrap();
        fs::metadata(sandbox.path(&format!("{folder}/environment.json")))
            .unwrap()
            .modified()
            .unwrap()
    };
    let written = environment();
    let second = sandbox
        .says("run sweep.yaml")
        .ended_with(0)
        .complained_of(&["skipped", "--again"]);
    assert_eq!(second.out.matches("skipped").count(), 2);
    assert_eq!(environment(), written);
    let third = sandbox.says("run sweep.yaml --again --json").ended_with(0);
    assert!(third.json().iter().all(|line| line["ending"] == "finished"));
    assert_ne!(environment(), written);
}

#[test]
fn an_override_changes_the_run_and_its_id() {
    let sandbox = Sandbox::new();
    sandbox.says("run tiny.yaml -q").ended_with(0);
    let wider = [
        "run",
        "tiny.yaml",
        "-q",
        "--set",
        "topology={regular: {degree: 4}}",
        "--set",
        "rounds=2",
    ];
    sandbox.meshfold(&wider).ended_with(0);
    let runs = sandbox.runs("tiny");
    assert_eq!(runs.len(), 2);
    let mut edges: Vec<usize> = runs
        .iter()
        .map(|run| {
            sandbox
                .read(&format!("{run}/overlay.edges"))
                .lines()
                .count()
        })
        .collect();
    edges.sort_unstable();
    assert_eq!(edges, [10, 20]);
}

#[test]
fn a_run_has_the_same_bits_with_one_and_two_threads() {
    let sandbox = Sandbox::new();
    let results = |threads: &str| {
        let folder = format!("threads-{threads}");
        let model = "model={mlp: {hidden: [30]}}";
        let line = [
            "run",
            "tiny.yaml",
            "--threads",
            threads,
            "--results",
            &folder,
            "--json",
            "--set",
            model,
        ];
        let said = sandbox.meshfold(&line).ended_with(0);
        sandbox.results(said.json()[0]["folder"].as_str().unwrap())
    };
    let one = results("1");
    assert!(one.len() == 5 && one == results("2"));
}

#[test]
fn runs_of_a_sweep_have_the_same_bits_side_by_side() {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    sandbox.write(
        "sweep.yaml",
        &format!("{tiny}sweep: {{grid: {{seed: [1, 2, 3]}}}}\n"),
    );
    let results = |at_once: usize| {
        let line = format!(
            "run sweep.yaml --threads 2 --at-once {at_once} --results at-once-{at_once} --json"
        );
        let said = sandbox.says(&line).ended_with(0);
        let folders = said.json();
        let of_run = |line: &serde_json::Value| sandbox.results(line["folder"].as_str().unwrap());
        folders.iter().map(of_run).collect::<Vec<_>>()
    };
    let alone = results(1);
    assert!(alone.len() == 3 && alone == results(2));
}

#[test]
fn every_method_runs() {
    let sandbox = Sandbox::new();
    let settings = "{batch_size: 20, learning_rate: 0.05}";
    for method in ["alone", "dsgd", "dfedavg", "fedavg"] {
        let algorithm = format!("algorithm={{{method}: {settings}}}");
        let overlay = if method.starts_with('d') {
            "topology=ring"
        } else {
            "topology=null"
        };
        let arguments = [
            "run",
            "tiny.yaml",
            "-q",
            "--set",
            &algorithm,
            "--set",
            overlay,
            "--set",
            "rounds=1",
        ];
        let said = sandbox.meshfold(&arguments);
        assert_eq!(said.code, Some(0), "{method}: {}", said.err);
    }
    assert_eq!(sandbox.runs("tiny").len(), 4);
}

#[test]
fn two_processes_share_the_runs_of_a_sweep() {
    let sandbox = Sandbox::new();
    let text = crate::sandbox::TINY.replace("rounds: 4", "rounds: 300");
    let sweep = "sweep: {grid: {seed: [1, 2, 3, 4, 5, 6]}}\n";
    sandbox.write("shared.yaml", &format!("{text}{sweep}"));
    let line = "run shared.yaml --json --at-once 1 --threads 1";
    let processes = [(); 2].map(|()| sandbox.start(line));
    let mut finished = Vec::new();
    for process in processes {
        let output = process.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let lines = String::from_utf8(output.stdout).unwrap();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines.len(), 6);
        for line in lines {
            let ending = line["ending"].as_str().unwrap();
            assert!(
                ["finished", "skipped", "elsewhere"].contains(&ending),
                "{line}"
            );
            if ending == "finished" {
                finished.push(line["id"].to_string());
            }
        }
    }
    assert_eq!(finished.len(), 6, "every run is carried out by one of them");
    finished.sort();
    finished.dedup();
    assert_eq!(finished.len(), 6, "no run is carried out twice");
    let runs = sandbox.runs("tiny");
    assert_eq!(runs.len(), 6);
    for run in runs {
        assert_eq!(sandbox.records(&run).len(), 301, "{run}");
        assert!(sandbox.path(&format!("{run}/DONE")).exists());
    }
    assert!(sandbox.path("runs/tiny/report.html").exists());
}

#[test]
fn the_quickstart_compares_three_overlays_of_a_hundred_clients() {
    let sandbox = Sandbox::new();
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../experiments/quickstart.yaml"
    );
    let plans = sandbox
        .meshfold(&["plan", file, "--json"])
        .ended_with(0)
        .json();
    let edges: Vec<_> = plans
        .iter()
        .map(|plan| plan["overlay"]["edges"].as_u64().unwrap())
        .collect();
    assert_eq!(edges, [100, 150, 4_950]);
    assert!(plans.iter().all(|plan| plan["clients"] == 100));
}
