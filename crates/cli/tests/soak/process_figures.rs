//! What Linux tells of a process: its memory and its processor time.

use std::fs;
use std::time::Duration;

/// Bytes that the process holds in memory now; `None` if it has ended.
pub(crate) fn resident_bytes(id: u32) -> Option<u64> {
    status_bytes(&id.to_string(), "VmRSS:")
}

/// The most bytes that the process has held in memory; `None` if it has ended.
pub(crate) fn most_resident_bytes(id: u32) -> Option<u64> {
    status_bytes(&id.to_string(), "VmHWM:")
}

/// The most bytes that this process has held since [`forget_own_peak`].
pub(crate) fn own_peak_bytes() -> u64 {
    status_bytes("self", "VmHWM:").expect("this process has a status")
}

/// Measures [`own_peak_bytes`] anew from here on.
pub(crate) fn forget_own_peak() {
    fs::write("/proc/self/clear_refs", "5").expect("a process may reset its own peak");
}

fn status_bytes(process: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Processor time of all threads of the process `process`, a number or `self`, in steps of 10 ms; `None` if it has ended.
pub(crate) fn processor_time(process: &str) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in parentheses, may hold spaces.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
    Some(Duration::from_millis(10 * (ticks(11)? + ticks(12)?)))
}
