//! Who watches a run: the command line draws its progress from it.

use crate::plan::run_plan::RunPlan;
use crate::results::records::Record;

/// A round that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundProgress {
    /// Its number, from 1.
    pub round: usize,
    /// Rounds asked for.
    pub rounds: usize,
    /// Local steps of all rows since the start of the run.
    pub local_steps: u64,
}

/// What is told of a run while it happens. All of it may be ignored.
pub trait Observer {
    /// The run begins; a finished run, which is skipped, does not.
    fn started(&mut self, _plan: &RunPlan) {}

    /// Before the first round something is looked for that may take minutes.
    fn preparing(&mut self, _what: &str) {}

    /// The run goes on after `round` from its checkpoint; told after [`started`](Self::started).
    fn resumed(&mut self, _round: usize) {}

    /// A round is done.
    fn round(&mut self, _progress: &RoundProgress) {}

    /// A record is written.
    fn record(&mut self, _record: &Record) {}
}

/// Nobody watches.
impl Observer for () {}
