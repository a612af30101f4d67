//! Random experiments that are planned and small: they run to their end, or fail with a message.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;

use crate::edge_values;
use crate::experiment_text::right;
use crate::flow_yaml::{Node, Style};
use crate::outcome::{expect_documented_files, run_folders};
use crate::program::{Program, Said};
use crate::reference::Reference;
use crate::session::{Case, CaseResult, Complaint, soak};

/// Kilobytes of addresses that a process may have.
const MOST_ADDRESSES: u64 = 6 << 20;

/// Time on the clock that planning or running may take before it is given up, which is no failure here.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn whatever_is_planned_runs_or_fails_with_a_message() {
    soak("random_runs", examine);
}

fn examine(case: &mut Case) -> CaseResult {
    static REFERENCE: LazyLock<Reference> = LazyLock::new(Reference::read);
    let folder = case.folder().to_owned();
    // Few draws are small enough.
    for _ in 0..10 {
        let tree = small(&REFERENCE, case);
        fs::write(folder.join("experiment.yaml"), tree.print(Style::Flow)).unwrap();
        let Some(plan) = limited(&folder, &["plan", "experiment.yaml", "--json"]) else {
            case.note("given up while it was planned");
            continue;
        };
        if plan.code == Some(0) && plan.json()?.iter().all(is_small) && plan.json()?.len() <= 6 {
            return run(case, &folder);
        }
    }
    case.note("nothing small was drawn");
    Ok(())
}

/// An experiment of few rounds on few examples, with a value at the edge now and then.
fn small(reference: &Reference, case: &mut Case) -> Node {
    let dice = &mut case.dice;
    let mut tree = right(reference, dice);
    for _ in 0..dice.within(0..=2) {
        let ways = tree.ways();
        let way = dice.pick(&ways[1..]).clone();
        let is_number = matches!(tree.at(&way), Node::Scalar(text) if text.parse::<f64>().is_ok());
        if is_number {
            *tree.at(&way) = edge_values::number(dice);
        }
    }
    let Node::Map(entries) = &mut tree else {
        return tree;
    };
    for (key, value) in entries.iter_mut() {
        match key.as_str() {
            "dataset" if !value.flow().contains("consensus") => {
                *value = Node::read("{glyphs: {train: 300, test: 40}}");
            }
            "rounds" => *value = Node::scalar(dice.within(1..=4).to_string()),
            _ => {}
        }
    }
    tree
}

/// Whether a run of the plan takes a moment.
fn is_small(plan: &Value) -> bool {
    let figure = |key: &str| plan[key].as_f64().unwrap_or(f64::INFINITY);
    let work = figure("local_steps_per_round") * figure("parameters");
    work < 3.0e7 && figure("rows") < 80.0 && figure("parameters") < 1.0e5
}

/// The program with limited memory and time; `None` if it was given up.
fn limited(folder: &Path, arguments: &[&str]) -> Option<Said> {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        &format!("ulimit -v {MOST_ADDRESSES} && exec \"$0\" \"$@\""),
    ]);
    command.arg(env!("CARGO_BIN_EXE_meshfold")).args(arguments);
    command.env("MESHFOLD_DATA", folder.join("data"));
    Program::spawn(folder, command).wait_at_most(PATIENCE)
}

/// Runs the experiment, looks at what it has left, and starts it once more.
fn run(case: &mut Case, folder: &Path) -> CaseResult {
    let line = ["run", "experiment.yaml", "--json"];
    let Some(said) = limited(folder, &line) else {
        case.note("given up while it ran");
        return Ok(());
    };
    said.is_decent()?;
    let runs = fs::read_dir(folder.join("runs")).into_iter().flatten();
    let runs: Vec<_> = runs
        .flat_map(|name| run_folders(&name.unwrap().path()))
        .collect();
    match said.code {
        Some(0) => {
            case.note("ran to its end");
            for run in &runs {
                expect_documented_files(run, &[])?;
            }
            let again = limited(folder, &line).filter(|again| again.code != Some(0));
            again.map_or(Ok(()), |again| {
                Err(again.complaint("what ran once fails when it is skipped"))
            })
        }
        Some(1) => {
            case.note("failed with a message");
            expect_reasons(&said)
        }
        _ => Err(said.complaint(format!("planned, but run ends with code {:?}", said.code))),
    }
}

/// Requires that every run that failed says why.
fn expect_reasons(said: &Said) -> Result<(), Complaint> {
    let is_told = |line: &Value| {
        line["ending"] != "failed"
            || line["error"]
                .as_str()
                .is_some_and(|error| !error.is_empty())
    };
    match said.json()?.iter().all(is_told) && !said.err.is_empty() {
        true => Ok(()),
        false => Err(said.complaint("a run fails without a message")),
    }
}
