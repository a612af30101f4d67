//! A process of its own for experiments that may take all memory, all time, or end in a crash.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::examination::{MOST_TIME, examine, write_down_panics};
use crate::process_figures::processor_time;
use crate::session::{Complaint, complaint, setting};

/// Cases that a process does before a fresh one takes its place.
const CASES: u64 = 250;

/// Kilobytes of addresses that a process may have, so that a wild allocation ends it and not the machine.
const MOST_ADDRESSES: u64 = 3 << 20;

/// Processor time after which a case is given up, and time on the clock.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(24), Duration::from_secs(600));

/// What a line begins with that the process writes for its parent.
const MARK: &str = "soak-case ";

/// Not a test of its own: the process that [`Worker`] starts.
#[test]
fn examines_cases_for_a_parent() {
    let (Some(first), Ok(data)) = (
        setting("MESHFOLD_SOAK_WORKER"),
        std::env::var("MESHFOLD_DATA"),
    ) else {
        return;
    };
    write_down_panics();
    println!();
    for number in first..first + CASES {
        println!("{MARK}{}", json!({"begins": number}));
        let finding = examine(number, Path::new(&data));
        let complaints = finding
            .complaints
            .iter()
            .map(|one| json!([one.what, one.detail]));
        let line = json!({
            "ends": number, "outcome": finding.outcome, "seconds": finding.seconds,
            "mebibytes": finding.peak_bytes >> 20, "complaints": complaints.collect::<Vec<_>>(),
        });
        println!("{MARK}{line}");
    }
}

/// A process that examines one case after the other. Dropping it ends it.
pub(crate) struct Worker {
    child: Child,
    lines: Receiver<Value>,
    errors: PathBuf,
    /// The case that comes next.
    next: u64,
    /// Whether it has examined any.
    is_used: bool,
}

/// What a worker says of a case.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) outcome: String,
    pub(crate) seconds: f64,
    pub(crate) mebibytes: u64,
    pub(crate) complaints: Vec<Complaint>,
}

impl Worker {
    /// Starts a process that examines the cases from `first` on. `folder` holds the data, and what it says of its end.
    pub(crate) fn start(folder: &Path, first: u64) -> Self {
        let errors = folder.join("errors");
        let limit = format!("ulimit -v {MOST_ADDRESSES} && exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command
            .args(["-c", &limit])
            .arg(std::env::current_exe().unwrap())
            .args([
                "worker::examines_cases_for_a_parent",
                "--exact",
                "--nocapture",
            ])
            .env("MESHFOLD_SOAK_WORKER", first.to_string())
            .env("MESHFOLD_DATA", folder)
            .env("RAYON_NUM_THREADS", "1")
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&errors).unwrap());
        let mut child = command.spawn().unwrap();
        let lines = marked_lines(child.stdout.take().expect("it was asked for"));
        Self {
            child,
            lines,
            errors,
            next: first,
            is_used: false,
        }
    }

    /// Whether the process goes on with the case `number`.
    pub(crate) fn is_at(&self, number: u64) -> bool {
        self.next == number
    }

    /// Whether a case before may have left something behind.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used
    }

    /// Waits for what the process says of its next case. After an error it is no longer of use.
    pub(crate) fn answer(&mut self) -> Result<Answer, Complaint> {
        let (began, mut worked) = (Instant::now(), None);
        let time = |id: u32| processor_time(&id.to_string());
        loop {
            match self.lines.recv_timeout(Duration::from_millis(100)) {
                Ok(line) if line["ends"] == self.next => {
                    self.next += 1;
                    self.is_used = true;
                    return Ok(Answer::read(&line));
                }
                Ok(_) => worked = time(self.child.id()),
                Err(RecvTimeoutError::Disconnected) => return Err(self.death()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = time(self.child.id());
            let took = now
                .zip(worked)
                .map(|(now, before)| now.saturating_sub(before));
            if took.is_some_and(|took| took > PATIENCE.0) || began.elapsed() > PATIENCE.1 {
                let detail = format!("given up after {took:?} of work");
                let what = format!("planning takes more than {MOST_TIME:?}");
                return Err(complaint(what, detail));
            }
        }
    }

    /// How the process ended in the middle of a case.
    fn death(&mut self) -> Complaint {
        let status = self.child.wait().unwrap();
        let said = String::from_utf8_lossy(&fs::read(&self.errors).unwrap()).into_owned();
        let what = if said.contains("memory allocation of") {
            "planning needs more than 3 GB".to_owned()
        } else if said.contains("overflowed its stack") {
            "planning overflows the stack".to_owned()
        } else {
            format!("planning ends the process: {status}")
        };
        complaint(what, said.chars().take(2000).collect::<String>())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A process that has ended by itself is no longer there to be killed.
        self.child.kill().ok();
        self.child.wait().unwrap();
    }
}

/// The values that a worker writes, as they come.
fn marked_lines(output: ChildStdout) -> Receiver<Value> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        for line in lines {
            let marked = line
                .strip_prefix(MARK)
                .and_then(|text| serde_json::from_str(text).ok());
            if marked.is_some_and(|value| sender.send(value).is_err()) {
                break;
            }
        }
    });
    lines
}

impl Answer {
    fn read(line: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let complaints = line["complaints"].as_array().into_iter().flatten();
        Self {
            outcome: text(&line["outcome"]),
            seconds: line["seconds"].as_f64().unwrap_or(0.0),
            mebibytes: line["mebibytes"].as_u64().unwrap_or(0),
            complaints: complaints
                .map(|pair| complaint(text(&pair[0]), text(&pair[1])))
                .collect(),
        }
    }
}
