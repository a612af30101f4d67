//! Runs that are damaged or cannot be written, among runs that are whole.

use std::fs;

use crate::sandbox::{Said, Sandbox};

/// A finished sweep of three runs, and their folders in the order of the sweep.
fn finished() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    let tiny = sandbox.read("tiny.yaml");
    let sweep = "sweep: {grid: {topology: [ring, complete], seed: [2, 1]}}\n";
    sandbox.write("sweep.yaml", &format!("{tiny}{sweep}"));
    let folders = folders(&sandbox.says("run sweep.yaml --json").ended_with(0));
    (sandbox, folders)
}

fn folders(said: &Said) -> Vec<String> {
    let lines = said.json();
    let folder = |line: &serde_json::Value| line["folder"].as_str().unwrap().to_owned();
    lines.iter().map(folder).collect()
}

#[test]
fn a_finished_sweep_with_a_damaged_run_still_prints_its_table() {
    for file in [
        "config.yaml",
        "summary.json",
        "overlay.json",
        "clients.parquet",
    ] {
        let (sandbox, folders) = finished();
        let path = format!("{}/{file}", folders[1]);
        fs::remove_file(sandbox.path(&path)).unwrap();
        let said = sandbox
            .says("run sweep.yaml")
            .ended_with(1)
            .complained_of(&[
                "topology=ring, seed=1",
                &format!("{file} is missing"),
                "--again",
            ]);
        assert_eq!(said.err.matches("is missing").count(), 1, "{}", said.err);
        assert_eq!(said.out.matches("skipped").count(), 3, "{}", said.out);
        assert_eq!(said.out.matches("damaged").count(), 1, "{}", said.out);
        assert!(said.out.contains("report: runs/tiny/report.html"));
        let page = sandbox.read("runs/tiny/report.html");
        assert!(page.contains("id=\"left-out\"") && page.contains(&format!("{file} is missing")));
        let lines = sandbox.says("run sweep.yaml --json").ended_with(1).json();
        assert_eq!(lines[1]["ending"], "damaged");
        assert!(lines[1]["error"].as_str().unwrap().contains(file));
        let again = sandbox.says("run sweep.yaml --again --json").ended_with(0);
        assert!(again.json().iter().all(|line| line["ending"] == "finished"));
    }
}

#[test]
fn a_report_names_the_run_that_it_leaves_out() {
    let (sandbox, folders) = finished();
    sandbox.write(&format!("{}/overlay.json", folders[2]), "{\"nodes\": ");
    fs::create_dir(sandbox.path("runs/tiny/notes")).unwrap();
    let said = sandbox
        .says("report runs/tiny")
        .ended_with(1)
        .complained_of(&[
            &folders[2],
            "topology=complete, seed=2",
            "overlay.json is damaged",
            "--again",
            "runs/tiny/notes is left out",
        ]);
    assert!(
        said.out.contains("report: runs/tiny/report.html"),
        "{}",
        said.out
    );
    sandbox
        .says(&format!("report {} --out one.html", folders[2]))
        .ended_with(1)
        .complained_of(&["overlay.json is damaged"]);
    assert!(!sandbox.path("one.html").exists());
    let whole = format!("report {} {} --out two.html", folders[0], folders[1]);
    sandbox.says(&whole).ended_with(0);
}

#[test]
fn a_run_that_lost_its_page_gets_it_again() {
    let (sandbox, folders) = finished();
    let page = format!("{}/report.html", folders[0]);
    let whole = sandbox.read(&page);
    fs::remove_file(sandbox.path(&page)).unwrap();
    sandbox.write(&format!("{}/report.html", folders[1]), &whole[..500]);
    sandbox.says("run sweep.yaml -q").ended_with(0);
    assert_eq!(sandbox.read(&page), whole);
    let other = sandbox.read(&format!("{}/report.html", folders[1]));
    assert!(other.ends_with("</html>\n"));
}

#[test]
fn a_page_that_cannot_be_written_costs_no_run() {
    let (sandbox, folders) = finished();
    sandbox.write("others/tiny/report.html/in the way", "");
    let said = sandbox
        .says("run sweep.yaml --results others --json")
        .ended_with(1)
        .complained_of(&["no report of the sweep", "others/tiny/report.html"]);
    assert!(said.json().iter().all(|line| line["ending"] == "finished"));
    let said = sandbox
        .says("run sweep.yaml --results others")
        .ended_with(1);
    assert_eq!(said.out.matches("skipped").count(), 4, "{}", said.out);

    for folder in &folders[..2] {
        fs::remove_file(sandbox.path(&format!("{folder}/report.html"))).unwrap();
        sandbox.write(&format!("{folder}/report.html/in the way"), "");
    }
    let said = sandbox
        .says("run sweep.yaml")
        .ended_with(1)
        .complained_of(&["topology=ring, seed=2", "no report", "meshfold report"]);
    assert_eq!(said.out.matches("skipped").count(), 4, "{}", said.out);
    assert!(said.out.contains("report: runs/tiny/report.html"));
}

#[test]
fn a_run_whose_files_fail_costs_no_other_run() {
    let (sandbox, folders) = finished();
    let id = folders[1].rsplit('/').next().unwrap();
    sandbox.write(&format!("others/tiny/{id}/metrics.jsonl/in the way"), "");
    let said = sandbox
        .says("run sweep.yaml --results others --json")
        .ended_with(1)
        .complained_of(&["failed", "metrics.jsonl"]);
    let lines = said.json();
    let endings: Vec<&str> = lines
        .iter()
        .map(|line| line["ending"].as_str().unwrap())
        .collect();
    assert_eq!(endings, ["finished", "failed", "finished", "finished"]);
    assert!(
        lines[1]["error"]
            .as_str()
            .unwrap()
            .contains("metrics.jsonl")
    );
    assert!(sandbox.path("others/tiny/report.html").is_file());
}

#[test]
fn a_report_keeps_the_order_of_the_sweep() {
    let (sandbox, folders) = finished();
    fs::remove_file(sandbox.path("runs/tiny/report.html")).unwrap();
    sandbox.says("report runs/tiny").ended_with(0);
    let page = sandbox.read("runs/tiny/report.html");
    let places: Vec<usize> = folders
        .iter()
        .map(|folder| {
            let footer = page.rsplit_once("from the records of runs ").unwrap().1;
            footer.find(folder.rsplit('/').next().unwrap()).unwrap()
        })
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn the_runs_of_a_sweep_take_little_space() {
    let (sandbox, folders) = finished();
    for folder in &folders {
        let page = sandbox.read(&format!("{folder}/report.html"));
        assert!(
            page.len() < 100_000 && page.contains("src=\"../plotly-"),
            "{}",
            page.len()
        );
    }
    assert!(
        sandbox
            .read("runs/tiny/report.html")
            .contains("id=\"plotly-packed\"")
    );
    let names = fs::read_dir(sandbox.path("runs/tiny")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.ends_with(".js")).count(), 1);
    sandbox
        .says("run tiny.yaml -q --results alone")
        .ended_with(0);
    let alone = fs::read_dir(sandbox.path("alone/tiny")).unwrap().count();
    assert_eq!(alone, 1, "a run alone needs no file beside its folder");
}
