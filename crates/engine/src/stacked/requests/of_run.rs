//! What belongs to one of several runs.

/// What a run asks for, or what came of it.
#[derive(Debug)]
pub(crate) struct OfRun<T> {
    /// The run's number among the participants.
    pub(crate) run: u64,
    pub(crate) item: T,
}
