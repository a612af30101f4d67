//! Counts the launches on a GPU and the bytes that they must move.
//!
//! CubeCL reports every launch of the process, also of burn's own kernels, and how long it took. Before each of our
//! launches we state how many words it must read and write, each counted once however often the kernel accesses it. For
//! burn's kernels only the number of launches is known.

use cubecl::dry_run::DryRun;
use cubecl::logging::{LaunchObservation, LaunchObserver, TimingRequest};
use cubecl::profile::TimingMethod;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whether a trace is alive.
static TRACING: AtomicBool = AtomicBool::new(false);

/// A process has one observer of launches, so that a second trace waits for the first.
static ALONE: Mutex<()> = Mutex::new(());

thread_local! {
    /// Words that the next launch of this thread reads and writes.
    static NEXT: Cell<Option<(usize, usize)>> = const { Cell::new(None) };

    /// Whether the launches of this thread are counted.
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// States that the next launch must read and write so many floats or words.
pub(crate) fn moves(read: usize, written: usize) {
    if TRACING.load(Ordering::Relaxed) {
        NEXT.set(Some((read, written)));
    }
}

/// The launches of one kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launched {
    /// The kernel's path and name.
    pub kernel: String,
    /// How often it was launched.
    pub launches: u64,
    /// Bytes that it must read; zero if that is not known.
    pub bytes_read: u64,
    /// Bytes that it must write; zero if that is not known.
    pub bytes_written: u64,
    /// How long the launches took, if the trace runs them.
    pub time: Duration,
    /// How many of them the GPU could not time. Their time is measured on the host, from the launch to its end.
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

/// Sets whether the launches of this thread are counted, as for the thread that started it.
pub(crate) fn count_as(counted: bool) {
    COUNTED.set(counted);
}

/// While it lives, counts the launches of this thread and of the threads on which it carries out runs. Bytes are those
/// of full batches.
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
        // The words stated for a launch of no units, which is not reported, do not belong to burn's next kernel.
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
    /// Begins to count launches without running them: kernels of all threads are compiled, but nothing is written.
    /// Waits until no other trace of the process is alive.
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

    /// The launches since then by kernel, in the order of names.
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

/// `affine::affine` for `meshfold_engine::stacked::layers::dense::affine::affine_kernel::AffineKernel<..>`; for kernels
/// of other crates, the crate and the last part of the path.
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
