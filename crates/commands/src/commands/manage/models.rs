//! `meshfold runs models`.

use std::io::Write;
use std::path::{Path, PathBuf};

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
/// [`Failure::Refused`] if the word stands for no run or for several, the run kept no models, or the file's name ends as that of another
/// format; [`Failure::Broken`] if they cannot be read or written.
pub(super) fn models(arguments: &ModelsArguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.out {
        expect_safetensors(path)?;
    }
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

/// Requires a name that ends in `.safetensors`, or has no ending: a file under another would be taken for another format.
fn expect_safetensors(path: &Path) -> Result<(), Failure> {
    let Some(ending) = path.extension() else {
        return Ok(());
    };
    if ending.eq_ignore_ascii_case("safetensors") {
        return Ok(());
    }
    let ending = ending.display();
    Err(Failure::refused(format_args!(
        "{}: models are written in the safetensors format, not as .{ending}: name a file that ends in .safetensors, which PyTorch, JAX and \
         NumPy read with the package `safetensors`; in Python, `numpy.savez(file, **run.models().by_layer())` writes an npz file",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_models_end_as_their_format() {
        for path in ["a.safetensors", "runs/b.SAFETENSORS", "c", "/dev/stdout"] {
            assert!(expect_safetensors(Path::new(path)).is_ok(), "{path}");
        }
        for path in ["a.npz", "a.pt", "a.safetensors.gz", "a.safetensor"] {
            assert!(expect_safetensors(Path::new(path)).is_err(), "{path}");
        }
    }
}
