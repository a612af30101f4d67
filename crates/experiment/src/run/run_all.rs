//! All runs of a sweep, as many at once as the device has threads and the machine has memory for.
//!
//! A run whose folder or files fail, or were damaged since it was finished, is reported as such and keeps no other run from
//! its end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use meshfold_data::{Examples, Splits};
use meshfold_engine::{Device, Ranks};

use crate::config::id::run_id;
use crate::config::run_config::RunConfig;
use crate::config::source::ExperimentSource;
use crate::files::write_error::plain_write_error;
use crate::plan::memory;
use crate::plan::run_plan::RunPlan;
use crate::results::RecordedRun;
use crate::results::claim::{Claim, await_verdicts};
use crate::results::results_error::AGAIN;
use crate::results::run_error::RunError;
use crate::results::run_folder::{DONE, RunFolder};
use crate::results::sweep_order;
use crate::run::ending::{Ending, RunReport};
use crate::run::environment::VERSION;
use crate::run::observer::Observer;
use crate::run::other_examples::report_other_examples;
use crate::run::ranks::AnnouncedRun;
use crate::run::run_data::RunData;
use crate::run::{RunOptions, run_on, skip};

/// The caller of [`run_all`]: it supplies the examples and hears how runs go. Its methods are called from several
/// threads.
pub trait RunHost: Sync {
    /// An error that ends all runs: one that concerns them all, or one of the host's own.
    type Error: From<RunError> + Send;

    /// The examples of `plans[index]`, as its dataset has them. `next` is the first run that has not begun.
    ///
    /// # Errors
    /// Its own, if they cannot be had.
    fn data(&self, index: usize, next: usize) -> Result<Splits, Self::Error>;

    /// As [`RunHost::data`], but hands the training examples to `see`, in order, in pieces of at most [`Ranks::PIECE`]
    /// bytes of features. The returned splits have none of them. It is called where a run is dealt over ranks. By
    /// default all examples are loaded before the first piece.
    ///
    /// # Errors
    /// As [`RunHost::data`].
    fn data_in_pieces(
        &self,
        index: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, Self::Error> {
        let all = self.data(index, usize::MAX)?;
        Ok(all.in_pieces(Ranks::PIECE, see))
    }

    /// The observer of the run `plans[index]`.
    fn observer(&self, index: usize) -> Box<dyn Observer + '_>;

    /// The run `plans[index]` has ended, after the time `took`. Write its page here, with
    /// `meshfold_report::write_run_report` on its folder.
    ///
    /// # Errors
    /// Its own, if it fails at what it makes of the report.
    fn ended(&self, index: usize, report: &RunReport, took: Duration) -> Result<(), Self::Error>;
}

/// Runs `plans` in their order, up to `at_once` of them at the same time, and returns their reports as far as they were
/// begun before `stop`.
///
/// An error of one run, such as a full disk or a folder that cannot be written to, ends that run as [`Ending::Failed`]; a run
/// that was finished earlier and has been damaged since is [`Ending::Damaged`]. The others go on.
///
/// On the processor every run begins on a thread of its own and other threads help it where they have no run: a sweep of
/// small populations keeps all cores busy without a pause between rounds. On a GPU, runs that share model, data and method
/// make their local steps together, as one stack. What else runs never changes a bit of a run.
///
/// # Errors
/// [`RunError::Name`] and [`RunError::Folder`] before any run begins, if there can be no results. Later the first error of the
/// `host`: no further run begins then, and those in progress end after their round, as if `stop` had asked them to.
pub fn run_all<A: RunHost>(
    plans: &[RunPlan],
    options: &RunOptions,
    at_once: usize,
    stop: &AtomicBool,
    host: &A,
) -> Result<Vec<RunReport>, A::Error> {
    run_part(plans, plans, options, at_once, stop, host)
}

/// [`run_all`] of `plans` that are some of the runs of `sweep`; other processes may carry out the others. Folders and pages
/// have them in the order of the whole sweep.
///
/// # Errors
/// As [`run_all`].
pub fn run_part<A: RunHost>(
    plans: &[RunPlan],
    sweep: &[RunPlan],
    options: &RunOptions,
    at_once: usize,
    stop: &AtomicBool,
    host: &A,
) -> Result<Vec<RunReport>, A::Error> {
    prepare(plans, sweep, options)?;
    let queue = Queue {
        plans,
        options,
        stop,
        order: (0..plans.len()).collect(),
        next: AtomicUsize::new(0),
        outcomes: Mutex::new(plans.iter().map(|_| None).collect()),
    };
    queue.serve_all(at_once, host);
    let queue = queue.of_those_elsewhere();
    queue.await_verdicts()?;
    queue.serve_all(at_once, host);
    let outcomes = queue
        .outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let reports: Result<Vec<RunReport>, A::Error> = outcomes.into_iter().flatten().collect();
    let reports = reports.inspect_err(|_| remove_empty_folders(plans, options))?;
    report_other_examples(plans, &reports);
    Ok(reports)
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
    /// Places in `plans`, in the order in which they are taken.
    order: Vec<usize>,
    /// Place in `order` of the first run that has not begun.
    next: AtomicUsize,
    outcomes: Mutex<Vec<Option<Result<RunReport, E>>>>,
}

impl<E: From<RunError> + Send> Queue<'_, E> {
    /// Carries out all runs, up to `at_once` of them at the same time.
    fn serve_all<A: RunHost<Error = E>>(&self, at_once: usize, host: &A) {
        let at_once = at_once.min(self.order.len());
        let device = &self.options.device;
        if at_once > 0 {
            device.side_by_side(at_once, |device| self.serve(device, host));
        }
    }

    /// The runs that another process had when it was their turn.
    fn of_those_elsewhere(self) -> Self {
        let outcomes = self.outcomes();
        let is_elsewhere = |index: &&usize| {
            let outcome = outcomes[**index].as_ref();
            let report = outcome.and_then(|outcome| outcome.as_ref().ok());
            report.is_some_and(|report| matches!(report.ending, Ending::Elsewhere))
        };
        let order = self.order.iter().filter(is_elsewhere).copied().collect();
        drop(outcomes);
        Self {
            order,
            next: AtomicUsize::new(0),
            ..self
        }
    }

    /// Waits until it is known whether the processes that had these runs still live.
    fn await_verdicts(&self) -> Result<(), RunError> {
        let folder = |index: &usize| {
            let plan = &self.plans[*index];
            RunFolder::new(&self.options.results, &plan.config.name, &plan.id)
        };
        let folders: Result<Vec<RunFolder>, RunError> = self.order.iter().map(folder).collect();
        let folders = folders?;
        let paths: Vec<PathBuf> = folders.iter().map(|one| one.path().to_owned()).collect();
        await_verdicts(&paths, self.stop);
        Ok(())
    }

    /// Takes runs until none is left.
    fn serve<A: RunHost<Error = E>>(&self, device: &Device, host: &A) {
        let options = RunOptions {
            device: device.clone(),
            ..self.options.clone()
        };
        while !self.stop.load(Ordering::Relaxed) {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&index) = self.order.get(place) else {
                break;
            };
            let outcome = self.carry_out(index, &options, host);
            if outcome.is_err() {
                self.stop.store(true, Ordering::Relaxed);
            }
            self.outcomes()[index] = Some(outcome);
        }
    }

    fn carry_out<A: RunHost<Error = E>>(
        &self,
        index: usize,
        options: &RunOptions,
        host: &A,
    ) -> Result<RunReport, E> {
        let (plan, began) = (&self.plans[index], Instant::now());
        let report = match skip(plan, options)? {
            Some(report) => unless_damaged(plan, report),
            None if is_elsewhere(plan, options)? => ended(plan, options, Ending::Elsewhere)?,
            None => {
                let place = self.next.load(Ordering::Relaxed);
                let next = self.order.get(place).copied().unwrap_or(self.plans.len());
                let announced = AnnouncedRun::begin(&options.device, plan);
                let data = RunData::read(plan, &options.device, |see| match see {
                    None => host.data(index, next),
                    Some(see) => host.data_in_pieces(index, see),
                })?;
                let mut observer = host.observer(index);
                match run_on(plan, (announced, data), options, self.stop, &mut *observer) {
                    Ok(report) => report,
                    Err(RunError::Busy { .. }) => ended(plan, options, Ending::Elsewhere)?,
                    Err(error @ RunError::TakenOver { .. }) => {
                        tracing::warn!("{error}");
                        ended(plan, options, Ending::Elsewhere)?
                    }
                    Err(error) => failed(plan, options, error)?,
                }
            }
        };
        host.ended(index, &report, began.elapsed())?;
        Ok(report)
    }

    fn outcomes(&self) -> MutexGuard<'_, Vec<Option<Result<RunReport, E>>>> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the folders that the runs lie in, notes the order of the runs, and tries whether results can be written.
///
/// # Errors
/// [`RunError::Name`] and [`RunError::Folder`].
fn prepare(plans: &[RunPlan], sweep: &[RunPlan], options: &RunOptions) -> Result<(), RunError> {
    let mut in_order = by_name(sweep);
    for (name, plans) in by_name(plans) {
        let mut is_left = false;
        for plan in &plans {
            let folder = RunFolder::new(&options.results, name, &plan.id)?;
            is_left |= options.again || folder.done().is_none();
        }
        let folder = options.results.join(name);
        if is_left {
            RunFolder::at(folder.clone()).prepare()?;
        }
        let sweep = in_order.remove(name).unwrap_or_default();
        let ids: Vec<&str> = sweep.iter().map(|plan| plan.id.as_str()).collect();
        if ids.len() > 1
            && let Err(error) = sweep_order::note(&folder, &ids)
        {
            let (folder, error) = (folder.display(), plain_write_error(error));
            tracing::warn!("the order of the runs cannot be noted in {folder}: {error}");
        }
    }
    Ok(())
}

/// The runs by the names of their experiments, in their order.
fn by_name(plans: &[RunPlan]) -> BTreeMap<&str, Vec<&RunPlan>> {
    let mut by_name: BTreeMap<&str, Vec<&RunPlan>> = BTreeMap::new();
    for plan in plans {
        by_name.entry(&plan.config.name).or_default().push(plan);
    }
    by_name
}

/// Removes the folders of experiments that no run has written to, and that of all results.
fn remove_empty_folders(plans: &[RunPlan], options: &RunOptions) {
    let of_plan = |plan: &RunPlan| options.results.join(&plan.config.name);
    for folder in plans.iter().map(of_plan).chain([options.results.clone()]) {
        // Whatever holds a file stays.
        std::fs::remove_dir(folder).ok();
    }
}

/// Whether another process carries out `plan`.
fn is_elsewhere(plan: &RunPlan, options: &RunOptions) -> Result<bool, RunError> {
    let folder = RunFolder::new(&options.results, &plan.config.name, &plan.id)?;
    Ok(Claim::is_held(folder.path()))
}

/// The report of a run that ended before it began, or broke off, which costs no other run.
fn ended(plan: &RunPlan, options: &RunOptions, ending: Ending) -> Result<RunReport, RunError> {
    let folder = RunFolder::new(&options.results, &plan.config.name, &plan.id)?;
    Ok(RunReport {
        id: plan.id.clone(),
        folder: folder.path().to_owned(),
        ending,
        resumed_from: None,
        checkpoint: None,
        data: None,
        last: None,
        summary: None,
    })
}

/// The report of a run that broke off. Its folder says why, too.
fn failed(plan: &RunPlan, options: &RunOptions, error: RunError) -> Result<RunReport, RunError> {
    let folder = RunFolder::new(&options.results, &plan.config.name, &plan.id)?;
    // The run itself is as good as before: it can go on where it was begun.
    if !matches!(error, RunError::OtherDevice { .. }) {
        folder.note_failure(&error);
    }
    ended(plan, options, Ending::Failed { error })
}

/// The `report` of a run that was finished earlier; [`Ending::Damaged`] unless everything is there that it wrote.
fn unless_damaged(plan: &RunPlan, report: RunReport) -> RunReport {
    let read = RecordedRun::read(&report.folder);
    let is_finished = report.folder.join(DONE).is_file();
    let damage = read.err().map(|error| error.reason(is_finished));
    match damage.or_else(|| of_another_run(plan, &report)) {
        Some(problem) => RunReport {
            ending: Ending::Damaged { problem },
            last: None,
            summary: None,
            ..report
        },
        None => report,
    }
}

/// Why a folder that is whole is not that of `plan`, as far as this version of the program can tell.
fn of_another_run(plan: &RunPlan, skipped: &RunReport) -> Option<String> {
    let Ending::Skipped { by, .. } = &skipped.ending else {
        return None;
    };
    let config = std::fs::read_to_string(skipped.folder.join("config.yaml"));
    let found = match (&skipped.summary, config) {
        _ if by.meshfold != VERSION => return None,
        (None, _) => "summary.json is damaged: it is none of this version",
        (_, Ok(text)) if id_of(&text, plan).as_ref() != Some(&plan.id) => {
            "config.yaml is damaged: it is none of this run"
        }
        _ => return None,
    };
    Some(format!("{found}; {}", AGAIN))
}

/// The id of the run that `config.yaml` with this `text` is of, which may name what the run of `plan` may.
fn id_of(text: &str, plan: &RunPlan) -> Option<String> {
    let source = ExperimentSource::new("config.yaml", text).with_own(plan.own.clone());
    let config = RunConfig::read(&source);
    config.map(|config| run_id(&config)).ok()
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
