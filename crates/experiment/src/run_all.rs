//! All runs of a sweep, as many at once as the device has threads and the machine has memory for.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use meshfold_data::Splits;
use meshfold_engine::Device;

use crate::ending::RunReport;
use crate::memory;
use crate::observer::Observer;
use crate::plan::RunPlan;
use crate::run::{RunOptions, finished, run};
use crate::run_error::RunError;

/// Whoever has runs carried out: it gives them their examples and is told how they go. It is called from several threads.
pub trait Attendant: Sync {
    /// What ends all runs: an error of a run, or one of its own.
    type Error: From<RunError> + Send;

    /// The examples of `plans[index]`, as its dataset has them. `next` is the first run that has not begun.
    ///
    /// # Errors
    /// Its own, if they cannot be had.
    fn data(&self, index: usize, next: usize) -> Result<Splits, Self::Error>;

    /// Who watches the run `plans[index]`.
    fn observer(&self, index: usize) -> Box<dyn Observer + '_>;

    /// The run `plans[index]` has ended, having taken so long.
    ///
    /// # Errors
    /// Its own, if it fails at what it makes of the report.
    fn ended(&self, index: usize, report: &RunReport, took: Duration) -> Result<(), Self::Error>;
}

/// Runs `plans` in their order, up to `at_once` of them at the same time, and returns their reports as far as they were
/// begun before `stop`.
///
/// On the processor every run begins on a thread of its own and other threads help it where they have no run: a sweep of
/// small populations keeps all cores busy without a pause between rounds. On a GPU, runs that share model, data and method
/// make their local steps together, as one stack. What else runs never changes a bit of a run.
///
/// # Errors
/// The first error that is not of the models: no further run begins then, and those in progress end after their round, as if
/// `stop` had asked them to.
pub fn run_all<A: Attendant>(
    plans: &[RunPlan],
    options: &RunOptions,
    at_once: usize,
    stop: &AtomicBool,
    attendant: &A,
) -> Result<Vec<RunReport>, A::Error> {
    let queue = Queue {
        plans,
        options,
        stop,
        next: AtomicUsize::new(0),
        outcomes: Mutex::new(plans.iter().map(|_| None).collect()),
    };
    let at_once = at_once.min(plans.len());
    options
        .device
        .side_by_side(at_once, |device| queue.serve(device, attendant));
    let outcomes = queue
        .outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    outcomes.into_iter().flatten().collect()
}

/// How many of `plans` fit on the device and in the machine's memory at the same time, by the largest of them; at least one.
pub fn most_at_once(plans: &[RunPlan], options: &RunOptions) -> usize {
    let largest = plans.iter().map(|plan| plan.memory_bytes).max();
    let device = &options.device;
    let available = [memory::available(), device.own_memory()];
    fitting(
        device.width(),
        available.into_iter().flatten().min(),
        largest.unwrap_or(0),
    )
}

/// How many runs of `bytes` each fit in `available` bytes, from 1 to `width`.
fn fitting(width: usize, available: Option<u64>, bytes: u64) -> usize {
    let by_memory = available.map_or(u64::MAX, |available| available / bytes.max(1));
    usize::try_from(by_memory)
        .unwrap_or(usize::MAX)
        .clamp(1, width.max(1))
}

/// The runs that are left to do and what came of the others.
struct Queue<'a, E> {
    plans: &'a [RunPlan],
    options: &'a RunOptions,
    stop: &'a AtomicBool,
    /// The first run that has not begun.
    next: AtomicUsize,
    outcomes: Mutex<Vec<Option<Result<RunReport, E>>>>,
}

impl<E: From<RunError>> Queue<'_, E> {
    /// Takes runs until none is left.
    fn serve<A: Attendant<Error = E>>(&self, device: &Device, attendant: &A) {
        let options = RunOptions {
            device: device.clone(),
            ..self.options.clone()
        };
        while !self.stop.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.plans.len() {
                break;
            }
            let outcome = self.carry_out(index, &options, attendant);
            if outcome.is_err() {
                self.stop.store(true, Ordering::Relaxed);
            }
            self.outcomes()[index] = Some(outcome);
        }
    }

    fn carry_out<A: Attendant<Error = E>>(
        &self,
        index: usize,
        options: &RunOptions,
        attendant: &A,
    ) -> Result<RunReport, E> {
        let (plan, began) = (&self.plans[index], Instant::now());
        let report = match finished(plan, options)? {
            Some(report) => report,
            None => {
                let next = self.next.load(Ordering::Relaxed);
                let data = attendant.data(index, next)?;
                let mut observer = attendant.observer(index);
                run(plan, &data, options, self.stop, &mut *observer)?
            }
        };
        attendant.ended(index, &report, began.elapsed())?;
        Ok(report)
    }

    fn outcomes(&self) -> MutexGuard<'_, Vec<Option<Result<RunReport, E>>>> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_memory_bound_the_runs_at_once() {
        assert_eq!(fitting(8, Some(1000), 300), 3);
        assert_eq!(fitting(2, Some(1000), 300), 2);
        assert_eq!(fitting(8, Some(1000), 1001), 1);
        assert_eq!(fitting(8, None, 300), 8);
        assert_eq!(fitting(8, Some(1000), 0), 8);
    }
}
