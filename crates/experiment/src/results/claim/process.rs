//! Which process this is, and whether another one still lives.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// A process on some machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The name of the machine.
    pub host: String,
    /// Its number there.
    pub pid: u32,
    /// Where that number means this process: the start of the machine, the namespace and the user, where the system tells.
    pub space: String,
    /// When it started, in a unit of the machine; absent where the system does not tell.
    pub started: Option<u64>,
}

impl Process {
    /// This process.
    pub(crate) fn this() -> Self {
        let pid = std::process::id();
        Self {
            host: host().to_owned(),
            pid,
            space: space(),
            started: started(pid),
        }
    }

    /// Whether the process has ended; `None` if that cannot be told from here, because it runs elsewhere.
    pub(crate) fn has_ended(&self) -> Option<bool> {
        if self.host != host() || self.space != space() {
            return None;
        }
        match (self.started, started(self.pid)) {
            (_, None) => Some(true),
            (None, Some(_)) => Some(false),
            (Some(known), Some(found)) => Some(known != found),
        }
    }
}

/// The name of this machine.
fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| System::host_name().unwrap_or_else(|| "unknown".to_owned()))
}

/// The start of this machine, the namespace of processes and the user. Processes of other users may be hidden.
#[cfg(target_os = "linux")]
fn space() -> String {
    use std::os::unix::fs::MetadataExt;

    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let user = std::fs::metadata("/proc/self").map_or(0, |found| found.uid());
    format!("{} {} {user}", boot.trim(), namespace.display())
}

#[cfg(not(target_os = "linux"))]
fn space() -> String {
    String::new()
}

/// When the process `pid` started, in ticks since the start of the machine; absent if it has ended.
#[cfg(target_os = "linux")]
fn started(pid: u32) -> Option<u64> {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        // Without a file of this process itself there is no such file system.
        let is_there = std::path::Path::new("/proc/self/stat").exists();
        return if is_there { None } else { of_the_system(pid) };
    };
    // The name of the program stands in brackets and may hold any character.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let has_ended = matches!(fields.next(), Some("Z" | "X"));
    fields
        .nth(18)
        .filter(|_| !has_ended)
        .and_then(|ticks| ticks.parse().ok())
}

#[cfg(not(target_os = "linux"))]
fn started(pid: u32) -> Option<u64> {
    of_the_system(pid)
}

/// When the process `pid` started, in seconds.
fn of_the_system(pid: u32) -> Option<u64> {
    let id = Pid::from_u32(pid);
    let mut system = System::new();
    let nothing = ProcessRefreshKind::nothing();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[id]), true, nothing);
    system.process(id).map(sysinfo::Process::start_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_an_earlier_one_of_its_number_does_not() {
        let this = Process::this();
        assert_eq!(this.has_ended(), Some(false));
        let earlier = Process {
            started: this.started.map(|started| started + 1),
            ..this.clone()
        };
        assert_eq!(earlier.has_ended(), Some(true));
        let nobody = Process {
            pid: u32::MAX / 2,
            ..this
        };
        assert_eq!(nobody.has_ended(), Some(true));
    }

    #[test]
    fn nothing_is_known_of_another_machine() {
        let this = Process::this();
        let elsewhere = Process {
            host: format!("not-{}", this.host),
            ..this.clone()
        };
        assert_eq!(elsewhere.has_ended(), None);
        let restarted = Process {
            space: "another start of this machine".to_owned(),
            ..this
        };
        assert_eq!(restarted.has_ended(), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_process_that_was_killed_and_not_waited_for_has_ended() {
        let mut child = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .unwrap();
        let process = Process {
            pid: child.id(),
            started: started(child.id()),
            ..Process::this()
        };
        assert_eq!(process.has_ended(), Some(false));
        child.kill().unwrap();
        let began = std::time::Instant::now();
        while process.has_ended() == Some(false) && began.elapsed().as_secs() < 10 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(process.has_ended(), Some(true));
        child.wait().unwrap();
    }
}
