//! Runs a plan: rounds, records, checkpoints, and the folder that holds what came of it.

mod bound_measurements;
pub(crate) mod client_rows;
pub(crate) mod client_views;
mod digests;
pub(crate) mod ending;
pub(crate) mod environment;
mod evaluation;
mod evaluation_result;
mod first_models;
mod inferred_membership;
pub(crate) mod journal;
pub(crate) mod local_tests;
mod membership;
pub(crate) mod observer;
mod other_examples;
pub(crate) mod ranks;
pub(crate) mod run_all;
mod run_data;
mod run_state;
pub(crate) mod shared_datasets;
mod shorter_run;
mod stopwatch;
mod summing_up;
mod theory_measurements;
mod tidying;
pub(crate) mod timing;

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use meshfold_data::Splits;
use meshfold_engine::{Device, Ranks};

use crate::plan::run_plan::RunPlan;
use crate::results::checkpoint::Origin;
use crate::results::data_digests::DataDigests;
use crate::results::metrics::writer::read_records;
use crate::results::run_error::RunError;
use crate::results::run_folder::{Done, ENVIRONMENT, METRICS, RunFolder};
use crate::run::ending::{Ending, RunReport};
use crate::run::environment::{Environment, VERSION};
use crate::run::journal::{Journal, Opened};
use crate::run::observer::{Observer, RoundProgress};
use crate::run::ranks::AnnouncedRun;
use crate::run::run_data::RunData;
use crate::run::run_state::RunState;
use crate::run::shorter_run::may_be_lengthened;

/// Where and how plans are run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The device that models live on.
    pub device: Device,
    /// The folder of all results, such as `runs`.
    pub results: PathBuf,
    /// Whether a finished run is run again.
    pub again: bool,
    /// The commit that this program was built from, if known.
    pub commit: Option<String>,
}

/// Runs `plan` on `data`, the examples as its dataset has them, writing to `<results>/<name>/<id>/`.
///
/// A finished run is skipped. An interrupted run resumes from its checkpoint and has the bits of an uninterrupted one; without
/// a valid checkpoint it starts again. A new run goes on from the kept checkpoint of a finished one beside it that differs in having fewer
/// rounds alone, and has the bits of a run in one go; runs of own methods, which may know their number of rounds, do not. When `stop` becomes true, or the `observer` asks for it, the run ends after the round in
/// progress. A model that is not finite, or a GPU that fails, ends the run as [`Ending::Failed`]. However it ends, what was
/// recorded until then is kept, with the table of clients and the summary; a finished run is marked with `DONE` after all of these.
///
/// No page is written, as this crate knows of none: once the run has ended, `meshfold_report::write_run_report` writes
/// `report.html` into its folder.
///
/// On a device of several ranks this is what rank 0 does; the others [`follow`](crate::follow).
///
/// If the data have changed since the run was begun or planned, it ends as [`Ending::Failed`] with [`RunError::OtherData`] or
/// [`RunError::Unplanned`], and its files stay as they were. `failure.json` says why.
///
/// # Interpretation
/// The training loss of a record is the mean since the record before. A checkpoint holds the losses since that record, so it
/// may be written between two evaluations. A run that is asked to stop writes one, if the plan asks for checkpoints.
///
/// # Errors
/// [`RunError`] if the results cannot be written, and if the plan fits neither data nor device.
pub fn run(
    plan: &RunPlan,
    data: &Splits,
    options: &RunOptions,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunError> {
    let announced = AnnouncedRun::begin(&options.device, plan);
    let data = RunData::read(plan, &options.device, |see| {
        let all = data.clone();
        Ok::<_, Infallible>(match see {
            Some(see) => all.in_pieces(Ranks::PIECE, see),
            None => all,
        })
    });
    let Ok(data) = data;
    run_on(plan, (announced, data), options, stop, observer)
}

/// [`run`] on data that have been read, which are let go of as soon as the learner has what it needs of them.
pub(crate) fn run_on(
    plan: &RunPlan,
    (announced, mut data): (AnnouncedRun<'_>, RunData),
    options: &RunOptions,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunError> {
    let mut journal = match claim(plan, &mut data, options)? {
        Ok(journal) => journal,
        Err(report) => return Ok(report),
    };
    observer.started(plan);
    tracing::info!(
        "{} {}: {}, on {}",
        plan.config.name,
        plan.id,
        plan.label(),
        options.device.kind()
    );
    announced.start();
    if plan.config.evaluate.measures_examples() {
        observer.preparing("the least losses, for the theory asked for");
    }
    let mut state = RunState::start(plan, &data, &options.device)?;
    if let Some(train) = data.all() {
        state.measure_examples(train, stop)?;
    }
    let resumed = journal.resume(&mut state)?;
    let environment = Environment {
        data: Some(journal.data().clone()),
        ..Environment::of(
            &options.device,
            plan.config.precision,
            options.commit.clone(),
        )
    };
    let environment = match &resumed {
        Some(resumed) => environment.after(resumed.round, &journal.environment()),
        None => environment,
    };
    if let Some(commit) = environment.other_commit() {
        tracing::warn!(
            "{}: the rounds until now were made by a program of commit {commit}, and the others will not be: `environment.json` names both; \
             `--again` makes all of them with this program",
            journal.called()
        );
    }
    journal.begin(
        &environment,
        &data.list().expect("who leads knows all examples"),
    )?;
    drop(data);
    if let Some(resumed) = &resumed {
        tracing::info!(
            "{}: goes on after round {}",
            journal.called(),
            resumed.round
        );
        observer.resumed(resumed);
    }
    let device = state.device().clone();
    let ending = match device.attempt(|| rounds(&mut state, &mut journal, stop, observer)) {
        Ok(ending) => ending,
        Err(error) if error.is_of_the_models() => Ending::Failed { error },
        Err(error) => return Err(error),
    };
    journal.end(&state, ending, resumed.map(|from| from.round))
}

/// Claims the folder of the run for this process, or gives the report of a run that is not carried out.
fn claim<'a>(
    plan: &'a RunPlan,
    data: &mut RunData,
    options: &RunOptions,
) -> Result<Result<Box<Journal<'a>>, RunReport>, RunError> {
    if let Some(report) = skip(plan, options)? {
        return Ok(Err(report));
    }
    let folder = RunFolder::new(&options.results, &plan.config.name, &plan.id)?;
    let data = match data.take_digests() {
        Ok(data) => data,
        Err(error) => return Ok(Err(refused(plan, &folder, error))),
    };
    let (run, by) = (plan.id.clone(), version_and_device(plan, options));
    let origin = Origin { run, by, data };
    match Journal::open(plan, folder.clone(), origin, options.again) {
        Ok(Opened::Begun(journal)) => Ok(Ok(journal)),
        Ok(Opened::Finished(by)) => Ok(Err(skipped(
            plan,
            &folder,
            by,
            &version_and_device(plan, options),
        ))),
        Err(error @ RunError::OtherData { .. }) => Ok(Err(refused(plan, &folder, error))),
        Err(error) => Err(error),
    }
}

/// The rounds that are left, and an evaluation wherever one is due.
fn rounds(
    state: &mut RunState<'_>,
    journal: &mut Journal<'_>,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Ending, RunError> {
    if state.theory().is_called_off() {
        return Ok(Ending::Interrupted);
    }
    // A checkpoint of the last round may have been written before the models were judged.
    judge(state, journal, observer)?;
    let rounds = journal.plan().config.rounds;
    while !state.is_done() {
        if stop.load(Ordering::Relaxed) || observer.asks_to_stop() {
            journal.save(state)?;
            return Ok(Ending::Interrupted);
        }
        state.advance()?;
        journal.done(state.round());
        observer.round(&RoundProgress {
            round: state.round(),
            rounds,
            local_steps: state.local_steps(),
        });
        judge(state, journal, observer)?;
    }
    Ok(Ending::Finished)
}

/// Judges the models after a round if that is due, and writes the checkpoint that is due. A run of more rounds goes on from one that was
/// written before.
fn judge(
    state: &mut RunState<'_>,
    journal: &mut Journal<'_>,
    observer: &mut dyn Observer,
) -> Result<(), RunError> {
    if state.is_done() && may_be_lengthened(&journal.plan().config) {
        journal.save_if_due(state)?;
    }
    if state.is_judged() && !journal.has(state.round()) {
        observer.record(journal.record(state)?);
    }
    journal.save_if_due(state)
}

/// The report of `plan` if [`run`] would skip it, because it was finished before; it needs no data.
///
/// # Errors
/// [`RunError::Name`] if the experiment's name is no name of a folder.
pub fn finished(plan: &RunPlan, options: &RunOptions) -> Result<Option<RunReport>, RunError> {
    let folder = RunFolder::new(&options.results, &plan.config.name, &plan.id)?;
    let done = folder.done().filter(|_| !options.again);
    Ok(done.map(|by| skipped(plan, &folder, by, &version_and_device(plan, options))))
}

/// [`finished`], which also removes what a killed process left in the run's folder.
///
/// # Errors
/// As [`finished`].
pub(crate) fn skip(plan: &RunPlan, options: &RunOptions) -> Result<Option<RunReport>, RunError> {
    let report = finished(plan, options)?;
    if report.is_some() {
        let folder = RunFolder::new(&options.results, &plan.config.name, &plan.id)?;
        tidying::tidy(&folder, plan);
    }
    Ok(report)
}

/// The program version and the device kind of this run.
fn version_and_device(plan: &RunPlan, options: &RunOptions) -> Done {
    Done {
        meshfold: VERSION.to_owned(),
        device: options.device.kind_in(plan.config.precision),
    }
}

/// The report of a run that had been finished before.
fn skipped(plan: &RunPlan, folder: &RunFolder, by: Done, now: &Done) -> RunReport {
    let report = as_it_is(plan, folder);
    let data = report.data.as_ref();
    RunReport {
        ending: Ending::Skipped {
            differs: by != *now,
            by,
            changed: data.and_then(|data| data.changed_in_plan(plan)),
        },
        ..report
    }
}

/// The report of a run that is refused.
fn refused(plan: &RunPlan, folder: &RunFolder, error: RunError) -> RunReport {
    folder.note_failure(&error);
    RunReport {
        ending: Ending::Failed { error },
        ..as_it_is(plan, folder)
    }
}

/// The report of a run as its folder has it; the caller fills in how it ended.
fn as_it_is(plan: &RunPlan, folder: &RunFolder) -> RunReport {
    let records = read_records(&folder.file(METRICS)).unwrap_or_default();
    let summary = std::fs::read(folder.file("summary.json")).ok();
    RunReport {
        id: plan.id.clone(),
        folder: folder.path().to_owned(),
        ending: Ending::Interrupted,
        resumed_from: None,
        checkpoint: None,
        data: DataDigests::recorded(&folder.file(ENVIRONMENT)),
        last: records.into_iter().last(),
        summary: summary.and_then(|text| serde_json::from_slice(&text).ok()),
    }
}
