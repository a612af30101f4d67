//! What is launched on a GPU and what it must move, counted where kernels are launched.
//!
//! CubeCL tells of every launch of the process, those of burn's own kernels among them, and how long it took. Ours say just before
//! how many words they must read and write, each once however often a kernel comes back to it; of others only the number is known.

use cubecl::dry_run::DryRun;
use cubecl::logging::{LaunchObservation, LaunchObserver, TimingRequest};
use cubecl::profile::TimingMethod;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether anyone listens.
static TRACING: AtomicBool = AtomicBool::new(false);

/// There is one observer to a process: a second trace waits for the first.
static ALONE: Mutex<()> = Mutex::new(());

thread_local! {
    /// Words that the next launch of this thread reads and writes.
    static NEXT: Cell<Option<(usize, usize)>> = const { Cell::new(None) };

    /// Whether the launches of this thread are counted.
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// Says that the next launch must read and write so many floats or words.
pub(crate) fn moves(read: usize, written: usize) {
    if TRACING.load(Ordering::Relaxed) {
        NEXT.set(Some((read, written)));
    }
}

/// The launches of one kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launched {
    /// How the kernel is called, and where.
    pub kernel: String,
    /// How often it was launched.
    pub launches: u64,
    /// Bytes that it must read; zero if that is not known.
    pub bytes_read: u64,
    /// Bytes that it must write; zero if that is not known.
    pub bytes_written: u64,
    /// How long they took, if the trace runs them.
    pub time: Duration,
    /// How many of them the GPU could not time itself: their time is that of the host, which hands each over and waits for its end.
    pub timed_by_host: u64,
}

impl Launched {
    /// Adds what `other` counts of the same kernel.
    fn add(&mut self, other: &Self) {
        self.launches += other.launches;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.time += other.time;
        self.timed_by_host += other.timed_by_host;
    }
}

/// Whether a trace counts the launches of this thread.
pub(crate) fn is_counted() -> bool {
    COUNTED.get()
}

/// Has this thread, started by another, counted as that one.
pub(crate) fn count_as(counted: bool) {
    COUNTED.set(counted);
}

/// Counts what this thread launches for as long as it lives, and what it has done side by side. Bytes are those of batches that have
/// as many examples as there is room for.
#[derive(Debug)]
pub struct Trace {
    counts: Arc<Counts>,
    _observation: LaunchObservation,
    _dry: Option<DryRun>,
    _alone: MutexGuard<'static, ()>,
}

#[derive(Debug)]
struct Counts {
    kernels: Mutex<BTreeMap<&'static str, Launched>>,
    /// Whether launches run and are timed.
    timed: bool,
}

impl Counts {
    fn add(&self, kernel: &'static str, launched: &Launched) {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.entry(kernel).or_default().add(launched);
    }
}

impl LaunchObserver for Counts {
    fn launched(&self, kernel: &'static str) {
        if !COUNTED.get() {
            return;
        }
        // What a launch of no units was to move is not that of a kernel of burn's.
        let (read, written) = NEXT.take().filter(|_| is_ours(kernel)).unwrap_or_default();
        let launched = Launched {
            launches: 1,
            bytes_read: 4 * read as u64,
            bytes_written: 4 * written as u64,
            ..Launched::default()
        };
        self.add(kernel, &launched);
    }

    fn timing(&self) -> TimingRequest {
        match self.timed {
            true => TimingRequest::Resolved,
            false => TimingRequest::None,
        }
    }

    fn timed(&self, kernel: &'static str, time: Duration, method: TimingMethod) {
        if COUNTED.get() {
            let timed = Launched {
                time,
                timed_by_host: u64::from(method == TimingMethod::System),
                ..Launched::default()
            };
            self.add(kernel, &timed);
        }
    }
}

impl Trace {
    /// Begins to count launches in place of running them: kernels of all threads are compiled, but what they would write stays as it
    /// was. Waits until no other trace of the process is alive.
    pub fn begin() -> Self {
        Self::of(false)
    }

    /// Begins to count launches, and to run and time them one at a time. Waits until no other trace of the process is alive.
    pub fn timed() -> Self {
        Self::of(true)
    }

    fn of(timed: bool) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = Arc::new(Counts {
            kernels: Mutex::default(),
            timed,
        });
        NEXT.take();
        COUNTED.set(true);
        TRACING.store(true, Ordering::Relaxed);
        Self {
            _observation: LaunchObservation::new(counts.clone()),
            _dry: (!timed).then(DryRun::new),
            counts,
            _alone: alone,
        }
    }

    /// What was launched since, by kernel, in the order of their names.
    pub fn end(self) -> Vec<Launched> {
        let kernels = self.counts.kernels.lock();
        let kernels = std::mem::take(&mut *kernels.unwrap_or_else(PoisonError::into_inner));
        let mut named: BTreeMap<String, Launched> = BTreeMap::new();
        for (kernel, counted) in kernels {
            named.entry(shortened(kernel)).or_default().add(&counted);
        }
        let with_name = |(kernel, launched)| Launched { kernel, ..launched };
        named.into_iter().map(with_name).collect()
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        TRACING.store(false, Ordering::Relaxed);
        COUNTED.set(false);
    }
}

/// Where our kernels are.
const OURS: &str = "meshfold_engine::stacked::";

fn is_ours(kernel: &str) -> bool {
    kernel.starts_with(OURS)
}

/// `affine::affine` of `meshfold_engine::stacked::layers::dense::affine::affine_kernel::AffineKernel<..>`; of another's
/// kernel the crate and the last of its names.
fn shortened(kernel: &str) -> String {
    let path = kernel.split('<').next().unwrap_or(kernel);
    let names: Vec<&str> = path.split("::").collect();
    match (path.strip_prefix(OURS), names.as_slice()) {
        (Some(_), [.., file, function, _]) => {
            format!("{file}::{}", function.trim_end_matches("_kernel"))
        }
        (_, [first, .., last]) => format!("{first}::{last}"),
        _ => path.to_owned(),
    }
}
