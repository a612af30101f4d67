//! Ctrl-C: the first asks the runs in progress to end after their round, the second ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;
use crate::signals::{self, Request};
use crate::terminal;

/// From here on Ctrl-C, or a request of the system to end, makes the flag true. A request that was ignored when the program
/// started stays so: `nohup` goes on after its terminal is closed.
///
/// # Errors
/// [`Failure::Refused`] if the system gives no thread for it.
pub(crate) fn listen() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let react = move |request| match (asked.swap(true, Ordering::Relaxed), request) {
        (false, _) => terminal::line("stopping after this round; once more Ctrl-C ends at once"),
        // A terminal that is closed may say so twice, and after another request.
        (true, Request::Hangup) => {}
        (true, Request::End) => std::process::exit(130),
    };
    signals::catch(react).map_err(|error| {
        Failure::refused(format_args!(
            "the thread that waits for Ctrl-C cannot be started: {error}; raise the limits of the process, such as `ulimit -v`"
        ))
    })?;
    Ok(stop)
}
