//! Observers of a run: the command line draws its progress with one.

use crate::plan::run_plan::RunPlan;
use crate::results::metrics::record::Record;

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

/// The checkpoint that a run goes on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// The round that it was written after.
    pub round: usize,
    /// The id of the finished run that it is of, if that is another one: the same settings with fewer rounds.
    pub shorter: Option<String>,
}

/// Hears what happens in a run. Every method may be left out.
pub trait Observer {
    /// The run begins; a finished run, which is skipped, does not.
    fn started(&mut self, _plan: &RunPlan) {}

    /// A computation that may take minutes begins, before the first round.
    fn preparing(&mut self, _what: &str) {}

    /// The run goes on from a checkpoint; called after [`started`](Self::started).
    fn resumed(&mut self, _from: &Resumed) {}

    /// A round is done.
    fn round(&mut self, _progress: &RoundProgress) {}

    /// A record is written.
    fn record(&mut self, _record: &Record) {}

    /// Whether this run is to end before its next round, as [`Ending::Interrupted`](crate::Ending::Interrupted); other runs go on.
    fn asks_to_stop(&mut self) -> bool {
        false
    }
}

/// An observer that ignores everything.
impl Observer for () {}
