//! Events of runs, sent from their threads to the thread that called [`run`](crate::running::run).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use meshfold_experiment::{Observer, Record, Resumed, RoundProgress, RunReport};
use pyo3::prelude::*;

/// The shortest time between two reports of a run's rounds.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a run waits for Python before it looks whether all runs are to end.
const PATIENCE: Duration = Duration::from_millis(50);

/// Something that happened in the run at a place of the experiment.
#[derive(Debug)]
pub(crate) struct Event {
    run: usize,
    what: What,
    /// Dropped once Python has been told, for which the run waits.
    _told: Option<Sender<()>>,
}

/// What happened.
#[derive(Debug)]
pub(crate) enum What {
    /// It began, or went on from its checkpoint after so many rounds. Its folder has no records of before but those of the
    /// checkpoint.
    Started(Option<usize>),
    /// So many rounds are done.
    Rounds(usize),
    /// A record was written, a line of `metrics.jsonl`.
    Record(String),
    /// It ended.
    Ended(Ended),
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `finished`, `skipped`, `elsewhere`, `damaged`, `interrupted` or `failed`.
    pub(crate) ending: &'static str,
    pub(crate) error: Option<String>,
    /// What else is to be known of it.
    pub(crate) notice: Option<String>,
    pub(crate) folder: PathBuf,
}

impl Ended {
    pub(crate) fn of(report: &RunReport) -> Self {
        Self {
            ending: report.ending.name(),
            error: report.ending.error(),
            notice: report
                .ending
                .notice()
                .map(|notice| format!("skipped: {notice}; again=True runs it again")),
            folder: report.folder.clone(),
        }
    }
}

impl Event {
    /// Something for which no run waits.
    pub(crate) fn new(run: usize, what: What) -> Self {
        let _told = None;
        Self { run, what, _told }
    }

    /// Calls `listener(run, kind, value)`.
    pub(crate) fn tell(self, listener: &Bound<'_, PyAny>) -> PyResult<()> {
        let run = self.run;
        match self.what {
            What::Started(resumed) => listener.call1((run, "started", resumed)),
            What::Rounds(rounds) => listener.call1((run, "rounds", rounds)),
            What::Record(line) => listener.call1((run, "record", line)),
            What::Ended(ended) => {
                let about = (ended.ending, ended.error, ended.folder, ended.notice);
                listener.call1((run, "ended", about))
            }
        }?;
        Ok(())
    }
}

/// How a run hears that it is to end.
#[derive(Clone, Copy)]
pub(crate) struct Stopping<'a> {
    /// Whether all runs are to end.
    pub(crate) all: &'a AtomicBool,
    /// Whether this run is.
    pub(crate) this: &'a AtomicBool,
    /// Whether the run waits until Python has been told of its beginning and of its records, as Python may ask for its end then.
    pub(crate) is_awaited: bool,
}

/// Asks one run to end before its next round.
#[pyclass(frozen)]
pub(crate) struct Stop(pub(crate) Arc<AtomicBool>);

#[pymethods]
impl Stop {
    fn __call__(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Watches one run.
pub(crate) struct Watcher<'a> {
    run: usize,
    events: Sender<Event>,
    stopping: Stopping<'a>,
    /// When rounds were last told of.
    told: Option<Instant>,
    /// Whether its beginning was told of.
    has_begun: bool,
}

impl<'a> Watcher<'a> {
    pub(crate) fn new(run: usize, events: Sender<Event>, stopping: Stopping<'a>) -> Self {
        Self {
            run,
            events,
            stopping,
            told: None,
            has_begun: false,
        }
    }

    fn begin(&mut self, resumed: Option<usize>) {
        if !self.has_begun {
            self.has_begun = true;
            self.tell(What::Started(resumed));
        }
    }

    /// Tells Python, and waits until it has been told if it may ask for the end of the run.
    fn tell(&self, what: What) {
        if !self.stopping.is_awaited {
            return self.send(Event::new(self.run, what));
        }
        let (told, answer) = channel();
        self.send(Event {
            _told: Some(told),
            ..Event::new(self.run, what)
        });
        // After an exception nobody is told until all runs have ended.
        while !self.stopping.all.load(Ordering::Relaxed)
            && answer.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout)
        {}
    }

    fn send(&self, event: Event) {
        // Nobody listens any more after an exception.
        self.events.send(event).ok();
    }
}

impl Observer for Watcher<'_> {
    fn resumed(&mut self, from: &Resumed) {
        self.begin(Some(from.round));
        self.send(Event::new(self.run, What::Rounds(from.round)));
    }

    fn round(&mut self, progress: &RoundProgress) {
        let now = Instant::now();
        let is_soon = self.told.is_some_and(|told| now - told < PAUSE);
        if !is_soon || progress.round == progress.rounds {
            self.told = Some(now);
            self.send(Event::new(self.run, What::Rounds(progress.round)));
        }
    }

    fn record(&mut self, record: &Record) {
        self.begin(None);
        if let Ok(line) = serde_json::to_string(record) {
            self.tell(What::Record(line));
        }
    }

    fn asks_to_stop(&mut self) -> bool {
        self.stopping.this.load(Ordering::Relaxed)
    }
}
