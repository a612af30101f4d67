//! The other commands with random arguments: they do what they are asked for or refuse it, in little memory.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::edge_values;
use crate::experiment_text::{edge_of, right};
use crate::flow_yaml::{Node, Style};
use crate::process_figures::most_resident_bytes;
use crate::program::{Program, Said};
use crate::reference::Reference;
use crate::session::{Case, CaseResult, Complaint, complaint, soak};

/// Kilobytes of addresses that a process may have.
const MOST_ADDRESSES: u64 = 4 << 20;

/// Memory that a command may hold.
const MOST_BYTES: u64 = 1 << 30;

/// Time on the clock after which a command is given up, which is no failure here.
const PATIENCE: Duration = Duration::from_secs(15);

/// A simulation of an overlay under churn that takes a moment.
const CHURN: &str = "{nodes: 40, spaces: 2, seed: 1, latency: {uniform: [20, 120]}, heartbeat_seconds: 1, timeout_seconds: 3, \
    start: grown, events: [{at_seconds: 2, fail: {share: 0.3}}, {at_seconds: 4, join: {count: 5}}, \
    {at_seconds: 6, leave: {count: 5}}], until_seconds: 9, sample_seconds: 0.5, \
    sweep: {grid: {events.0.fail.share: [0.1, 0.2]}}}";

/// Numbers of nodes, most of them possible.
const NODES: [&str; 16] = [
    "2",
    "3",
    "10",
    "64",
    "100",
    "101",
    "500",
    "1000",
    "20000",
    "1",
    "0",
    "-1",
    "100000",
    "1000000000",
    "4294967295",
    "many",
];

/// Paths that hold no experiment and no runs.
const PATHS: [&str; 9] = [
    "nowhere",
    ".",
    "said",
    "/dev/null",
    "/dev/zero",
    "/proc",
    "/proc/self/mem",
    "noise",
    "",
];

#[test]
fn commands_do_what_they_are_asked_for_or_refuse_it() {
    soak("commands", examine);
}

fn examine(case: &mut Case) -> CaseResult {
    static REFERENCE: LazyLock<Reference> = LazyLock::new(Reference::read);
    let folder = case.folder().to_owned();
    let dice = &mut case.dice;
    let (kind, arguments) = match dice.within(0..=9) {
        0..=2 => ("overlay", overlay(&REFERENCE, dice)),
        3 | 4 => ("churn", churn(&folder, dice)),
        5 | 6 => ("partition", partition(&REFERENCE, &folder, dice)),
        7 | 8 => ("speedup", speedup(dice)),
        _ => ("paths", paths(&folder, dice)),
    };
    let line: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(said) = within_limits(&folder, &line)? else {
        case.note(format!("{kind}: given up after {} s", PATIENCE.as_secs()));
        return Ok(());
    };
    case.note(format!("{kind}: code {:?}", said.code.unwrap_or(-1)));
    let said = said.ended_with(&[0, 1, 2])?;
    if said.code != Some(0) && said.err.trim().is_empty() {
        return Err(said.complaint(format!("{kind} fails without a word")));
    }
    Ok(())
}

/// Runs the program with limited memory and time; `None` if it was given up.
fn within_limits(folder: &Path, arguments: &[&str]) -> Result<Option<Said>, Complaint> {
    let mut command = Command::new("sh");
    command.args([
        "-c",
        &format!("ulimit -v {MOST_ADDRESSES} && exec \"$0\" \"$@\""),
    ]);
    command.arg(env!("CARGO_BIN_EXE_meshfold")).args(arguments);
    command.env("MESHFOLD_DATA", folder.join("data"));
    let mut program = Program::spawn(folder, command);
    let (began, mut most) = (Instant::now(), 0);
    while program.is_running() && began.elapsed() < PATIENCE {
        most = most_resident_bytes(program.id()).map_or(most, |bytes| bytes.max(most));
        sleep(Duration::from_millis(2));
    }
    if most > MOST_BYTES {
        let choice = arguments.iter().find(|word| word.starts_with(['{', '/']));
        let name: String = choice
            .unwrap_or(&"")
            .chars()
            .take_while(|letter| *letter != ':')
            .collect();
        let what = format!("`{} {name}` takes more than 1 GB", arguments[0]);
        return Err(complaint(
            what,
            format!("{} MiB: {arguments:?}", most >> 20),
        ));
    }
    Ok(program.wait_at_most(Duration::ZERO))
}

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

/// `overlay` with a topology and weights of the reference, now and then with a number at the edge.
fn overlay(reference: &Reference, dice: &mut Dice) -> Vec<String> {
    let mut value = |key: &str, share: f64| {
        let value = reference.line(key, dice);
        match dice.chance(share) {
            true => edge_of(&value, dice).flow(),
            false => value.flow(),
        }
    };
    let (topology, weights) = (value("topology", 0.3), value("weights", 0.2));
    let nodes = *dice.pick(&NODES);
    let mut line = words(&[
        "overlay",
        "--topology",
        &topology,
        "--nodes",
        nodes,
        "--json",
    ]);
    if dice.chance(0.5) {
        line.extend(words(&["--weights", &weights]));
    }
    if dice.chance(0.2) {
        line.extend(words(&["--seed", &edge_values::number(dice).flow()]));
    }
    line
}

/// `churn` of a small simulation with up to two values at the edge.
fn churn(folder: &Path, dice: &mut Dice) -> Vec<String> {
    let mut tree = Node::read(CHURN);
    for _ in 0..dice.within(0..=2) {
        let ways = tree.ways();
        let way = dice.pick(&ways[1..]).clone();
        let changed = match dice.chance(0.8) {
            true => edge_of(tree.at(&way), dice),
            false => edge_values::wrong(dice),
        };
        *tree.at(&way) = changed;
    }
    fs::write(folder.join("churn.yaml"), tree.print(Style::draw(dice))).unwrap();
    words(&["churn", "churn.yaml", "--html", "churn.html", "--json"])
}

/// `partition` of an experiment of the reference with a value at the edge.
fn partition(reference: &Reference, folder: &Path, dice: &mut Dice) -> Vec<String> {
    let mut tree = right(reference, dice);
    let ways = tree.ways();
    let way = dice.pick(&ways[1..]).clone();
    *tree.at(&way) = edge_of(tree.at(&way), dice);
    fs::write(folder.join("experiment.yaml"), tree.print(Style::Flow)).unwrap();
    words(&[
        "partition",
        "experiment.yaml",
        *dice.pick(&["--json", "--csv"]),
    ])
}

/// `speedup` with numbers at the edge.
fn speedup(dice: &mut Dice) -> Vec<String> {
    let mut line = words(&["speedup", "--json", "--samples", "200"]);
    for (option, usual) in [
        ("--servers", "5"),
        ("--participants", "100"),
        ("--local-steps", "3"),
        ("--server-delay", "1.0"),
        ("--client-delay", "2.0"),
        ("--step-delay", "0.5"),
        ("--exchange-delay", "0.1"),
    ] {
        let value = match dice.chance(0.25) {
            true => edge_values::number(dice).flow(),
            false => usual.to_owned(),
        };
        line.extend(words(&[option, &value]));
    }
    if dice.chance(0.5) {
        let topology = *dice.pick(&[
            "ring",
            "star",
            "{regular: {degree: 2}}",
            "{d_cliques: {}}",
            "one_peer",
            "[",
            "~",
        ]);
        line.extend(words(&["--topology", topology]));
    }
    line
}

/// Commands that read files, given something else.
fn paths(folder: &Path, dice: &mut Dice) -> Vec<String> {
    let noise: Vec<u8> = (0..2000).map(|_| dice.within(0..=u8::MAX)).collect();
    fs::write(folder.join("noise"), noise).unwrap();
    let path = *dice.pick(&PATHS);
    match dice.within(0..=6) {
        0 => words(&["plan", path]),
        1 => words(&["run", path]),
        2 => words(&["report", path, "--out", "page.html"]),
        3 => words(&["churn", path]),
        4 => words(&["data", "check", path]),
        5 => words(&["data", "list", "--data-dir", path]),
        _ => words(&["overlay", path]),
    }
}
