//! The page and the tables of an experiment's folder cover all its runs, whichever command made them.

use std::collections::BTreeSet;
use std::fs::{self, File};

use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::sandbox::{Said, Sandbox};

const SWEEP: &str = "sweep={grid: {topology: [ring, complete], seed: [1, 2]}}";

fn run(sandbox: &Sandbox, set: &[&str]) -> Said {
    let settings = set.iter().flat_map(|set| ["--set", *set]);
    let line: Vec<&str> = ["run", "tiny.yaml", "-q"]
        .into_iter()
        .chain(settings)
        .collect();
    sandbox.meshfold(&line)
}

/// The ids in a table of the experiment, by the order in which they come.
fn ids(sandbox: &Sandbox, table: &str) -> Vec<String> {
    let file = File::open(sandbox.path(&format!("runs/tiny/{table}"))).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let mut ids: Vec<String> = Vec::new();
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let (_, id) = row
            .get_column_iter()
            .find(|(name, _)| *name == "run")
            .unwrap();
        ids.push(id.to_string().trim_matches('"').to_owned());
    }
    ids.dedup();
    ids
}

fn all(sandbox: &Sandbox) -> BTreeSet<String> {
    let folders = sandbox.runs("tiny").into_iter();
    folders
        .map(|folder| folder.rsplit('/').next().unwrap().to_owned())
        .collect()
}

#[test]
fn a_part_of_a_sweep_with_another_setting_joins_the_others() {
    let sandbox = Sandbox::new();
    run(&sandbox, &[SWEEP]).ended_with(0);
    let part = "sweep={grid: {topology: [complete], seed: [2, 1]}}";
    let said = run(&sandbox, &[part, "rounds=2"]).ended_with(0);
    assert_eq!(said.out.matches("finished").count(), 2, "{}", said.out);
    assert_eq!(
        said.out.matches(" 2 ").count(),
        1,
        "two runs, one setting: {}",
        said.out
    );
    assert_eq!(all(&sandbox).len(), 6);
    for table in ["metrics.parquet", "clients.parquet"] {
        let ids = ids(&sandbox, table);
        assert_eq!(BTreeSet::from_iter(ids.clone()), all(&sandbox));
        let newest = &sandbox.json("runs/tiny/sweep.json")["runs"];
        assert_eq!(
            *newest,
            serde_json::json!(ids),
            "{table}: the newest sweep first"
        );
    }
    let page = sandbox.read("runs/tiny/report.html");
    for label in ["rounds 2", "rounds 4"] {
        assert!(page.contains(label), "the page names the setting: {label}");
    }
    // A command of one run brings them up to date as well.
    let said = run(&sandbox, &["seed=9"]).ended_with(0);
    assert!(said.out.contains("report: runs/tiny/") && !said.out.contains("tiny/report.html"));
    let ids = ids(&sandbox, "metrics.parquet");
    assert_eq!(BTreeSet::from_iter(ids), all(&sandbox));
}

#[test]
fn one_run_after_the_other_makes_no_page_of_all() {
    let sandbox = Sandbox::new();
    run(&sandbox, &["seed=1"]).ended_with(0);
    run(&sandbox, &["seed=2"]).ended_with(0);
    assert!(!sandbox.path("runs/tiny/report.html").exists());
}

#[test]
fn earlier_runs_that_cannot_be_shown_cost_the_command_nothing() {
    let sandbox = Sandbox::new();
    run(&sandbox, &[SWEEP]).ended_with(0);
    let earlier: Vec<String> = all(&sandbox).into_iter().collect();
    let file = |id: &str, file: &str| sandbox.path(&format!("runs/tiny/{id}/{file}"));
    fs::remove_file(file(&earlier[0], "overlay.json")).unwrap();
    for name in ["DONE", "summary.json", "clients.parquet"] {
        fs::remove_file(file(&earlier[1], name)).unwrap();
    }
    fs::create_dir(sandbox.path("runs/tiny/figures")).unwrap();
    let part = "sweep={grid: {topology: [torus, star]}}";
    let said = run(&sandbox, &[part]).ended_with(0);
    assert_eq!(
        said.err.matches("overlay.json is missing").count(),
        1,
        "{}",
        said.err
    );
    assert!(
        !said.err.contains(&earlier[1]) && !said.err.contains("figures"),
        "{}",
        said.err
    );
    let shown = BTreeSet::from_iter(ids(&sandbox, "metrics.parquet"));
    let mut expected = all(&sandbox);
    for id in [&earlier[0], &earlier[1], "figures"] {
        expected.remove(id);
    }
    assert_eq!(
        shown, expected,
        "unfinished runs of other commands are left out"
    );
}

#[test]
fn the_table_of_clients_gives_examples_to_clients_alone() {
    let sandbox = Sandbox::new();
    let methods = "sweep={grid: {algorithm: [{dsgd: {batch_size: 20, learning_rate: 0.1}}, \
                   {p_fedavg: {servers: {count: 2}, batch_size: 20, learning_rate: 0.1}}]}}";
    run(&sandbox, &[methods]).ended_with(0);
    let file = File::open(sandbox.path("runs/tiny/clients.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let kind = |row: &parquet::record::Row| {
        let cell = |name: &str| {
            let mut cells = row.get_column_iter();
            let cell = cells.find(|(found, _)| *found == name).unwrap();
            cell.1.to_string()
        };
        (cell("kind"), cell("examples") == "null")
    };
    let rows = reader.get_row_iter(None).unwrap();
    let seen: BTreeSet<(String, bool)> = rows.map(|row| kind(&row.unwrap())).collect();
    let quoted = |kind: &str| format!("\"{kind}\"");
    let expected = [(quoted("client"), false), (quoted("server"), true)];
    assert_eq!(seen, BTreeSet::from(expected));
}

#[test]
fn what_was_measured_of_clients_is_in_the_page_and_the_tables() {
    let sandbox = Sandbox::new();
    let seeds = "sweep={grid: {seed: [1, 2]}}";
    run(&sandbox, &[seeds, "evaluate.clients=[own, labels]"]).ended_with(0);
    run(&sandbox, &["seed=3"]).ended_with(0);
    let file = File::open(sandbox.path("runs/tiny/clients.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let columns = reader.metadata().file_metadata().schema().get_fields();
    let columns: Vec<&str> = columns.iter().map(|column| column.name()).collect();
    let after = columns.iter().position(|name| *name == "loss").unwrap() + 1;
    let own = ["own_accuracy", "own_labels_accuracy", "own_loss"];
    assert_eq!(columns[after..after + 3], own);
    assert_eq!(columns[after + 3], "label_0_accuracy");
    assert_eq!(columns[columns.len() - 1], "label_9_accuracy");
    let absent = |row: &parquet::record::Row| {
        let cells: Vec<_> = row.get_column_iter().collect();
        let text = |name: &str| {
            let cell = cells.iter().find(|(found, _)| *found == name).unwrap();
            cell.1.to_string()
        };
        (text("seed") == "3", text("own_loss") == "null")
    };
    let rows = reader.get_row_iter(None).unwrap();
    let seen: BTreeSet<(bool, bool)> = rows.map(|row| absent(&row.unwrap())).collect();
    assert_eq!(seen, BTreeSet::from([(false, false), (true, true)]));
    let page = fs::read_to_string(sandbox.path("runs/tiny/report.html")).unwrap();
    assert!(page.contains(
        r#""views":{"columns":["own_accuracy","own_loss","own_labels_accuracy","label_0_accuracy""#
    ));
}
