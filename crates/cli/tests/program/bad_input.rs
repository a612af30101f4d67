//! Every kind of bad input ends with exit code 2, names the line and the remedy, and leaves nothing behind.

use crate::sandbox::{Sandbox, TINY};

/// Replaces the line of `tiny.yaml` that has `key` and expects all of `parts` on standard error.
fn refused(key: &str, line: &str, parts: &[&str]) {
    let sandbox = Sandbox::new();
    refused_in(&sandbox, key, line, parts);
}

fn refused_in(sandbox: &Sandbox, key: &str, line: &str, parts: &[&str]) {
    let is_there = |old: &&str| old.trim_start().starts_with(&format!("{key}:"));
    assert!(TINY.lines().any(|old| is_there(&old)), "{key}");
    let lines: Vec<&str> = TINY
        .lines()
        .map(|old| if is_there(&old) { line } else { old })
        .collect();
    sandbox.write("tiny.yaml", &lines.join("\n"));
    for command in ["run", "plan"] {
        sandbox
            .meshfold(&[command, "tiny.yaml"])
            .ended_with(2)
            .complained_of(parts);
    }
    assert!(!sandbox.path("runs").exists(), "{line} left results behind");
}

#[test]
fn names_that_do_not_exist() {
    refused(
        "rounds",
        "ruonds: 4",
        &[
            "tiny.yaml:12",
            "unknown key `ruonds`",
            "did you mean `rounds`?",
        ],
    );
    refused(
        "topology",
        "topology: rnig",
        &[
            "tiny.yaml:5",
            "unknown choice `rnig`",
            "did you mean `ring`?",
        ],
    );
    refused(
        "dfedavgm",
        "  dfedavgn:",
        &["tiny.yaml:8", "did you mean `dfedavgm`?"],
    );
    let misspelt = [
        "tiny.yaml:11",
        "unknown key `lerning_rate`",
        "did you mean `learning_rate`?",
    ];
    refused("learning_rate", "    lerning_rate: 0.1", &misspelt);
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once() {
    let sandbox = Sandbox::new();
    let yaml = TINY
        .replace("topology: ring", "topology: rnig")
        .replace("rounds: 4", "rounds: many");
    sandbox.write("tiny.yaml", &yaml);
    let run = sandbox.meshfold(&["run", "tiny.yaml", "--set", "evaluate.evry=2"]);
    let parts = [
        "unknown choice `rnig`",
        "did you mean `ring`?",
        "rounds: found the text",
        "--set:1:1",
        "unknown key `evry`",
        "\n3 mistakes\n",
    ];
    run.ended_with(2).complained_of(&parts);
    assert!(!sandbox.path("runs").exists());
}

#[test]
fn faults_of_data_point_at_the_value_and_name_the_run() {
    let sandbox = Sandbox::new();
    let table: String = (0..20).map(|row| format!("{row},{}\n", row % 2)).collect();
    sandbox.write("there.csv", &table);
    let dataset = "dataset:\n  csv:\n    label: 1\n    header: false\n    file: nope.csv";
    refused_in(&sandbox, "dataset", dataset, &["tiny.yaml:7:11", "no file"]);
    let one = sandbox.read("tiny.yaml");
    let swept = "sweep: {grid: {dataset.csv.file: [./there.csv, nope.csv]}}\n";
    let shards = TINY.lines().find(|line| line.starts_with("partition:"));
    let one = one.replace(shards.unwrap(), "partition: {iid: {clients: 4}}");
    sandbox.write("sweep.yaml", &format!("{one}\n{swept}"));
    let said = sandbox.says("plan sweep.yaml").ended_with(2);
    said.complained_of(&["nope.csv", "met in the run file=nope.csv"]);
}

#[test]
fn a_value_that_cannot_be_read_is_no_reason_for_another_mistake() {
    let dataset = "dataset: {consensus: {examples: 3, values: [1, 70000, 3]}}";
    let sandbox = Sandbox::new();
    refused_in(&sandbox, "dataset", dataset, &["found the number 70000"]);
    let said = sandbox.says("plan tiny.yaml").ended_with(2);
    assert!(!said.err.contains("mistakes"), "{}", said.err);
}

#[test]
fn values_of_the_wrong_type_or_size() {
    refused(
        "rounds",
        "rounds: many",
        &["tiny.yaml:12", "needed a whole number"],
    );
    refused(
        "model",
        "model: {mlp: {hidden: 20}}",
        &["tiny.yaml:6", "needed a list"],
    );
    refused(
        "batch_size",
        "    batch_size: 0",
        &["tiny.yaml:10", "batch_size is 0", "at least one example"],
    );
    refused(
        "learning_rate",
        "    learning_rate: -1",
        &["tiny.yaml:11", "learning_rate"],
    );
    refused("model", "model: {mlp: {hidden: [20]}", &["tiny.yaml"]);
}

#[test]
fn partitions_that_cannot_be_dealt() {
    let many = ["tiny.yaml:4", "601 clients but only 600 training examples"];
    refused("partition", "partition: {iid: {clients: 601}}", &many);
    let dirichlet = "partition: {dirichlet: {clients: 100, alpha: 0.001}}";
    refused("partition", dirichlet, &["tiny.yaml:4", "alpha"]);
}

#[test]
fn overlays_that_cannot_be_built() {
    let odd = "{regular: {degree: 3}}";
    let sandbox = Sandbox::new();
    sandbox.write(
        "tiny.yaml",
        &TINY
            .replace("clients: 10", "clients: 9")
            .replace("topology: ring", &format!("topology: {odd}")),
    );
    sandbox
        .says("run tiny.yaml")
        .ended_with(2)
        .complained_of(&["tiny.yaml:5", "3", "9"]);
    assert!(!sandbox.path("runs").exists());

    let edges = |text: &str, parts: &[&str]| {
        let sandbox = Sandbox::new();
        sandbox.write("w.edges", text);
        refused_in(
            &sandbox,
            "topology",
            "topology: {edges: {file: w.edges}}",
            parts,
        );
    };
    edges("0 1\n2 3\n", &["tiny.yaml:5", "components"]);
    edges("0 1\n1 10\n", &["tiny.yaml:5", "w.edges", "line 2", "1-10"]);
    edges(
        "0 1\n\n4 4\n",
        &["tiny.yaml:5", "w.edges", "line 3", "self-loop"],
    );
    refused(
        "topology",
        "topology: {edges: {file: none.edges}}",
        &["tiny.yaml:5", "none.edges"],
    );
}

#[test]
fn overlays_for_methods_that_use_none() {
    let sandbox = Sandbox::new();
    sandbox.write("tiny.yaml", &TINY.replace("dfedavgm", "fedavg"));
    sandbox
        .says("run tiny.yaml")
        .ended_with(2)
        .complained_of(&["tiny.yaml:5", "leave `topology` out"]);
    refused(
        "topology",
        "weights: uniform",
        &["tiny.yaml", "add a topology"],
    );
}

#[test]
fn overrides_that_lead_nowhere() {
    let sandbox = Sandbox::new();
    let refused = |value: &str, parts: &[&str]| {
        sandbox
            .meshfold(&["run", "tiny.yaml", "--set", value])
            .ended_with(2)
            .complained_of(parts);
    };
    refused("ruonds=3", &["--set", "did you mean `rounds`?"]);
    refused("rounds", &["--set seed=2"]);
    refused(
        "algorithm.dfedavgm.batch_size=0",
        &["--set", "batch_size is 0"],
    );
    assert!(!sandbox.path("runs").exists());
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let sandbox = Sandbox::new();
    sandbox
        .says("run none.yaml")
        .ended_with(2)
        .complained_of(&["none.yaml"]);
    sandbox.write("taken", "a file where the results should go");
    sandbox
        .says("run tiny.yaml --results taken")
        .ended_with(2)
        .complained_of(&["taken/tiny", "--results"]);
    assert_eq!(sandbox.read("taken"), "a file where the results should go");
}

#[test]
fn command_lines_that_say_nothing() {
    let sandbox = Sandbox::new();
    for line in [
        "",
        "rnu",
        "run",
        "run tiny.yaml --threads 0",
        "overlay",
        "report",
        "completions tcl",
    ] {
        sandbox.says(line).ended_with(2).complained_of(&["--help"]);
    }
}

#[test]
fn mistakes_in_long_lines_and_other_encodings() {
    let far = format!("rounds:{}x", " ".repeat(70_000));
    refused(
        "rounds",
        &far,
        &["tiny.yaml:12:70008", "needed a whole number"],
    );
    let sandbox = Sandbox::new();
    let bytes: Vec<u8> = TINY
        .replace("ring", "r\u{ff}ng")
        .chars()
        .map(|c| c as u8)
        .collect();
    std::fs::write(sandbox.path("latin.yaml"), bytes).unwrap();
    sandbox
        .says("plan latin.yaml")
        .ended_with(2)
        .complained_of(&[
            "latin.yaml:5:12",
            "found the byte 0xFF at offset",
            "save the file as UTF-8",
        ]);
    let large = std::fs::File::create(sandbox.path("large.yaml")).unwrap();
    large.set_len(100 << 20).unwrap();
    sandbox
        .says("plan large.yaml")
        .ended_with(2)
        .complained_of(&[
            "large.yaml",
            "104857600 bytes (100 MiB), at most 67108864 bytes",
        ]);
    let name = format!("name: {}", "n".repeat(1_000_000));
    refused(
        "name",
        &name,
        &["tiny.yaml:1:7", "(1000000 characters)", "at most 200 bytes"],
    );
}

#[test]
fn more_threads_than_any_machine_has() {
    let sandbox = Sandbox::new();
    sandbox
        .says("run tiny.yaml --threads 65535")
        .ended_with(2)
        .complained_of(&["--threads: found 65535, needed at most"]);
    assert!(!sandbox.path("runs").exists());
    let cores = std::thread::available_parallelism().unwrap().get();
    let shared = sandbox.says(&format!("plan tiny.yaml --threads {}", cores + 1));
    shared
        .ended_with(0)
        .complained_of(&["warning: --threads", "share"]);
    let all = sandbox.says(&format!("plan tiny.yaml --threads {cores}"));
    assert_eq!(all.ended_with(0).err, "");
}
