//! Ctrl-C: the first asks the run in progress to end after its round, the second ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;
use crate::terminal;

/// From here on Ctrl-C, or a request of the system to end, makes the flag true.
///
/// # Errors
/// [`Failure::Broken`] if the system does not let it be caught.
pub(crate) fn listen() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    let listener = move || {
        if asked.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        terminal::line("stopping after this round; once more Ctrl-C ends at once");
    };
    ctrlc::set_handler(listener)
        .map_err(|error| Failure::broken(format_args!("Ctrl-C cannot be caught: {error}")))?;
    Ok(stop)
}
