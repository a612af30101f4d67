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
use schedule::{Course, Idle, Work, course};

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
    let courses: Vec<Courses> = arguments
        .threads
        .iter()
        .map(|threads| Courses::of(&recorded, (*threads).max(1)))
        .collect();
    let mut text = String::new();
    // Text takes whatever is written.
    let _ = write_phases(&mut text, &recorded);
    let _ = write_courses(&mut text, &recorded, &courses);
    for courses in courses.iter().filter(|courses| courses.threads > 1) {
        let _ = write_idle(&mut text, courses);
    }
    Ok(text)
}

/// What becomes of the recorded work on some threads.
struct Courses {
    threads: usize,
    /// Before the first run, and after the last: the plan, the dataset, and what is about all runs.
    around: f64,
    /// Seconds of that in which the other threads have nothing to do, for each of them.
    around_idle: f64,
    in_turn: Course,
    side_by_side: Course,
}

impl Courses {
    fn of(recorded: &Recorded, threads: usize) -> Self {
        let around = course(&recorded.around, threads, 1);
        Self {
            threads,
            around: around.seconds,
            around_idle: around.idle.values().sum(),
            in_turn: course(&recorded.runs, threads, 1),
            side_by_side: course(&recorded.runs, threads, threads),
        }
    }

    /// The share of the threads' time that is work.
    fn efficiency(&self, recorded: &Recorded, course: &Course) -> f64 {
        recorded.seconds() / (self.threads as f64 * (self.around + course.seconds))
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
        for stretch in of_runs.filter(|stretch| stretch.phase == phase) {
            seconds += stretch.work.seconds();
            match &stretch.work {
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
fn write_courses(text: &mut String, recorded: &Recorded, all: &[Courses]) -> std::fmt::Result {
    writeln!(
        text,
        "\n| threads | one run at a time | efficiency | side by side | efficiency | gain |\n|---|---|---|---|---|---|"
    )?;
    for courses in all {
        let [in_turn, beside] = [&courses.in_turn, &courses.side_by_side];
        let seconds = |course: &Course| courses.around + course.seconds;
        let percent = |course| 100.0 * courses.efficiency(recorded, course);
        writeln!(
            text,
            "| {} | {:.3} s | {:.0} % | {:.3} s | {:.0} % | {:.2} × |",
            courses.threads,
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
fn write_idle(text: &mut String, courses: &Courses) -> std::fmt::Result {
    let threads = courses.threads;
    writeln!(
        text,
        "\n| {threads} threads, idle | one run at a time | side by side |\n|---|---|---|"
    )?;
    let share = |course: &Course, idle: f64| {
        100.0 * idle / (threads as f64 * (courses.around + course.seconds))
    };
    let [in_turn, beside] = [&courses.in_turn, &courses.side_by_side];
    let mut row = |name: &str, idle: [f64; 2]| {
        let [first, second] = [share(in_turn, idle[0]), share(beside, idle[1])];
        writeln!(text, "| {name} | {first:.1} % | {second:.1} % |")
    };
    row(
        "before the first run and after the last",
        [courses.around_idle; 2],
    )?;
    let of = |kind: Idle| [in_turn, beside].map(|course| course.idle.get(&kind).copied());
    let kinds = [Idle::Rows, Idle::Disk, Idle::NoRunLeft];
    for kind in kinds.into_iter().chain(Phase::ALL.map(Idle::Alone)) {
        let idle = of(kind);
        if idle != [None; 2] {
            row(&kind.to_string(), idle.map(Option::unwrap_or_default))?;
        }
    }
    Ok(())
}
