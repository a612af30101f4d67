//! `meshfold tensorboard DIR...`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use meshfold_experiment::results::{RunEntry, RunStage};
use meshfold_tensorboard::{FOLDER, LogFolder};

use super::manage::runs_in;
use crate::failure::Failure;
use crate::terminal;

#[derive(Debug, Args)]
#[command(after_help = "\
Each run is a run of TensorBoard, DIR/NAME/LABEL. `meshfold run FILE --tensorboard` writes the same while runs go on.

Example:
  meshfold tensorboard runs/first
  tensorboard --logdir runs/tensorboard")]
pub(crate) struct TensorboardArguments {
    /// Folders of runs, of experiments, or of all results
    #[arg(value_name = "DIR", default_value = "runs")]
    folders: Vec<PathBuf>,
    /// The folder to write to [default: tensorboard, beside the folders of the experiments]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes event files of the runs in the folders.
///
/// # Errors
/// [`Failure::Refused`] if there is no run in a folder or nothing can be written, [`Failure::Broken`] if an event file fails,
/// [`Failure::Incomplete`] if a damaged run is left out.
pub(crate) fn tensorboard(arguments: &TensorboardArguments) -> Result<(), Failure> {
    let mut runs = Vec::new();
    for folder in &arguments.folders {
        runs.extend(runs_in(folder).map_err(Failure::refused)?);
    }
    let mut written: BTreeMap<PathBuf, LogFolder> = BTreeMap::new();
    let mut is_lacking = false;
    for run in runs {
        if let Some((is_damaged, why)) = left_out(&run) {
            is_lacking |= is_damaged;
            terminal::line(&format!("{} is left out: {why}", run.display()));
            continue;
        }
        let out = arguments.out.clone().unwrap_or_else(|| beside(&run));
        let logs = match written.entry(out) {
            Entry::Occupied(logs) => logs.into_mut(),
            Entry::Vacant(place) => {
                let logs = LogFolder::open(place.key()).map_err(Failure::refused)?;
                place.insert(logs)
            }
        };
        logs.begin(&run, None).map_err(Failure::broken)?;
    }
    for out in written.keys() {
        say(out)?;
    }
    match is_lacking {
        true => Err(Failure::Incomplete),
        false => Ok(()),
    }
}

/// Says how to view what was written to `out`.
///
/// # Errors
/// The error of standard output.
pub(super) fn say(out: &Path) -> Result<(), Failure> {
    let line = format!("events: tensorboard --logdir {}", out.display());
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}

/// The folder of event files beside the experiment that the run in `folder` belongs to.
fn beside(folder: &Path) -> PathBuf {
    let two_above = |path: &Path| path.ancestors().nth(2).map(Path::to_owned);
    let named = two_above(folder).filter(|above| !above.as_os_str().is_empty());
    let results = named.or_else(|| two_above(&fs::canonicalize(folder).ok()?));
    results.unwrap_or_default().join(FOLDER)
}

/// Why the run in `folder` is left out, and whether it is damaged. The events of a run that goes on are its own process's.
fn left_out(folder: &Path) -> Option<(bool, String)> {
    match RunEntry::of(folder).stage {
        RunStage::Damaged { reason } => Some((true, reason)),
        RunStage::Running => {
            let why = "a process works on it; `meshfold run` with --tensorboard writes its events";
            Some((false, why.to_owned()))
        }
        RunStage::Finished | RunStage::Interrupted { .. } => None,
    }
}
