//! The signals by which the system asks the program to end, and the one that it sends when a file grows too large.

#[cfg(unix)]
pub(crate) use unix::{catch, outlive_file_size_limit};

#[cfg(not(unix))]
pub(crate) use elsewhere::{catch, outlive_file_size_limit};

/// What the system asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalRequest {
    /// Ctrl-C.
    Interrupt,
    /// An order to end, as a scheduler gives it ahead of a time limit.
    #[cfg_attr(not(unix), allow(dead_code))]
    End,
    /// The terminal is closed.
    #[cfg_attr(not(unix), allow(dead_code))]
    Hangup,
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use signal_hook::consts::signal::{
        SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
    };
    use signal_hook::iterator::Signals;

    use super::SignalRequest;

    /// Calls `react` on a thread of its own for every request to end that was not ignored when the program started.
    ///
    /// # Interpretation
    /// Systems other than Linux do not tell what was ignored. There a closed terminal does what it would do without this
    /// function: it ends the program, unless `nohup` had it ignored.
    pub(crate) fn catch(mut react: impl FnMut(SignalRequest) + Send + 'static) -> io::Result<()> {
        let caught: Vec<i32> = match ignored() {
            Some(ignored) => [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU]
                .into_iter()
                .filter(|signal| ignored >> (signal - 1) & 1 == 0)
                .collect(),
            None => vec![SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU],
        };
        let mut signals = Signals::new(caught)?;
        let wait = move || {
            for signal in signals.forever() {
                react(match signal {
                    SIGHUP => SignalRequest::Hangup,
                    SIGINT => SignalRequest::Interrupt,
                    _ => SignalRequest::End,
                });
            }
        };
        let thread = thread::Builder::new().name("signals".to_owned());
        thread.spawn(wait).map(drop)
    }

    /// Makes a write beyond the limit for the size of a file (`ulimit -f`) fail, where it would otherwise end the
    /// program.
    pub(crate) fn outlive_file_size_limit() {
        let unread = Arc::new(AtomicBool::new(false));
        // If this is not possible, the system's own behaviour stays.
        signal_hook::flag::register(SIGXFSZ, unread).ok();
    }

    /// The signals that are ignored, signal `n` as bit `n - 1`, if the system tells.
    fn ignored() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::io;

    use super::SignalRequest;

    /// Calls `react` on a thread of its own for every request to end.
    pub(crate) fn catch(mut react: impl FnMut(SignalRequest) + Send + 'static) -> io::Result<()> {
        ctrlc::set_handler(move || react(SignalRequest::Interrupt)).map_err(io::Error::other)
    }

    /// These systems set no limit to the size of a file.
    pub(crate) fn outlive_file_size_limit() {}
}
