//! `meshfold runs models`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use meshfold_experiment::results::{ModelsError, TrainedModels};

use super::find::run_of;
use crate::failure::Failure;

#[derive(Debug, Args)]
#[command(after_help = "\
The run must have kept its last checkpoint: `meshfold run FILE --set checkpoint.keep=true`. Of a run that is not finished, the models are
those of its last checkpoint.

Example:
  meshfold runs models 3fa2 --out models.safetensors")]
pub(super) struct ModelsArguments {
    /// The run: its id, the beginning of it, or its folder
    run: String,
    /// The safetensors file to write, with a tensor [rows, inputs, outputs] for each parameter [default: models.safetensors in the run's
    /// folder]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the mean of the models alone, as one row; without clients that were not alive in the last round
    #[arg(long)]
    mean: bool,
    /// Where ids are looked up
    #[arg(long, value_name = "DIR", default_value = "runs")]
    results: PathBuf,
}

/// Writes the trained models of a run.
///
/// # Errors
/// [`Failure::Refused`] if the word stands for no run or for several, or the run kept no models; [`Failure::Broken`] if they cannot be
/// read or written.
pub(super) fn models(arguments: &ModelsArguments) -> Result<(), Failure> {
    let folder = run_of(&arguments.run, &arguments.results)?;
    let found = TrainedModels::of(&folder).map_err(|error| match error {
        ModelsError::NoCheckpoint { .. } | ModelsError::NoNames { .. } => Failure::refused(error),
        error => Failure::broken(error),
    })?;
    let found = match arguments.mean {
        true => found.mean(),
        false => found,
    };
    let default = || folder.join("models.safetensors");
    let path = arguments.out.clone().unwrap_or_else(default);
    let written = found.write(&path);
    written.map_err(|error| Failure::unwritten(&path, error))?;
    let (rows, parameters) = (found.models.rows(), found.models.layout().parameters());
    let models = if rows == 1 { "model" } else { "models" };
    writeln!(
        std::io::stdout().lock(),
        "{rows} {models} of {parameters} parameters after round {}: {}",
        found.round,
        path.display()
    )?;
    Ok(())
}
