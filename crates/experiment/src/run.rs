//! Runs a plan: rounds, records, checkpoints, and the folder that holds what came of it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use meshfold_data::Splits;
use meshfold_engine::Device;

use crate::course::Course;
use crate::ending::{Ending, RunReport};
use crate::environment::{Environment, VERSION};
use crate::journal::Journal;
use crate::observer::{Observer, RoundProgress};
use crate::plan::RunPlan;
use crate::practice::Quantity;
use crate::records::read_records;
use crate::results::{Done, RunFolder};
use crate::run_error::RunError;

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
/// A run that is finished is skipped; one that was broken off goes on from its checkpoint, with the bits that it would
/// have had, or starts again if it has none. When `stop` becomes true the run ends after the round in progress. A model
/// that is not finite ends the run as [`Ending::Failed`]. However it ends, what was recorded until then is kept, with
/// the table of clients and the summary; only a finished run is marked with `DONE`, last of all.
///
/// # Interpretation
/// The training loss of a record is taken since the record before. So that nothing of it is lost, checkpoints are
/// taken at the first evaluation on or after the round in which they are due, and at the last round.
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
    if let Some(report) = finished(plan, options)? {
        return Ok(report);
    }
    let folder = RunFolder::new(&options.results, &plan.config.name, &plan.id)?;
    let environment = Environment::of(&options.device, options.commit.clone());
    let mut journal = Journal::open(plan, folder, here(options), options.again)?;
    observer.started(plan);
    let data = data.clone().dealt(&plan.partition);
    if plan
        .config
        .evaluate
        .theory
        .contains(&Quantity::NonIidDegree)
    {
        observer.preparing("the least losses, for Γ");
    }
    let mut course = Course::start(plan, &data, &options.device, stop)?;
    let resumed_from = journal.resume(&mut course)?;
    journal.begin(&environment, &data)?;
    if let Some(round) = resumed_from {
        observer.resumed(round);
    }
    let ending = match rounds(&mut course, &mut journal, stop, observer) {
        Ok(ending) => ending,
        Err(error) if error.is_of_the_models() => Ending::Failed { error },
        Err(error) => return Err(error),
    };
    journal.end(&course, ending, resumed_from)
}

/// The rounds that are left, and an evaluation wherever one is due.
fn rounds(
    course: &mut Course<'_>,
    journal: &mut Journal<'_>,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Ending, RunError> {
    if course.practice().is_called_off() {
        return Ok(Ending::Interrupted);
    }
    if course.round() == 0 {
        observer.record(journal.record(course)?);
    }
    let rounds = journal.plan().config.rounds;
    while course.round() < rounds {
        if stop.load(Ordering::Relaxed) {
            journal.save(course)?;
            return Ok(Ending::Interrupted);
        }
        course.advance()?;
        observer.round(&RoundProgress {
            round: course.round(),
            rounds,
            local_steps: course.local_steps(),
        });
        if course.is_judged() {
            observer.record(journal.record(course)?);
            journal.save_if_due(course)?;
        }
    }
    Ok(Ending::Finished)
}

/// The report of `plan` if [`run`] would skip it, because it was finished before; it needs no data.
///
/// # Errors
/// [`RunError::Name`] if the experiment's name is no name of a folder.
pub fn finished(plan: &RunPlan, options: &RunOptions) -> Result<Option<RunReport>, RunError> {
    let folder = RunFolder::new(&options.results, &plan.config.name, &plan.id)?;
    let done = folder.done().filter(|_| !options.again);
    Ok(done.map(|by| skipped(plan, &folder, by, &here(options))))
}

/// Who runs.
fn here(options: &RunOptions) -> Done {
    Done {
        meshfold: VERSION.to_owned(),
        device: options.device.kind(),
    }
}

/// The report of a run that had been finished before.
fn skipped(plan: &RunPlan, folder: &RunFolder, by: Done, here: &Done) -> RunReport {
    let records = read_records(&folder.file("metrics.jsonl")).unwrap_or_default();
    let summary = std::fs::read(folder.file("summary.json")).ok();
    RunReport {
        id: plan.id.clone(),
        folder: folder.path().to_owned(),
        ending: Ending::Skipped {
            differs: by != *here,
            by,
        },
        resumed_from: None,
        last: records.into_iter().last(),
        summary: summary.and_then(|text| serde_json::from_slice(&text).ok()),
    }
}
