//! The threads and the instructions of the processor.

use crate::error::EngineError;
use crate::kernels::Instructions;
use crate::shared_work::shared;
use rayon::{BroadcastContext, ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

/// Bytes of a thread's own stack: whole runs are carried out on the device's threads.
pub(crate) const THREAD_STACK: usize = 8 << 20;

/// An instruction set and the threads that share the rows. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Cpu {
    instructions: Instructions,
    pool: Arc<ThreadPool>,
}

/// So many threads, or one per core if `None`.
///
/// # Errors
/// [`EngineError::Device`] if they cannot be started.
pub(crate) fn pool(threads: Option<usize>) -> Result<ThreadPool, EngineError> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .stack_size(THREAD_STACK)
        .thread_name(|index| format!("meshfold-{index}"));
    pool.build().map_err(|error| EngineError::Device {
        device: "cpu".to_owned(),
        reason: format!(
            "its threads cannot be started: {error}; ask for fewer threads, or raise the limits of the process, such as `ulimit -v`"
        ),
    })
}

impl Cpu {
    /// Takes `threads` threads (all cores if `None`) and `instructions` (the widest that there are if `None`).
    ///
    /// # Errors
    /// [`EngineError::Device`] if the threads cannot be started.
    pub(crate) fn new(
        threads: Option<usize>,
        instructions: Option<Instructions>,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            instructions: instructions.unwrap_or_else(Instructions::detect),
            pool: Arc::new(pool(threads)?),
        })
    }

    /// The instruction set that kernels use.
    pub(crate) fn instructions(&self) -> Instructions {
        self.instructions
    }

    /// Number of threads.
    pub(crate) fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Runs `work` on these threads.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(|| shared(work))
    }

    /// Runs `work` on each of these threads.
    pub(crate) fn broadcast(&self, work: impl Fn(BroadcastContext<'_>) + Sync) {
        self.pool.broadcast(work);
    }
}
