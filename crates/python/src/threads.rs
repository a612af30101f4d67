//! Work that is shared among threads, also in a process that was forked.
//!
//! Rayon starts its threads at their first use. A process that is forked afterwards has none of them: what it gave them to do would wait for
//! ever. So such a process makes threads of its own for each call.

use std::process;
use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that first shared work among rayon's threads.
static FIRST: OnceLock<u32> = OnceLock::new();

/// Calls `work` where it can share what it does among threads.
pub(crate) fn shared<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match own() {
        Some(threads) => threads.install(work),
        None => work(),
    }
}

/// Threads of this process, if it was forked from one that used rayon's.
fn own() -> Option<ThreadPool> {
    if *FIRST.get_or_init(process::id) == process::id() {
        return None;
    }
    let threads = ThreadPoolBuilder::new().build();
    Some(threads.expect("the system lets a process start threads"))
}
