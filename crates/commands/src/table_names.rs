//! What labels and clients are called in the user's own tables.

use meshfold_data::{DataError, DataFolder, DatasetConfig, Splits, TrainingList};
use meshfold_experiment::RunPlan;
use meshfold_experiment::results::Names;

/// The user's own tables, of which each is read once.
pub(crate) struct TableNames<'f> {
    folder: &'f DataFolder,
    tables: Vec<(DatasetConfig, Splits)>,
}

impl<'f> TableNames<'f> {
    /// Those in `folder`.
    pub(crate) fn new(folder: &'f DataFolder) -> Self {
        Self {
            folder,
            tables: Vec::new(),
        }
    }

    /// What labels and clients of `plan` are called, if its dataset is a table of the user's.
    ///
    /// # Errors
    /// [`DataError`] if the table cannot be read.
    pub(crate) fn of(&mut self, plan: &RunPlan) -> Result<Option<Names>, DataError> {
        let dataset = &plan.config.dataset;
        if plan.files.digest().is_none() {
            return Ok(None);
        }
        let known = self.tables.iter().position(|(known, _)| known == dataset);
        let place = match known {
            Some(place) => place,
            None => {
                self.tables
                    .push((dataset.clone(), dataset.load(self.folder)?));
                self.tables.len() - 1
            }
        };
        let splits = self.tables[place]
            .1
            .clone()
            .apply_partition(&plan.partition);
        let train = TrainingList::of(&splits.train);
        Ok(Names::of(&train, &plan.partition, true))
    }
}
