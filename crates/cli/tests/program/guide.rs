//! The pages of the guide: what they tell a reader to do works, and prints what they say.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::figure::finished;
use crate::interruption::interrupt_once;
use crate::pages::{Page, Step, arguments};
use crate::sandbox::Sandbox;

/// What the program in Python of `docs/guide/own-data.md` writes.
const PATIENTS: &[u8] = include_bytes!("guide/patients.npz");

/// What the program in Python of `docs/guide/own-table.md` writes.
const VISITS: &[u8] = include_bytes!("guide/visits.csv");

/// The page `docs/guide/<name>.md`, and a folder with the files that it tells to write.
fn opened(name: &str) -> (Page, Sandbox) {
    let page = Page::read(&format!("docs/guide/{name}.md"));
    let sandbox = Sandbox::new();
    page.write_files(&sandbox);
    (page, sandbox)
}

/// Does what a page says, step by step.
fn carry_out(steps: &[Step], sandbox: &Sandbox) {
    assert!(!steps.is_empty());
    steps.iter().for_each(|step| step.holds(sandbox));
}

fn assert_are_files(sandbox: &Sandbox, names: &[&str]) {
    for name in names {
        assert!(sandbox.path(name).is_file(), "{name}");
    }
}

#[test]
fn methods_are_compared() {
    let (page, sandbox) = opened("compare-methods");
    carry_out(&page.steps(), &sandbox);
    assert_are_files(&sandbox, &["compare.tex", "compare.pdf", "ring.pdf"]);
    let table = sandbox.read("compare.tex");
    assert!(
        table.contains("\\toprule") && table.contains("dfedavgm"),
        "{table}"
    );
}

#[test]
fn neighbours_learn_about_data() {
    let (page, sandbox) = opened("privacy");
    carry_out(&page.steps(), &sandbox);
}

#[test]
fn messages_are_lost() {
    let (page, sandbox) = opened("lost-messages");
    carry_out(&page.steps(), &sandbox);
    assert_are_files(&sandbox, &["lossy.svg"]);
}

#[test]
fn own_data_are_read() {
    let (page, sandbox) = opened("own-data");
    fs::write(sandbox.path("patients.npz"), PATIENTS).unwrap();
    carry_out(&page.steps(), &sandbox);
}

#[test]
fn an_own_table_is_read_as_it_is() {
    let (page, sandbox) = opened("own-table");
    fs::write(sandbox.path("visits.csv"), VISITS).unwrap();
    let plain = "dataset={csv: {file: visits.csv, label: outcome}}";
    let plan = sandbox.meshfold(&["plan", "visits.yaml", "--set", plain]);
    let text = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/own-table.md"),
    );
    let told = "visits.csv: line 2, column `date`: `2026-01-01` is no number: name the column in `categories`";
    assert!(text.unwrap().contains(told));
    plan.ended_with(2).complained_of(&[told]);
    carry_out(&page.steps(), &sandbox);
}

#[test]
fn an_own_overlay_takes_turns() {
    let (page, sandbox) = opened("own-overlay");
    carry_out(&page.steps(), &sandbox);
}

#[test]
fn slow_clients_are_waited_for() {
    let (page, sandbox) = opened("slow-clients");
    carry_out(&page.steps(), &sandbox);
}

#[test]
fn a_rate_is_chosen_after_an_interruption() {
    let (page, sandbox) = opened("choose-a-rate");
    let steps = page.steps();
    let [plan, interrupted, rest @ ..] = steps.as_slice() else {
        panic!("{} steps", steps.len())
    };
    plan.holds(&sandbox);
    let [run] = interrupted.commands.as_slice() else {
        panic!("{:?}", interrupted.commands)
    };
    let child = sandbox.start(&arguments(run).join(" "));
    let some_are_finished = || {
        let runs = sandbox.runs("rates");
        let finished = runs
            .iter()
            .filter(|run| sandbox.path(run).join("DONE").is_file());
        finished.count() >= 3
    };
    let (code, said) = interrupt_once(child, "-INT", some_are_finished);
    assert_eq!(code, Some(130), "{said}");
    let finished = sandbox.says("runs runs/rates --state finished --json");
    let finished = finished.ended_with(0).json().len();
    assert!((3..60).contains(&finished), "{finished}");
    carry_out(rest, &sandbox);
}

#[test]
#[cfg(target_os = "linux")]
fn a_long_run_is_followed_from_another_terminal() {
    use crate::watching::Watching;

    let (page, sandbox) = opened("follow-a-run");
    let steps = page.steps();
    let [start, watch, running, stopped, again] = steps.as_slice() else {
        panic!("{} steps", steps.len())
    };
    assert_eq!(watch.commands, ["watch runs/long"]);
    let run = arguments(&start.commands[0]).join(" ") + " --at-once 2";
    let going_on = sandbox.start(&run);
    let watching = Watching::start(&sandbox, "runs/long");
    let are_evaluated =
        |rounds: &[f64]| rounds.len() == 2 && rounds.iter().all(|round| *round > 50.0);
    watching.wait_for(|page| are_evaluated(&page.rounds()));
    let list = |of: &Step| sandbox.says(&of.commands[0]).ended_with(0).out;
    running.is_resembled_by(&list(running));
    let (code, said) = interrupt_once(going_on, "-INT", || true);
    assert_eq!(code, Some(130), "{said}");
    stopped.is_resembled_by(&list(stopped));
    // It goes on where it was, until it is interrupted once more.
    let going_on = sandbox.start(&run);
    let before = watching
        .wait_for(|page| are_evaluated(&page.rounds()))
        .rounds();
    watching.wait_for(|page| {
        page.rounds()
            .iter()
            .zip(&before)
            .all(|(now, then)| now > then)
    });
    let (code, said) = interrupt_once(going_on, "-INT", || true);
    assert_eq!(code, Some(130), "{said}");
    again.is_resembled_by(&said);
}

#[test]
fn the_worst_client_is_found() {
    let (page, sandbox) = opened("worst-client");
    carry_out(&page.steps(), &sandbox);
    let report = sandbox.read("runs/worst/report.html");
    assert!(report.contains("The worst clients"));
    // Summed over the seeds, at the last evaluation, as the page's program in Python does.
    let file = fs::File::open(sandbox.path("runs/worst/clients.parquet")).unwrap();
    let rows = SerializedFileReader::new(file).unwrap();
    let mut accuracies = [0.0; 20];
    for row in rows.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let cells: HashMap<&String, &Field> = row.get_column_iter().collect();
        let cell = |name: &str| cells[&name.to_owned()].to_string();
        let number = |name: &str| cell(name).parse::<f64>().unwrap();
        if number("round") == 60.0 {
            accuracies[number("row") as usize] += number("accuracy");
            assert!(number("own_labels_accuracy") > 0.5 && number("label_3_accuracy") < 1.0);
        }
    }
    let by_accuracy = |a: &usize, b: &usize| accuracies[*a].total_cmp(&accuracies[*b]);
    assert_eq!((0..20).min_by(by_accuracy), Some(12), "{accuracies:?}");
}

#[test]
fn the_experiments_of_every_page_can_be_planned() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/guide"] {
        let entries = fs::read_dir(project.join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let pages_there = names.filter(|name| name.ends_with(".md"));
        pages.extend(pages_there.map(|name| format!("{folder}/{name}")));
    }
    let mut planned = 0;
    for name in pages {
        let page = Page::read(&name);
        let sandbox = Sandbox::new();
        page.write_files(&sandbox);
        fs::write(sandbox.path("patients.npz"), PATIENTS).unwrap();
        fs::write(sandbox.path("visits.csv"), VISITS).unwrap();
        for experiment in page.experiments() {
            sandbox.write("experiment.yaml", &experiment);
            let said = sandbox.says("plan experiment.yaml --without-data");
            assert_eq!(said.code, Some(0), "{name}: {}", said.err);
            planned += 1;
        }
    }
    assert!(planned >= 7, "{planned}");
}

#[test]
fn the_commands_about_finished_runs_work() {
    let (sandbox, _) = finished();
    for (name, least) in [("README.md", 3), ("docs/tables.md", 8)] {
        let steps = Page::read(name).steps();
        let commands = steps.iter().flat_map(|step| &step.commands);
        let about_runs = ["report ", "table ", "figure ", "overlay "];
        let commands =
            commands.filter(|command| about_runs.iter().any(|it| command.starts_with(it)));
        let commands: Vec<&String> = commands.collect();
        assert!(commands.len() >= least, "{commands:?}");
        for command in commands {
            let words = arguments(command);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            sandbox.meshfold(&words).ended_with(0);
        }
    }
}
