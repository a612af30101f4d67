//! The models that the rows of a run start from.

use std::path::Path;

use meshfold_engine::{Learner, Purpose, Stack, Start};

use crate::config::initial_models::{InitialModels, StartFile};
use crate::files::model_file::ModelFile;
use crate::files::sha256::sha256_of_file;
use crate::files::tensor_file::invalid;
use crate::plan::run_plan::RunPlan;
use crate::results::run_error::RunError;

/// The first models of `plan`, `[R, P]`.
///
/// # Errors
/// [`RunError::Read`] if the file of the models is not the one that was planned with; [`RunError::Engine`] if the device cannot hold
/// the models.
pub(super) fn first_models(plan: &RunPlan, learner: &Learner) -> Result<Stack, RunError> {
    let setting = &plan.population.setting;
    let rows = plan.rows.count;
    let seed = plan.config.seed_of(Purpose::Initialisation);
    Ok(match &plan.config.start {
        InitialModels::Same => learner.initial_of(seed, rows, Start::Same)?,
        InitialModels::Independent => learner.initial_of(seed, rows, Start::Independent)?,
        InitialModels::Label => {
            let labels = setting.first_labels.iter();
            let values: Vec<f32> = labels.map(|label| f32::from(*label)).collect();
            learner.initial_at(&values)?
        }
        InitialModels::Models(start) => of_file(start, learner, rows)?,
    })
}

/// The models of a file: one for each of `rows`, or one for all.
fn of_file(start: &StartFile, learner: &Learner, rows: usize) -> Result<Stack, RunError> {
    let (path, layout) = (start.path.as_path(), learner.network().layout());
    let read = |source| RunError::read(path, source);
    expect_unchanged(start, path).map_err(read)?;
    let mut file = ModelFile::open(path, layout).map_err(read)?;
    if file.rows() == 1 {
        let mut values = vec![0.0; layout.width()];
        file.read(0, &mut values).map_err(read)?;
        let one = Stack::from_host(learner.device(), layout, values)?;
        return Ok(one.gather(&vec![0; rows])?);
    }
    if learner.device().ranks().is_none() {
        let mut values = vec![0.0; rows * layout.width()];
        let each = values.chunks_exact_mut(layout.width().max(1));
        for (row, values) in each.enumerate() {
            file.read(row, values).map_err(read)?;
        }
        return Ok(Stack::from_host(learner.device(), layout, values)?);
    }
    // No process is to hold all rows at once.
    let mut stack = Stack::zeros(learner.device(), layout, rows);
    let mut next = 0..;
    stack.fill_blocks(|values| {
        let each = values.chunks_exact_mut(layout.width().max(1));
        for (values, row) in each.zip(next.by_ref()) {
            file.read(row, values).map_err(read)?;
        }
        Ok::<_, RunError>(())
    })?;
    Ok(stack)
}

fn expect_unchanged(start: &StartFile, path: &Path) -> std::io::Result<()> {
    match start.sha256 == Some(sha256_of_file(path)?) {
        true => Ok(()),
        false => Err(invalid("it has changed since the run was planned")),
    }
}
