//! How many threads a sweep could keep busy: its work is recorded on one thread and then dealt to more threads than there are cores.

mod phase;
mod record;
mod schedule;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::BenchError;
use phase::Phase;
use record::{Recorded, record};
use schedule::{Idle, Timeline, Work, simulate};

/// What is to be recorded and dealt.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The experiment whose runs are carried out. Its results go to a folder that is removed in the end.
    file: PathBuf,
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16])]
    threads: Vec<usize>,
}

/// Tables of what the threads would do.
///
/// # Errors
/// [`BenchError`] if the experiment cannot be planned, or a run fails.
pub(crate) fn run(arguments: &Arguments) -> Result<String, BenchError> {
    let recorded = record(&arguments.file)?;
    let timelines: Vec<Timelines> = arguments
        .threads
        .iter()
        .map(|threads| Timelines::of(&recorded, (*threads).max(1)))
        .collect();
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_phases(&mut text, &recorded);
    let _ = write_timelines(&mut text, &recorded, &timelines);
    for timelines in timelines.iter().filter(|timelines| timelines.threads > 1) {
        let _ = write_idle(&mut text, timelines);
    }
    Ok(text)
}

/// What becomes of the recorded work on some threads.
struct Timelines {
    threads: usize,
    /// Before the first run, and after the last: the plan, the dataset, and what is about all runs.
    around: f64,
    /// Seconds of that in which the other threads have nothing to do, for each of them.
    around_idle: f64,
    in_turn: Timeline,
    side_by_side: Timeline,
}

impl Timelines {
    fn of(recorded: &Recorded, threads: usize) -> Self {
        let around = simulate(&recorded.around, threads, 1);
        Self {
            threads,
            around: around.seconds,
            around_idle: around.idle.values().sum(),
            in_turn: simulate(&recorded.runs, threads, 1),
            side_by_side: simulate(&recorded.runs, threads, threads),
        }
    }

    /// The share of the threads' time that is work.
    fn efficiency(&self, recorded: &Recorded, timeline: &Timeline) -> f64 {
        recorded.seconds() / (self.threads as f64 * (self.around + timeline.seconds))
    }
}

/// How the time of one thread is spent.
fn write_phases(text: &mut String, recorded: &Recorded) -> std::fmt::Result {
    let all = recorded.seconds();
    writeln!(text, "{} runs on one thread\n", recorded.runs.len())?;
    writeln!(
        text,
        "| | seconds of the processor | of all | shared by threads | seconds of the disk |\n|---|---|---|---|---|"
    )?;
    let mut row = |name: &str, seconds: f64, shared: f64, disk: f64| {
        let (part, shared) = (100.0 * seconds / all, 100.0 * shared / seconds.max(1e-12));
        writeln!(
            text,
            "| {name} | {seconds:.3} | {part:.1} % | {shared:.0} % | {disk:.3} |"
        )
    };
    for phase in Phase::ALL {
        let of_runs = recorded.runs.iter().chain(&recorded.around).flatten();
        let (mut seconds, mut shared, mut disk) = (0.0, 0.0, 0.0);
        for segment in of_runs.filter(|segment| segment.phase == phase) {
            seconds += segment.work.seconds();
            match &segment.work {
                Work::Shared(parts) => shared += parts.iter().sum::<f64>(),
                Work::Disk(of_disk) => disk += of_disk,
                Work::Alone(_) => {}
            }
        }
        row(phase.name(), seconds, shared, disk)?;
    }
    Ok(())
}

/// How long it takes more of them.
fn write_timelines(text: &mut String, recorded: &Recorded, all: &[Timelines]) -> std::fmt::Result {
    writeln!(
        text,
        "\n| threads | one run at a time | efficiency | side by side | efficiency | gain |\n|---|---|---|---|---|---|"
    )?;
    for timelines in all {
        let [in_turn, beside] = [&timelines.in_turn, &timelines.side_by_side];
        let seconds = |timeline: &Timeline| timelines.around + timeline.seconds;
        let percent = |timeline| 100.0 * timelines.efficiency(recorded, timeline);
        writeln!(
            text,
            "| {} | {:.3} s | {:.0} % | {:.3} s | {:.0} % | {:.2} × |",
            timelines.threads,
            seconds(in_turn),
            percent(in_turn),
            seconds(beside),
            percent(beside),
            seconds(in_turn) / seconds(beside),
        )?;
    }
    Ok(())
}

/// What threads without work wait for, in shares of the time of all threads.
fn write_idle(text: &mut String, timelines: &Timelines) -> std::fmt::Result {
    let threads = timelines.threads;
    writeln!(
        text,
        "\n| {threads} threads, idle | one run at a time | side by side |\n|---|---|---|"
    )?;
    let share = |timeline: &Timeline, idle: f64| {
        100.0 * idle / (threads as f64 * (timelines.around + timeline.seconds))
    };
    let [in_turn, beside] = [&timelines.in_turn, &timelines.side_by_side];
    let mut row = |name: &str, idle: [f64; 2]| {
        let [first, second] = [share(in_turn, idle[0]), share(beside, idle[1])];
        writeln!(text, "| {name} | {first:.1} % | {second:.1} % |")
    };
    row(
        "before the first run and after the last",
        [timelines.around_idle; 2],
    )?;
    let of = |kind: Idle| [in_turn, beside].map(|timeline| timeline.idle.get(&kind).copied());
    let kinds = [Idle::Rows, Idle::Disk, Idle::NoRunLeft];
    for kind in kinds.into_iter().chain(Phase::ALL.map(Idle::Alone)) {
        let idle = of(kind);
        if idle != [None; 2] {
            row(&kind.to_string(), idle.map(Option::unwrap_or_default))?;
        }
    }
    Ok(())
}
