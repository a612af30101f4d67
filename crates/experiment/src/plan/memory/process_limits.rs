//! What the limits of the process leave: those of `ulimit -v` and `ulimit -d`.

use std::fs;
use std::path::Path;

/// Addresses that the C library sets aside for each thread, if there are as many.
const SET_ASIDE: u64 = 64 << 20;
/// The stack of a thread.
const STACK: u64 = 8 << 20;
/// Threads besides those that compute: one waits for signals, one shows progress, and one is to spare.
const OTHER_THREADS: u64 = 3;
/// The code of the program and of its libraries, which takes addresses.
const CODE: u64 = 30 << 20;
/// What is left in any case, within the limit: the C library sets nothing aside where less than that would be left.
const IN_ANY_CASE: u64 = 64 << 20;
/// What a limit leaves and cannot all be used, in parts of a whole: blocks that the allocator asked the system for are not
/// filled to the end. Measured: up to a fifth.
const UNUSABLE: (u64, u64) = (1, 4);

/// Bytes of models, examples and all else that the limits of this process allow; `None` if it has none.
///
/// The limits count what the process has asked the system for, used or not. So many `threads` compute, and as many draw
/// examples. `root` is the folder of `proc`, `/` but for tests.
pub(super) fn left(root: &Path, threads: u64) -> Option<u64> {
    let limits = fs::read_to_string(root.join("proc/self/limits")).ok()?;
    let status = fs::read_to_string(root.join("proc/self/status")).ok()?;
    let limit = |name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let count = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        count.unwrap_or(0)
    };
    // What runs besides the first thread, and what will.
    let running = number("Threads:").saturating_sub(1);
    let all = running.max(2 * threads) + OTHER_THREADS;
    let without_data = 1024 * number("VmSize:").saturating_sub(number("VmData:"));
    let addresses = limit("Max address space").map(|limit| {
        let taken = without_data.max(CODE + all * SET_ASIDE) + (all - running) * STACK;
        usable(limit, taken).max(limit.saturating_sub(CODE).min(IN_ANY_CASE))
    });
    let data =
        limit("Max data size").map(|limit| usable(limit, all * STACK).max(limit.min(IN_ANY_CASE)));
    addresses.into_iter().chain(data).min()
}

/// What can be used of `limit` behind what is `taken` of it.
fn usable(limit: u64, taken: u64) -> u64 {
    let left = limit.saturating_sub(taken);
    left - left / UNUSABLE.1 * UNUSABLE.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_with(addresses: &str, data: &str) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("proc/self");
        fs::create_dir_all(&folder).unwrap();
        let limits = format!(
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max cpu time              unlimited            unlimited            seconds   \n\
             Max data size             {data}            unlimited            bytes     \n\
             Max stack size            8388608              unlimited            bytes     \n\
             Max address space         {addresses}            unlimited            bytes     \n"
        );
        fs::write(folder.join("limits"), limits).unwrap();
        let status = "Name:\tmeshfold\nVmPeak:\t 1500000 kB\nVmSize:\t 1500000 kB\nVmData:\t 1398600 kB\nThreads:\t3\n";
        fs::write(folder.join("status"), status).unwrap();
        left(root.path(), 2)
    }

    #[test]
    fn the_tighter_limit_counts() {
        assert_eq!(left_with("unlimited", "unlimited"), None);
        let mebibytes = |count: u64| (count << 20).to_string();
        // Two threads compute and two draw: seven in all, of which two run besides the first.
        let addresses = usable(2000 << 20, CODE + 7 * SET_ASIDE + 5 * STACK);
        assert_eq!(left_with(&mebibytes(2000), "unlimited"), Some(addresses));
        let data = usable(1000 << 20, 7 * STACK);
        assert_eq!(left_with("unlimited", &mebibytes(1000)), Some(data));
        assert_eq!(left_with(&mebibytes(2000), &mebibytes(1000)), Some(data));
        // Little is left of little, but not nothing.
        assert_eq!(left_with(&mebibytes(300), "unlimited"), Some(IN_ANY_CASE));
        assert_eq!(left_with(&mebibytes(80), "unlimited"), Some(50 << 20));
        assert_eq!(left_with("unlimited", &mebibytes(60)), Some(60 << 20));
    }

    #[test]
    fn a_system_without_these_files_has_no_limit() {
        assert_eq!(left(tempfile::tempdir().unwrap().path(), 2), None);
    }
}
