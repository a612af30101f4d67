//! Starting processes that hear signals, also where the tests themselves were started with signals ignored.

use std::fs;
use std::process::Command;

/// Hang-up, interrupt and termination, as bits of the mask of a process.
const SIGNALS: u64 = 1 | 1 << 1 | 1 << 14;

/// A command that starts `program` with the default reactions to signals. A shell that puts the tests in the background
/// makes them ignore interrupts, and so would every process that they start.
pub(crate) fn command(program: &str) -> Command {
    if !ignores_signals() {
        return Command::new(program);
    }
    // By its place, as tests may start the program without a PATH.
    let mut command = Command::new("/usr/bin/env");
    command.args(["--default-signal=HUP,INT,TERM", program]);
    command
}

/// Whether this process ignores any of the signals.
fn ignores_signals() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & SIGNALS != 0)
}
