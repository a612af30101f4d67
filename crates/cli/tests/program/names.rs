//! Names of labels and owners, from a table to the results.

use std::collections::BTreeSet;
use std::fs;

use parquet::file::reader::SerializedFileReader;
use parquet::record::Row;

use crate::sandbox::Sandbox;

const YAML: &str = "\
name: birds
dataset: {csv: {file: birds.csv, label: kind, client: garden, header: true, test: {share: 0.25}}}
partition: by_writer
topology: ring
model: logistic
algorithm: {dsgd: {batch_size: 2, learning_rate: 0.1}}
rounds: 4
checkpoint: {every: 1}
sweep: {grid: {seed: [1, 2]}}
";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut csv = "weight,wing,kind,garden\n".to_owned();
    for place in 0..40 {
        let kind = ["wren", "robin", "tit"][place % 3];
        let garden = ["North", "\"East, end\""][place % 2];
        csv += &format!("{}.5,{},{kind},{garden}\n", place % 7, place % 11);
    }
    sandbox.write("birds.csv", &csv);
    sandbox.write("birds.yaml", YAML);
    sandbox
}

#[test]
fn names_go_from_the_table_to_the_results() {
    let sandbox = sandbox();
    let shown = sandbox.says("partition birds.yaml").ended_with(0).out;
    for name in ["East, end", "North", "robin", "tit", "wren"] {
        assert!(shown.contains(name), "{name} in {shown}");
    }
    let json = sandbox
        .says("partition birds.yaml --json")
        .ended_with(0)
        .json();
    assert_eq!(
        json[0]["names"]["labels"],
        serde_json::json!(["robin", "tit", "wren"])
    );
    sandbox.says("run birds.yaml").ended_with(0);
    let [run, _] = sandbox.runs("birds").try_into().unwrap();
    let names = fs::read_to_string(sandbox.path(&run).join("names.json")).unwrap();
    let names: serde_json::Value = serde_json::from_str(&names).unwrap();
    let expected = serde_json::json!({
        "labels": ["robin", "tit", "wren"],
        "clients": ["East, end", "North"],
    });
    assert_eq!(names, expected);
    let page = fs::read_to_string(sandbox.path(&run).join("report.html")).unwrap();
    assert!(page.contains("East, end") && page.contains("robin"));
    let table = fs::File::open(sandbox.path("runs/birds/clients.parquet")).unwrap();
    let reader = SerializedFileReader::new(table).unwrap();
    let owner = |row: Row| {
        let owner = row.get_column_iter().find(|(name, _)| *name == "owner");
        owner.unwrap().1.to_string()
    };
    let owners: BTreeSet<String> = reader.into_iter().map(|row| owner(row.unwrap())).collect();
    assert_eq!(owners.len(), 2);
    assert!(owners.contains("\"North\""), "{owners:?}");
    let path = sandbox.path(&run).join("names.json");
    fs::write(&path, "{\"labels\": [\"crow\"]}").unwrap();
    let told = sandbox.says("report runs/birds").ended_with(1).err;
    assert!(told.contains("names.json"), "{told}");
}

#[test]
fn copies_under_another_name_count_once_and_other_data_are_refused() {
    let sandbox = sandbox();
    sandbox.says("run birds.yaml -q").ended_with(0);
    let yaml = sandbox.read("birds.yaml");
    sandbox.write("copy.yaml", &yaml.replace("name: birds", "name: copy"));
    sandbox.says("run copy.yaml -q").ended_with(0);
    let both = sandbox.says("table runs/birds runs/copy").ended_with(0);
    assert!(both.err.contains("which counts once"), "{}", both.err);
    assert_eq!(both.out, sandbox.says("table runs/birds").ended_with(0).out);
    let first = sandbox.read("birds.csv");
    sandbox.write("birds.csv", &first.replace("0.5,", "9.25,"));
    sandbox.says("run copy.yaml --again -q").ended_with(0);
    for line in [
        "table runs/birds runs/copy",
        "figure runs/copy runs/birds -o a.svg",
    ] {
        sandbox
            .says(line)
            .complained_of(&["two runs of seed 1 on different data"]);
    }
}

#[test]
fn runs_on_a_file_that_was_replaced_are_not_taken_for_repetitions() {
    let sandbox = sandbox();
    sandbox.says("run birds.yaml -q").ended_with(0);
    let yaml = YAML.replace("seed: [1, 2]", "seed: [1, 2, 3]");
    sandbox.write("birds.yaml", &yaml);
    let first = sandbox.read("birds.csv");
    sandbox.write("birds.csv", &first.replace("0.5,", "9.25,"));
    sandbox.says("run birds.yaml -q").ended_with(0);
    let told = "seed 3 was made on other data than the first run";
    let table = sandbox.says("table runs/birds").ended_with(0);
    let said = format!("{}{}", table.out, table.err);
    assert!(said.contains(told), "{said}");
    let figure = sandbox.says("figure runs/birds -o a.svg").ended_with(0);
    assert!(figure.err.contains(told), "{}", figure.err);
    sandbox.write("alone.yaml", &yaml.replace("name: birds", "name: alone"));
    sandbox.says("run alone.yaml -q").ended_with(0);
    let replaced = |run: &&String| {
        let other = run.replace("birds", "alone");
        let said = sandbox.says(&format!("runs compare {run} {other}"));
        said.ended_with(0)
            .out
            .contains("a file of the dataset was replaced")
    };
    let runs = sandbox.runs("birds");
    assert_eq!((runs.len(), runs.iter().filter(replaced).count()), (3, 2));
}

#[test]
fn numbers_have_no_names() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "plain.yaml",
        "name: plain\ndataset: {glyphs: {train: 60, test: 10}}\npartition: {iid: {clients: 3}}\n\
         topology: ring\nmodel: logistic\nalgorithm: {dsgd: {batch_size: 5, learning_rate: 0.1}}\nrounds: 1\n",
    );
    sandbox.says("run plain.yaml").ended_with(0);
    let [run] = sandbox.runs("plain").try_into().unwrap();
    assert!(!sandbox.path(&run).join("names.json").exists());
}
