//! Interrupting a program at a random moment.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::program::Program;

/// Files whose appearance or growth is a moment worth a kill.
const MARKS: [&str; 9] = [
    "config.yaml",
    "partition.csv",
    "metrics.jsonl",
    "clients.spool",
    "checkpoint",
    "clients.parquet",
    "summary.json",
    "DONE",
    "report.html",
];

/// When a signal is sent.
#[derive(Clone, Debug)]
pub(crate) enum Moment {
    /// So long after the start.
    After(Duration),
    /// So long after a file whose name starts like this was seen to appear or to grow in the folder of any run.
    Once(String, Duration),
}

impl Moment {
    /// A random moment in the life of a program that takes about `long`.
    pub(crate) fn draw(dice: &mut Dice, long: Duration) -> Self {
        let short = Duration::from_micros(dice.within(0..=3000));
        match dice.within(0..=9) {
            0..=5 => Self::After(long.mul_f64(dice.within(0.0..=1.1))),
            6 | 7 => Self::Once((*dice.pick(&MARKS)).to_owned(), short),
            _ => Self::Once(".meshfold-unfinished".to_owned(), short),
        }
    }

    /// Waits for the moment, or for the end of the program. `results` holds folders of runs.
    pub(crate) fn wait(&self, program: &mut Program, results: &Path) {
        let began = Instant::now();
        match self {
            Self::After(long) => {
                while program.is_running() && began.elapsed() < *long {
                    sleep((*long - began.elapsed().min(*long)).min(Duration::from_millis(2)));
                }
            }
            Self::Once(name, pause) => {
                let before = named(results, name);
                while program.is_running() && named(results, name) == before {
                    sleep(Duration::from_micros(300));
                }
                sleep(*pause);
            }
        }
    }
}

/// A signal that a run may get, and whether it is asked to end in order.
pub(crate) fn draw_signal(dice: &mut Dice) -> (&'static str, bool) {
    *dice.pick(&[
        ("KILL", false),
        ("KILL", false),
        ("INT", true),
        ("TERM", true),
    ])
}

/// The files in and right below the folders in `results` whose names start with `name`, and their lengths.
fn named(results: &Path, name: &str) -> Vec<(PathBuf, u64)> {
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(folder) else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect()
    };
    let runs = inside(results);
    let files = runs.iter().flat_map(|run| inside(run));
    let mut files: Vec<PathBuf> = files.collect();
    let is_named = |path: &PathBuf| {
        let found = path.file_name().unwrap_or_default();
        found.to_string_lossy().starts_with(name)
    };
    files.retain(is_named);
    files.sort();
    let length = |path: &PathBuf| fs::metadata(path).map_or(0, |found| found.len());
    files
        .into_iter()
        .map(|path| (path.clone(), length(&path)))
        .collect()
}
