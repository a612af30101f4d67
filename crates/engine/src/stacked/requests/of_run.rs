//! What belongs to one of several runs.

/// A run's request, or its result.
#[derive(Debug)]
pub(crate) struct OfRun<T> {
    /// The run's number among the participants.
    pub(crate) run: u64,
    pub(crate) item: T,
}
