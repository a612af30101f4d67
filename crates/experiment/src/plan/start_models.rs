//! Checks of the models that the rows of a run start from.

use meshfold_algorithms::{Holders, RowKind, Rows};
use meshfold_engine::Layout;

use crate::config::error::ConfigError;
use crate::config::experiment::Resolved;
use crate::config::fault::ConfigFault;
use crate::config::initial_models::{InitialModels, StartFile};
use crate::files::model_file::ModelFile;
use crate::files::sha256::sha256_of_file;

/// Checks that the rows can start as `run` has it. The configuration of `run` gets the SHA-256 of a file of models.
///
/// # Errors
/// [`ConfigError`] at `start`.
pub(crate) fn check(
    run: &mut Resolved<'_>,
    rows: Rows,
    layout: &Layout,
) -> Result<(), ConfigError> {
    match &run.config.start {
        InitialModels::Same | InitialModels::Independent => Ok(()),
        InitialModels::Label => of_labels(run, rows, layout.parameters()),
        InitialModels::Models(start) => {
            let start = start.clone();
            let found = of_file(run, start, rows, layout)?;
            run.config.start = InitialModels::Models(found);
            Ok(())
        }
    }
}

/// Checks that labels can be what the models start from: one parameter of each client's own.
fn of_labels(run: &Resolved<'_>, rows: Rows, parameters: usize) -> Result<(), ConfigError> {
    let method = run.config.algorithm.name();
    let has_own = run.config.algorithm.profile().holders == Holders::Clients;
    let needed = match (rows.kind, parameters) {
        (RowKind::Client, 1) if has_own => return Ok(()),
        (RowKind::Client, 1..) if has_own => format!(
            "`same` or `independent`: a label is one number, the model has {parameters} parameters"
        ),
        _ => format!("`same` or `independent`: clients have no models of their own in {method}"),
    };
    Err(run.wrong("start", "label", needed))
}

/// Checks that a file has models for `rows`.
fn of_file(
    run: &Resolved<'_>,
    mut start: StartFile,
    rows: Rows,
    layout: &Layout,
) -> Result<StartFile, ConfigError> {
    let path = run.source.resolve(&start.file);
    let fault = |message: String| {
        let file = path.clone();
        run.error(
            ConfigFault::StartFile { file, message },
            "start.models.file",
        )
    };
    let file = ModelFile::open(&path, layout).map_err(|error| fault(error.to_string()))?;
    let found = file.rows();
    if found != 1 && found != rows.count {
        let (count, kind) = (rows.count, rows.kind.name());
        return Err(fault(format!(
            "it has {found} models, needed 1, or one for each of the {count} rows ({kind}s)"
        )));
    }
    let sum = sha256_of_file(&path).map_err(|error| fault(error.to_string()))?;
    if let Some(needed) = start.sha256.filter(|needed| *needed != sum) {
        return Err(fault(format!(
            "found content of SHA-256 {sum}, needed {needed}"
        )));
    }
    start.sha256 = Some(sum);
    start.path = path;
    Ok(start)
}
