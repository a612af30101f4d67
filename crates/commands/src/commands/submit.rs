//! `meshfold submit FILE`: the runs of an experiment as jobs of Slurm.

mod ledger;
mod packing;
mod script;
mod slurm;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, value_parser};
use jiff::Zoned;
use meshfold_engine::{DeviceRequest, Instructions};
use meshfold_experiment::results::Claim;
use meshfold_experiment::{Own, RunPlan, plan_elsewhere};

use self::ledger::{FOLDER, Submission, SubmittedArray};
pub(super) use self::ledger::{queued, queued_or_told};
use self::packing::{JobArray, Packing};
use self::script::{Script, absolute};
use crate::arguments::ExperimentArguments;
use crate::commands::status::{Run, Standing, of_plans};
use crate::failure::Failure;
use crate::start::Start;
use crate::terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Runs that are not finished, running or queued go into job arrays of Slurm. Shortly before its time
limit a job saves its runs and puts itself into the queue again, so that they go on. `meshfold status
FILE` shows how the runs stand.

Examples:
  meshfold submit sweep.yaml --dry-run                        show the scripts
  meshfold submit sweep.yaml --partition short --time 4:00:00 --jobs-at-once 20
  meshfold submit sweep.yaml --gpus 1 --sbatch=--constraint=a100")]
pub(crate) struct SubmitArguments {
    #[command(flatten)]
    pub(super) experiment: ExperimentArguments,
    /// Folder of all results, on a file system that the nodes share
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(super) results: PathBuf,
    /// Partition of the cluster
    #[arg(long, value_name = "NAME")]
    pub(super) partition: Option<String>,
    /// Account that pays
    #[arg(long, value_name = "NAME")]
    pub(super) account: Option<String>,
    /// Time limit of a job, as Slurm takes it, such as 4:00:00
    #[arg(long, value_name = "TIME")]
    pub(super) time: Option<String>,
    /// Cores of a job; so many runs go side by side in it
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = value_parser!(u16).range(1..=1024))]
    pub(super) cpus: u16,
    /// GPUs of a job; a process of its own uses each
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=64))]
    pub(super) gpus: Option<u16>,
    /// Memory of a job, as Slurm takes it, such as 8G [default: what its runs are estimated to take, and a quarter more]
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<String>,
    /// Jobs into which the runs are packed [default: as many as the estimate of their work asks for]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// Most jobs at the same time
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    jobs_at_once: Option<u32>,
    /// Seconds ahead of the time limit at which a job is told to save its runs
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = value_parser!(u16).range(1..))]
    pub(super) notice: u16,
    /// What the runs compute on: cpu, wgpu, cuda or auto [default: cpu, with --gpus auto]
    #[arg(long, value_name = "DEVICE")]
    pub(super) device: Option<DeviceRequest>,
    /// Instruction set of the processor, for the same bits on all nodes: amx-bf16, avx512-bf16, avx512, avx2, neon or portable
    #[arg(long, value_name = "SET")]
    pub(super) cpu: Option<Instructions>,
    /// A further argument of sbatch, such as --sbatch=--constraint=fast; repeatable
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub(super) sbatch: Vec<String>,
    /// Submit runs that failed as well
    #[arg(long)]
    failed: bool,
    /// Print the scripts, and neither write nor submit anything
    #[arg(long)]
    dry_run: bool,
}

/// Submits the runs that are missing.
///
/// # Errors
/// [`Failure::Refused`] if the experiment cannot be planned or there is no scheduler; [`Failure::Broken`] if the scheduler
/// takes only a part of the jobs, or the scripts cannot be written.
pub(crate) fn submit(arguments: &SubmitArguments, own: &Own, start: &Start) -> Result<(), Failure> {
    let source = arguments.experiment.source()?.with_own(own.clone());
    let folder = arguments.experiment.data.folder_for(&source)?;
    let plans = plan_elsewhere(None, &source, &folder)?;
    let missing = missing(arguments, &plans)?;
    let Some(first) = missing.first() else {
        return Ok(());
    };
    warn(arguments, &missing);
    let most = match (arguments.dry_run, slurm::most_elements()) {
        (_, Ok(most)) => most,
        (true, Err(_)) => slurm::MOST_ELEMENTS,
        (false, Err(error)) => return Err(Failure::refused(error)),
    };
    let packing = Packing {
        runs_at_once: usize::from(arguments.cpus),
        jobs: arguments.jobs.map(|jobs| jobs as usize),
        jobs_at_once: arguments.jobs_at_once.map(|jobs| jobs as usize),
        most_elements: most,
    };
    let arrays = packing.pack(&missing);
    let name = &first.config.name;
    let experiment = absolute(&arguments.results)?.join(name);
    let place = Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let above = experiment.join(FOLDER);
    let folder = match arguments.dry_run {
        true => above.join(place),
        false => {
            folder_of_its_own(&above, &place).map_err(|error| Failure::unwritten(&above, error))?
        }
    };
    let script = Script::new(arguments, start, name, &experiment, &folder)?;
    match arguments.dry_run {
        true => show(&script, &arrays, &packing),
        false => hand_in(&script, &arrays, &packing, &folder),
    }
}

/// Makes a folder `place` in `above`, with a number at its end if another submission of the same second has it.
fn folder_of_its_own(above: &Path, place: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(above)?;
    let numbered = (2_u32..).map(|number| above.join(format!("{place}-{number}")));
    for folder in std::iter::once(above.join(place)).chain(numbered) {
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// The runs that nobody has done, does or will do. Says how many there are, and why others are left out.
fn missing(arguments: &SubmitArguments, plans: &[RunPlan]) -> Result<Vec<RunPlan>, Failure> {
    let names: BTreeSet<&String> = plans.iter().map(|plan| &plan.config.name).collect();
    for name in names.iter().filter(|_| !arguments.dry_run) {
        queued(&arguments.results.join(name)).map_err(Failure::refused)?;
    }
    let look = || of_plans(plans, &arguments.results, &mut BTreeMap::new());
    let mut runs = look();
    let is_running = |run: &&Run| matches!(run.standing, Standing::Running(_));
    let running: Vec<PathBuf> = runs.iter().filter(is_running).map(Run::folder).collect();
    if !running.is_empty() {
        // A machine that has failed cannot take its claims back.
        Claim::settle(&running);
        runs = look();
    }
    let is_missing = |standing: &Standing| match standing {
        Standing::Waiting | Standing::Interrupted => true,
        Standing::Failed(_) => arguments.failed,
        Standing::Finished | Standing::Running(_) | Standing::Damaged(_) | Standing::Queued(_) => {
            false
        }
    };
    let pairs = plans.iter().zip(&runs);
    let missing: Vec<RunPlan> = pairs
        .filter(|(_, run)| is_missing(&run.standing))
        .map(|(plan, _)| plan.clone())
        .collect();
    let count = |is: fn(&Standing) -> bool| runs.iter().filter(|run| is(&run.standing)).count();
    let mut line = format!("{} of {} runs to submit", missing.len(), plans.len());
    for (count, words) in [
        (count(|one| matches!(one, Standing::Finished)), "finished"),
        (count(|one| matches!(one, Standing::Running(_))), "running"),
        (count(|one| matches!(one, Standing::Queued(_))), "queued"),
        (
            count(|one| matches!(one, Standing::Failed(_))),
            "failed (`--failed` submits them again)",
        ),
        (
            count(|one| matches!(one, Standing::Damaged(_))),
            "damaged (`meshfold status` says what to do)",
        ),
    ] {
        if count > 0 {
            line.push_str(&format!(", {count} {words}"));
        }
    }
    terminal::line(&line);
    Ok(missing)
}

/// Warns of settings that will work but may not be meant.
fn warn(arguments: &SubmitArguments, missing: &[RunPlan]) {
    let is_lost = |plan: &&RunPlan| plan.config.checkpoint.is_none();
    if arguments.time.is_some() && missing.iter().any(|plan| is_lost(&plan)) {
        terminal::line(
            "warning: `checkpoint` is not set, so a run that meets the time limit starts again; `--set checkpoint.every=10` lets it go on",
        );
    }
}

/// Prints all scripts.
fn show(script: &Script<'_>, arrays: &[JobArray], packing: &Packing) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    let at_once = packing.at_once(arrays.len());
    for (number, array) in (1..).zip(arrays) {
        writeln!(output, "{}", script.array(number, array, at_once))?;
        writeln!(output, "# {}:", script.list(number).display())?;
        for runs in array.lines() {
            writeln!(output, "# {runs}")?;
        }
        writeln!(output)?;
    }
    Ok(write!(output, "{}", script.report())?)
}

/// Writes all scripts into `folder` and submits them.
fn hand_in(
    script: &Script<'_>,
    arrays: &[JobArray],
    packing: &Packing,
    folder: &Path,
) -> Result<(), Failure> {
    let write = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|error| Failure::unwritten(path, error))
    };
    let at_once = packing.at_once(arrays.len());
    let mut submission = Submission::default();
    for (number, array) in (1..).zip(arrays) {
        let path = folder.join(format!("array-{number}.sh"));
        write(&path, &script.array(number, array, at_once))?;
        write(&script.list(number), &(array.lines().join("\n") + "\n"))?;
        let job = slurm::submit(&path, &[]).map_err(Failure::broken)?;
        let (elements, runs) = (array.elements.len(), array.runs());
        writeln!(
            io::stdout().lock(),
            "job array {job}: {runs} runs in {elements} jobs"
        )?;
        submission.arrays.push(SubmittedArray {
            job,
            elements: array.elements.clone(),
        });
        // What is in the queue must be known even if the next array is refused.
        submission
            .note(folder)
            .map_err(|error| Failure::unwritten(folder, error))?;
    }
    let path = folder.join("report.sh");
    write(&path, &script.report())?;
    let jobs = submission.arrays.iter().map(|array| array.job.as_str());
    let jobs: Vec<&str> = jobs.collect();
    let after = format!("--dependency=afterany:{}", jobs.join(":"));
    let report = slurm::submit(&path, &[after]).map_err(Failure::broken)?;
    writeln!(
        io::stdout().lock(),
        "job {report}: the report, after them\nscripts and logs: {}",
        folder.display()
    )?;
    submission.report = Some(report);
    submission
        .note(folder)
        .map_err(|error| Failure::unwritten(folder, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submissions_of_one_second_have_folders_of_their_own() {
        let above = tempfile::tempdir().unwrap();
        let made =
            || folder_of_its_own(&above.path().join("submitted"), "20260101-000000").unwrap();
        let (first, second, third) = (made(), made(), made());
        assert!(first.ends_with("20260101-000000") && first.is_dir());
        assert!(second.ends_with("20260101-000000-2") && second.is_dir());
        assert!(third.ends_with("20260101-000000-3") && third.is_dir());
    }
}
