//! The program as a process: started, watched, signalled, and always waited for.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::default_signals;
use crate::session::{CaseResult, Complaint, complaint};

/// No command of these tests takes nearly as long, however busy the machine is.
const LONGEST: Duration = Duration::from_secs(600);

/// Numbers the files that programs write their output to.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// A process of the program. Dropping it ends it.
pub(crate) struct Program {
    child: Child,
    /// What was asked for.
    line: String,
    out: PathBuf,
    err: PathBuf,
}

/// How a process ended, and what it said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) line: String,
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Program {
    /// Starts the program with `arguments` in `folder`.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = default_signals::command(env!("CARGO_BIN_EXE_meshfold"));
        command
            .args(arguments)
            .env("MESHFOLD_DATA", folder.join("data"))
            // Who made a damaged claim is unknown: it counts as dead once it has stood still.
            .env("MESHFOLD_CLAIM_SECONDS", "5");
        Self::spawn(folder, command)
    }

    /// Starts `command` in `folder`, its output going to files there.
    pub(crate) fn spawn(folder: &Path, mut command: Command) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let said = folder.join("said");
        fs::create_dir_all(&said).unwrap();
        let [out, err] = ["out", "err"].map(|kind| said.join(format!("{number}.{kind}")));
        let arguments = command.get_args().map(|part| part.to_string_lossy());
        let line = arguments.collect::<Vec<_>>().join(" ");
        command
            .current_dir(folder)
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap());
        Self {
            child: command.spawn().unwrap(),
            line,
            out,
            err,
        }
    }

    /// Runs the program to its end.
    pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Result<Said, Complaint> {
        Self::start(folder, arguments).wait()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Sends a signal such as `KILL`; nothing happens if the process has ended.
    pub(crate) fn signal(&mut self, name: &str) {
        if !self.is_running() {
            return;
        }
        match name {
            "KILL" => self.child.kill().unwrap(),
            _ => {
                let mut kill = Command::new("kill");
                kill.args([&format!("-{name}"), &self.id().to_string()]);
                assert!(kill.status().unwrap().success(), "kill -{name}");
            }
        }
    }

    /// Waits for the end.
    pub(crate) fn wait(self) -> Result<Said, Complaint> {
        let line = self.line.clone();
        self.wait_at_most(LONGEST)
            .ok_or_else(|| complaint("a command does not end", line))
    }

    /// Waits for the end, and ends the program itself after so long.
    pub(crate) fn wait_at_most(mut self, long: Duration) -> Option<Said> {
        let began = Instant::now();
        let mut pause = Duration::from_micros(500);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(self.said(status));
            }
            if began.elapsed() >= long {
                return None;
            }
            sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    fn said(&self, status: ExitStatus) -> Said {
        let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Said {
            line: self.line.clone(),
            code: status.code(),
            signal: status.signal(),
            out: text(&self.out),
            err: text(&self.err),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.is_running() {
            // A process that ends by itself in this moment is no longer there to be killed.
            self.child.kill().ok();
            self.child.wait().unwrap();
        }
    }
}

impl Said {
    /// A complaint that shows all that was said.
    pub(crate) fn complaint(&self, what: impl Into<String>) -> Complaint {
        complaint(what, self.to_string())
    }

    /// Checks that the program ended by itself, without a panic, with one of the exit codes that are documented.
    pub(crate) fn is_decent(&self) -> CaseResult {
        if self.err.contains("memory allocation of") {
            return Err(self.complaint("an allocation fails and ends the program"));
        }
        if let Some(place) = self.panic_place() {
            return Err(self.complaint(format!("panic at {place}")));
        }
        match (self.code, self.signal) {
            (Some(0..=2 | 75 | 130), _) => Ok(()),
            (Some(code), _) => Err(self.complaint(format!("exit code {code}"))),
            (None, signal) => Err(self.complaint(format!("ended by signal {signal:?}"))),
        }
    }

    /// Requires one of `codes`.
    pub(crate) fn ended_with(self, codes: &[i32]) -> Result<Self, Complaint> {
        self.is_decent()?;
        let code = self.code.expect("a decent end has a code");
        if codes.contains(&code) {
            return Ok(self);
        }
        let command = self.line.split(' ').next().unwrap_or_default();
        Err(self.complaint(format!(
            "`{command}` ends with code {code}, needed {codes:?}"
        )))
    }

    /// Where the program panicked, if it did.
    fn panic_place(&self) -> Option<String> {
        let line = self.err.lines().find(|line| {
            let signs = ["panicked at", "met a bug", "RUST_BACKTRACE"];
            signs.iter().any(|sign| line.contains(sign))
        })?;
        let place = line.split(" at ").nth(1).unwrap_or(line);
        Some(place.chars().take(120).collect())
    }

    /// The lines of standard output, each as JSON.
    pub(crate) fn json(&self) -> Result<Vec<Value>, Complaint> {
        let parse = |line| serde_json::from_str(line);
        let parsed: Result<_, _> = self.out.lines().map(parse).collect();
        parsed.map_err(|error| self.complaint(format!("standard output is no JSON: {error}")))
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |text: &str| text.chars().take(3000).collect::<String>();
        let (code, signal) = (self.code, self.signal);
        write!(
            f,
            "meshfold {}\nexit code {code:?}, signal {signal:?}\n",
            self.line
        )?;
        write!(f, "{}{}", shown(&self.out), shown(&self.err))
    }
}
