//! Events of runs, sent from their threads to the thread that called [`run`](crate::running::run).

use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use meshfold_experiment::{Observer, Record, RoundProgress, RunReport};
use pyo3::prelude::*;

/// The shortest time between two reports of a run's rounds.
const PAUSE: Duration = Duration::from_millis(100);

/// Something that happened in the run at a place of the experiment.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) run: usize,
    pub(crate) what: What,
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

/// Watches one run.
pub(crate) struct Watcher {
    run: usize,
    events: Sender<Event>,
    /// When rounds were last told of.
    told: Option<Instant>,
    /// Whether its beginning was told of.
    has_begun: bool,
}

impl Watcher {
    pub(crate) fn new(run: usize, events: Sender<Event>) -> Self {
        Self {
            run,
            events,
            told: None,
            has_begun: false,
        }
    }

    fn begin(&mut self, resumed: Option<usize>) {
        if !self.has_begun {
            self.has_begun = true;
            self.send(What::Started(resumed));
        }
    }

    fn send(&self, what: What) {
        let event = Event {
            run: self.run,
            what,
        };
        // Nobody listens any more after an exception.
        self.events.send(event).ok();
    }
}

impl Observer for Watcher {
    fn resumed(&mut self, round: usize) {
        self.begin(Some(round));
        self.send(What::Rounds(round));
    }

    fn round(&mut self, progress: &RoundProgress) {
        let now = Instant::now();
        let is_soon = self.told.is_some_and(|told| now - told < PAUSE);
        if !is_soon || progress.round == progress.rounds {
            self.told = Some(now);
            self.send(What::Rounds(progress.round));
        }
    }

    fn record(&mut self, record: &Record) {
        self.begin(None);
        if let Ok(line) = serde_json::to_string(record) {
            self.send(What::Record(line));
        }
    }
}
