//! A sweep on one thread: what each run does, one segment after another.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use meshfold_comparison::{CombinedTable, write_combined};
use meshfold_data::{DataFolder, Splits};
use meshfold_engine::{Device, DeviceRequest, SharedWork};
use meshfold_experiment::{
    ExperimentSource, Observer, Record, RoundProgress, RunHost, RunOptions, RunPlan, RunReport,
    SharedDatasets, plan_on, run_all,
};
use meshfold_report::{Gathered, PAGE, write_gathered, write_run_report};

use super::phase::Phase;
use super::schedule::{Segment, Work};
use crate::BenchError;

/// Parts of work that can be cut anywhere.
const PIECES: usize = 64;

/// What was recorded of a sweep.
pub(super) struct Recorded {
    pub(super) runs: Vec<Vec<Segment>>,
    /// The plan, the dataset, and the page and tables of all runs.
    pub(super) around: Vec<Vec<Segment>>,
}

impl Recorded {
    /// Seconds that all of it takes one thread.
    pub(super) fn seconds(&self) -> f64 {
        let segments = self.runs.iter().chain(&self.around).flatten();
        segments.map(|segment| segment.work.seconds()).sum()
    }
}

/// Carries out the experiment in `file` on one thread, as `meshfold run` does.
///
/// # Errors
/// [`BenchError`] if it cannot be planned, or a run fails.
pub(super) fn record(file: &Path) -> Result<Recorded, BenchError> {
    // Data are drawn on the threads that all of the program share. If they run already, there is one.
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .ok();
    let text = std::fs::read_to_string(file).map_err(|source| BenchError::File {
        path: file.to_owned(),
        source,
    })?;
    let source = ExperimentSource::new(file.display().to_string(), text);
    let device = Device::open(DeviceRequest::Cpu, Some(1), None)?;
    let folder = DataFolder::resolve(None)?.beside(source.resolve(Path::new("")));
    let results = tempfile::tempdir().map_err(BenchError::Results)?;
    let began = Instant::now();
    let plans = plan_on(&device, &source, &folder).map_err(Box::new)?;
    let mut around = vec![alone(Phase::Plan, began.elapsed())];
    let host = Host {
        plans: &plans,
        datasets: SharedDatasets::new(&plans, &folder),
        tape: Mutex::new(Tape::new(plans.len())),
    };
    let options = RunOptions {
        device,
        results: results.path().to_owned(),
        again: false,
        commit: None,
    };
    run_all(&plans, &options, 1, &AtomicBool::new(false), &host)?;
    let tape = host
        .tape
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    around.push(tape.dataset);
    around.extend(page_of_all(&results.path().join(&plans[0].config.name))?);
    Ok(Recorded {
        runs: tape.runs,
        around: vec![around],
    })
}

/// The page and the tables of the runs in `folder`: their files are read by all threads, page and tables are written by one.
fn page_of_all(folder: &Path) -> Result<[Segment; 2], BenchError> {
    let began = Instant::now();
    let gathered = Gathered::of(&[folder.to_owned()])?;
    let mut read = began.elapsed();
    let began = Instant::now();
    write_gathered(&gathered, &folder.join(PAGE))?;
    write_combined(&gathered.runs, folder).map_err(Box::new)?;
    let all = began.elapsed();
    // What the tables read, once more by itself.
    let tables = [
        CombinedTable::metrics(&gathered.runs)?,
        CombinedTable::clients(&gathered.runs)?,
    ];
    let began = Instant::now();
    for table in &tables {
        for index in 0..table.runs() {
            table.cells(index)?;
        }
    }
    let cells = began.elapsed().min(all);
    read += cells;
    Ok([
        shared(Phase::SweepPage, read),
        alone(Phase::SweepPage, all - cells),
    ])
}

fn alone(phase: Phase, took: Duration) -> Segment {
    let work = Work::Alone(took.as_secs_f64());
    Segment { phase, work }
}

/// Work that can be cut anywhere.
fn shared(phase: Phase, took: Duration) -> Segment {
    let piece = took.as_secs_f64() / PIECES as f64;
    let work = Work::Shared(vec![piece; PIECES]);
    Segment { phase, work }
}

/// Whoever has the runs carried out.
struct Host<'a> {
    plans: &'a [RunPlan],
    datasets: SharedDatasets<'a>,
    tape: Mutex<Tape>,
}

/// What is recorded, on the one thread that carries out runs.
struct Tape {
    runs: Vec<Vec<Segment>>,
    dataset: Segment,
    /// Up to when it is known what was done.
    until: Instant,
    /// What this thread had worked by then.
    worked: Duration,
}

impl Tape {
    fn new(runs: usize) -> Self {
        Self {
            runs: vec![Vec::new(); runs],
            dataset: shared(Phase::Dataset, Duration::ZERO),
            until: Instant::now(),
            worked: worked(),
        }
    }

    /// What the run at `index` did since the last call was `phase`.
    fn mark(&mut self, index: usize, phase: Phase) {
        let (began, run) = (self.until, &mut self.runs[index]);
        let first = run.len();
        for work in SharedWork::take() {
            run.push(alone(phase, work.began.duration_since(self.until)));
            self.until = work.began + work.took;
            if work.parts.is_empty() {
                run.push(shared(phase, work.took));
                continue;
            }
            let parts: Duration = work.parts.iter().sum();
            let seconds = work.parts.iter().map(Duration::as_secs_f64).collect();
            let work_of_parts = Work::Shared(seconds);
            run.push(Segment {
                phase,
                work: work_of_parts,
            });
            // Dealing the parts out is the work of one thread.
            run.push(alone(phase, work.took.saturating_sub(parts)));
        }
        let now = Instant::now();
        run.push(alone(phase, now.duration_since(self.until)));
        let (took, worked) = (now.duration_since(began), worked());
        let waited = took.saturating_sub(worked.saturating_sub(self.worked));
        wait(phase, waited, run, first);
        (self.until, self.worked) = (now, worked);
    }
}

/// Takes what was `waited` from what the last segments, those from `first` on, did alone: a run waits for nothing but the disk.
fn wait(phase: Phase, waited: Duration, run: &mut Vec<Segment>, first: usize) {
    let (mut left, mut disk) = (waited.as_secs_f64(), 0.0);
    for segment in run[first..].iter_mut().rev() {
        if let Work::Alone(seconds) = &mut segment.work {
            let part = seconds.min(left);
            *seconds -= part;
            (left, disk) = (left - part, disk + part);
        }
    }
    let work = Work::Disk(disk);
    run.push(Segment { phase, work });
}

/// What this thread has had of the processor.
fn worked() -> Duration {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = line.split_whitespace().next();
    let nanoseconds = nanoseconds.and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

impl Host<'_> {
    fn mark(&self, index: usize, phase: Phase) {
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        tape.mark(index, phase);
    }
}

impl RunHost for Host<'_> {
    type Error = BenchError;

    fn data(&self, index: usize, next: usize) -> Result<Splits, BenchError> {
        if index == 0 {
            SharedWork::begin();
        }
        self.mark(index, Phase::Beginning);
        let began = Instant::now();
        let splits = self.datasets.splits(index, next)?;
        if index == 0 {
            let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
            tape.dataset = shared(Phase::Dataset, began.elapsed());
            (tape.until, tape.worked) = (Instant::now(), worked());
        }
        Ok(splits)
    }

    fn observer(&self, index: usize) -> Box<dyn Observer + '_> {
        Box::new(Watch { host: self, index })
    }

    fn ended(&self, index: usize, report: &RunReport, _: Duration) -> Result<(), BenchError> {
        self.mark(index, Phase::Ending);
        if let Some(error) = report.ending.error() {
            return Err(BenchError::OfRun {
                run: self.plans[index].label(),
                error,
            });
        }
        write_run_report(&report.folder, self.plans.len() > 1)?;
        self.mark(index, Phase::Page);
        Ok(())
    }
}

/// Is told of one run.
struct Watch<'a> {
    host: &'a Host<'a>,
    index: usize,
}

impl Observer for Watch<'_> {
    fn started(&mut self, _: &RunPlan) {
        self.host.mark(self.index, Phase::Beginning);
    }

    fn round(&mut self, _: &RoundProgress) {
        self.host.mark(self.index, Phase::Rounds);
    }

    /// The first record comes after the files that are known before the first round.
    fn record(&mut self, record: &Record) {
        let phase = match record.round {
            0 => Phase::Beginning,
            _ => Phase::Judging,
        };
        self.host.mark(self.index, phase);
    }
}
