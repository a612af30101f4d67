//! Signs of life for a claim.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::results::claim::holder::{Holder, has};

/// The thread needs no more, and there may be many.
const STACK: usize = 256 << 10;

/// Gives signs of life until it is dropped.
#[derive(Debug)]
pub(super) struct Heartbeat {
    /// Closed to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Who gives the signs where the system had no thread left.
    between_rounds: Option<Mutex<Signs>>,
}

/// Signs of life, one after another.
#[derive(Debug, Clone)]
struct Signs {
    path: PathBuf,
    holder: Holder,
    rounds: Arc<Rounds>,
    /// From one to the next.
    between: Duration,
    began: Instant,
    last: Instant,
}

impl Signs {
    /// Gives the next.
    fn give(&mut self) {
        self.last = Instant::now();
        self.holder.signs += 1;
        self.holder.seconds = self.began.elapsed().as_secs_f64();
        self.holder.from_round = self.rounds.from.load(Ordering::Relaxed);
        self.holder.round = self.rounds.done.load(Ordering::Relaxed);
        // A sign that cannot be written is missed by the others; the next one may be written.
        sign(&self.path, &self.holder).ok();
    }
}

/// How far the run of a claim is.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    pub(super) from: AtomicUsize,
    pub(super) done: AtomicUsize,
}

impl Heartbeat {
    /// Writes the claim of `holder` at `path` anew, `between` one time and the next, with the rounds that are done. A thread does
    /// it; where the system gives none, [`Heartbeat::round_done`] does.
    pub(super) fn start(
        path: PathBuf,
        holder: Holder,
        rounds: Arc<Rounds>,
        between: Duration,
    ) -> Self {
        let began = Instant::now();
        let signs = Signs {
            path,
            holder,
            rounds,
            between,
            began,
            last: began,
        };
        let (end, ended) = mpsc::channel::<()>();
        let mut given = signs.clone();
        let beat = move || {
            while ended.recv_timeout(between) == Err(RecvTimeoutError::Timeout) {
                given.give();
            }
        };
        let thread = thread::Builder::new()
            .name("claim".to_owned())
            .stack_size(STACK);
        match thread.spawn(beat) {
            Ok(thread) => Self {
                end: Some(end),
                thread: Some(thread),
                between_rounds: None,
            },
            Err(_) => Self::between_rounds(signs),
        }
    }

    fn between_rounds(signs: Signs) -> Self {
        Self {
            end: None,
            thread: None,
            between_rounds: Some(Mutex::new(signs)),
        }
    }

    /// Gives a sign that is due, if no thread does.
    pub(super) fn round_done(&self) {
        let Some(signs) = &self.between_rounds else {
            return;
        };
        let mut signs = signs.lock().unwrap_or_else(PoisonError::into_inner);
        if signs.last.elapsed() >= signs.between {
            signs.give();
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Writes the claim of `holder` anew if the file at `path` is still its own. A claim that another process has taken over is
/// not touched: it is another file.
fn sign(path: &PathBuf, holder: &Holder) -> io::Result<()> {
    // On network file systems, opening asks the server for what others wrote, and closing sends what was written here.
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if !has(&bytes, &holder.token) {
        return Ok(());
    }
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&holder.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::claim::process::Process;
    use jiff::Timestamp;
    use std::fs;
    use tempfile::TempDir;

    #[test]
    fn without_a_thread_the_rounds_give_the_signs() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("claim-1.json");
        let holder = Holder {
            process: Process::this(),
            since: Timestamp::UNIX_EPOCH,
            seconds: 0.0,
            from_round: 0,
            round: 0,
            token: "0123456789abcdef".to_owned(),
            signs: 0,
        };
        fs::write(&path, holder.to_bytes()).unwrap();
        let began = Instant::now();
        let rounds = Arc::<Rounds>::default();
        let signs = |between| Signs {
            path: path.clone(),
            holder: holder.clone(),
            rounds: Arc::clone(&rounds),
            between,
            began,
            last: began,
        };
        Heartbeat::between_rounds(signs(Duration::from_secs(3600))).round_done();
        assert_eq!(fs::read(&path).unwrap(), holder.to_bytes());
        rounds.done.store(7, Ordering::Relaxed);
        Heartbeat::between_rounds(signs(Duration::ZERO)).round_done();
        let told: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!((&told["signs"], &told["round"]), (&1.into(), &7.into()));
    }
}
