//! A sweep of very many runs: how long it takes, what it holds, what it leaves, and that it is skipped when it is done.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::damage::files_below;
use crate::outcome::{expect_documented_files, run_folders};
use crate::process_figures::most_resident_bytes;
use crate::program::{Program, Said};
use crate::session::{Case, CaseResult, Complaint, Session, complaint, setting};

/// Runs of the smallest kind.
const SWEEP: &str = "\
name: large
dataset: {glyphs: {train: 60, test: 10}}
partition: {iid: {clients: 4}}
topology: ring
model: logistic
algorithm: {dsgd: {batch_size: 5, learning_rate: 0.05}}
rounds: 2
evaluate: {every: 1}
checkpoint: {every: 1}
";

/// Bytes that a run may leave on disk.
const MOST_OF_A_RUN: u64 = 200_000;

/// Bytes that the process may hold with few runs, and for each run.
const MOST_MEMORY: (u64, u64) = (400 << 20, 100 << 10);

/// Time on the clock in which runs that are done are skipped: with few runs, and for each run.
const MOST_TO_SKIP: (Duration, Duration) = (Duration::from_secs(20), Duration::from_millis(3));

/// The command that does the sweep, or what is left of it.
const RUN: [&str; 4] = ["run", "large.yaml", "-q", "--json"];

/// Runs that are made first, to see whether there is room for all.
const FIRST: u64 = 50;

#[test]
fn a_sweep_of_many_runs_is_done_and_skipped() {
    let mut session = Session::new("large_sweep");
    if let Some(number) = session.next() {
        let (mut case, mut troubles) = (session.case(number), Vec::new());
        let verdict = examine(&mut case, &mut troubles);
        for trouble in troubles {
            session.put_down(session.case(number), Err(trouble));
        }
        session.put_down(case, verdict);
    }
    session.end();
}

/// Runs, skips and reports the sweep. What is wrong but lets the rest go on is added to `troubles`.
fn examine(case: &mut Case, troubles: &mut Vec<Complaint>) -> CaseResult {
    let count = setting("MESHFOLD_SOAK_RUNS").unwrap_or(150);
    let (folder, first) = (case.folder().to_owned(), FIRST.min(count));
    let results = folder.join("runs/large");
    write_sweep(&folder, first);
    timed(&folder, &RUN)?;
    let each = disk(&results) / first;
    case.note(format!("{each} bytes of disk a run"));
    if each > MOST_OF_A_RUN {
        let trouble = complaint("a run takes too much disk", format!("{each} bytes a run"));
        if count > 1000 {
            return Err(trouble);
        }
        troubles.push(trouble);
    }
    write_sweep(&folder, count);
    let all = timed(&folder, &RUN)?;
    case.note(format!("{count} runs: {}", all.figures()));
    expect_endings(&all.said, count, "finished", count - first)?;
    let skipped = timed(&folder, &RUN)?;
    case.note(format!("skipping them: {}", skipped.figures()));
    expect_endings(&skipped.said, count, "skipped", count)?;
    if skipped.took > MOST_TO_SKIP.0 + MOST_TO_SKIP.1 * count as u32 {
        let what = "skipping what is done takes long";
        troubles.push(complaint(what, skipped.figures()));
    }
    let report = timed(&folder, &["report", "runs/large"])?;
    case.note(format!("the report of all: {}", report.figures()));
    for command in [&all, &skipped, &report] {
        troubles.extend(command.expect_memory(count).err());
    }
    for run in run_folders(&results) {
        expect_documented_files(&run, &[])?;
    }
    Ok(())
}

fn write_sweep(folder: &Path, count: u64) {
    let seeds: Vec<String> = (1..=count).map(|seed| seed.to_string()).collect();
    let yaml = format!("{SWEEP}sweep: {{grid: {{seed: [{}]}}}}\n", seeds.join(", "));
    fs::write(folder.join("large.yaml"), yaml).unwrap();
}

/// Bytes of all files below `folder`.
fn disk(folder: &Path) -> u64 {
    let bytes = |file: &std::path::PathBuf| fs::metadata(folder.join(file)).unwrap().len();
    files_below(folder).iter().map(bytes).sum()
}

/// A command that has ended well, with its time and memory.
struct Timed {
    said: Said,
    took: Duration,
    most_bytes: u64,
}

fn timed(folder: &Path, arguments: &[&str]) -> Result<Timed, Complaint> {
    let began = Instant::now();
    let mut program = Program::start(folder, arguments);
    let mut most_bytes = 0;
    // The sweep may take as long as it needs; a single command of the other tests may not.
    while program.is_running() {
        most_bytes =
            most_resident_bytes(program.id()).map_or(most_bytes, |bytes| bytes.max(most_bytes));
        sleep(Duration::from_millis(5));
    }
    Ok(Timed {
        took: began.elapsed(),
        said: program.wait()?.ended_with(&[0])?,
        most_bytes,
    })
}

impl Timed {
    fn figures(&self) -> String {
        format!(
            "{:.1} s, {} MiB",
            self.took.as_secs_f64(),
            self.most_bytes >> 20
        )
    }

    fn expect_memory(&self, runs: u64) -> CaseResult {
        match self.most_bytes > MOST_MEMORY.0 + MOST_MEMORY.1 * runs {
            true => {
                let command = self.said.line.split(' ').next().unwrap_or_default();
                Err(complaint(
                    format!("`{command}` of many runs holds too much"),
                    self.figures(),
                ))
            }
            false => Ok(()),
        }
    }
}

/// Requires one line for each of `count` runs, and that `expected` of them have the given ending.
fn expect_endings(said: &Said, count: u64, ending: &str, expected: u64) -> CaseResult {
    let lines = said.json()?;
    let ended = lines.iter().filter(|line| line["ending"] == ending).count() as u64;
    if lines.len() as u64 == count && ended == expected {
        return Ok(());
    }
    let detail = format!(
        "{} lines, {ended} of them {ending}, expected {expected} of {count}",
        lines.len()
    );
    Err(complaint(
        "a sweep of many runs does not account for all",
        detail,
    ))
}
