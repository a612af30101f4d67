//! The thread that gives signs of life for a claim.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
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
}

/// How far the run of a claim is.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    pub(super) from: AtomicUsize,
    pub(super) done: AtomicUsize,
}

impl Heartbeat {
    /// Writes the claim of `holder` at `path` anew, `between` one time and the next, with the rounds that are done.
    ///
    /// # Errors
    /// What the system says if it gives no thread.
    pub(super) fn start(
        path: PathBuf,
        holder: Holder,
        rounds: Arc<Rounds>,
        between: Duration,
    ) -> io::Result<Self> {
        let (end, ended) = mpsc::channel::<()>();
        let began = Instant::now();
        let beat = move || {
            let mut holder = holder;
            while ended.recv_timeout(between) == Err(RecvTimeoutError::Timeout) {
                holder.signs += 1;
                holder.seconds = began.elapsed().as_secs_f64();
                holder.from_round = rounds.from.load(Ordering::Relaxed);
                holder.round = rounds.done.load(Ordering::Relaxed);
                // A sign that cannot be written is missed by the others; the next one may be written.
                sign(&path, &holder).ok();
            }
        };
        let thread = thread::Builder::new()
            .name("claim".to_owned())
            .stack_size(STACK);
        Ok(Self {
            end: Some(end),
            thread: Some(thread.spawn(beat)?),
        })
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
