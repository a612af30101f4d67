//! Runs of many rounds hold no more memory in the end than after the first thousand.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::outcome::run_folders;
use crate::process_figures::resident_bytes;
use crate::program::Program;
use crate::session::{Case, CaseResult, Session, complaint, setting};

const USUAL: &str = "\
name: long
dataset: {glyphs: {train: 120, test: 20}}
partition: {iid: {clients: 6}}
model: {mlp: {hidden: [4]}}
algorithm: {dfedavgm: {local: {steps: 1}, batch_size: 5, learning_rate: 0.001}}
";

/// What a run does in its rounds, and how often it records.
const KINDS: [(&str, &str); 5] = [
    ("records", "topology: ring\nevaluate: {every: 1}\n"),
    (
        "checkpoints",
        "topology: ring\nevaluate: {every: 10}\ncheckpoint: {every: 20}\n",
    ),
    (
        "schedule",
        "topology: {redraw: {every: 1, of: {erdos_renyi: {p: 0.7}}}}\nevaluate: {every: 5}\n",
    ),
    (
        "failures",
        "topology: complete\nfailures: [{clients: {share: 0.3}, redraw: each_round}, {edges: {share: 0.1}, redraw: each_round}]\nevaluate: {every: 5}\n",
    ),
    (
        "network",
        "topology: ring\nnetwork: {links: {edge_capacitated: {bytes_per_second: {lognormal: {median: 1.0e6, sigma: 0.5}}, redraw: each_round}}, compute: {seconds_per_step: 0.02}}\nstragglers: {deadline_seconds: 0.1, policy: isolate}\nevaluate: {every: 5}\n",
    ),
];

/// Rounds after which everything that is held for the whole run is there.
const WARM: u64 = 1000;

/// Bytes by which memory may grow after that, besides what the records of the run itself take.
const MOST_GROWTH: u64 = 4 << 20;

/// Bytes that one record may take until its run ends.
const RECORD: u64 = 600;

#[test]
fn memory_does_not_grow_with_the_rounds() {
    let mut session = Session::new("flat_memory");
    while let Some(number) = session.next() {
        if number >= KINDS.len() as u64 {
            break;
        }
        let mut case = session.case(number);
        let verdict = examine(&mut case);
        session.put_down(case, verdict);
    }
    session.end();
}

fn examine(case: &mut Case) -> CaseResult {
    let (kind, settings) = KINDS[case.number as usize % KINDS.len()];
    let rounds = setting("MESHFOLD_SOAK_ROUNDS")
        .unwrap_or(3000)
        .max(WARM + 500);
    let folder = case.folder().to_owned();
    let yaml = format!("{USUAL}rounds: {rounds}\n{settings}");
    fs::write(folder.join("long.yaml"), yaml).unwrap();
    let mut program = Program::start(&folder, &["run", "long.yaml", "-q", "--threads", "1"]);
    let samples = watch(&mut program, &folder.join("runs/long"));
    program.wait()?.ended_with(&[0])?;
    let (Some(early), Some(late)) = (
        most(&samples, WARM, WARM + WARM / 4),
        most(&samples, rounds - rounds / 10, rounds),
    ) else {
        case.note(format!("{kind}: too fast to be watched"));
        return Ok(());
    };
    case.note(format!(
        "{kind}: {} KiB after {WARM} rounds, {} KiB after {rounds}",
        early >> 10,
        late >> 10
    ));
    let records = records(&folder.join("runs/long"));
    if late > early + MOST_GROWTH + RECORD * records {
        let detail = format!(
            "{} KiB after {WARM} rounds, {} KiB after {rounds}: {samples:?}",
            early >> 10,
            late >> 10
        );
        return Err(complaint(format!("memory grows: {kind}"), detail));
    }
    Ok(())
}

/// Rounds done and bytes held, now and then, until the program ends.
fn watch(program: &mut Program, results: &Path) -> Vec<(u64, u64)> {
    let mut samples = Vec::new();
    while program.is_running() {
        let round = metrics(results).and_then(|path| last_round(&path));
        if let (Some(round), Some(bytes)) = (round, resident_bytes(program.id())) {
            samples.push((round, bytes));
        }
        sleep(Duration::from_millis(10));
    }
    samples
}

/// The most bytes while the rounds `from` to `to` were done.
fn most(samples: &[(u64, u64)], from: u64, to: u64) -> Option<u64> {
    let within = samples
        .iter()
        .filter(|(round, _)| (from..to).contains(round));
    within.map(|(_, bytes)| *bytes).max()
}

fn metrics(results: &Path) -> Option<PathBuf> {
    Some(run_folders(results).first()?.join("metrics.jsonl"))
}

/// The round of the last whole record.
fn last_round(path: &Path) -> Option<u64> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4096)))
        .ok()?;
    let mut end = String::new();
    file.read_to_string(&mut end).ok()?;
    let record = end.rsplit("{\"round\":").next()?;
    record.split(',').next()?.parse().ok()
}

fn records(results: &Path) -> u64 {
    let text = metrics(results).and_then(|path| fs::read_to_string(path).ok());
    text.map_or(0, |text| text.lines().count() as u64)
}
