//! Datasets that a user's program adds.

use std::path::PathBuf;

use meshfold_own::{OwnKind, OwnPart};

use super::Dataset;
use super::published::Published;
use crate::{DataError, DataFolder, DatasetSummary, Splits};

/// A dataset that a user's program adds.
pub trait OwnDataset: Send + Sync {
    /// Reads or makes the examples; files are looked for in `folder`. The same each time.
    ///
    /// # Errors
    /// [`DataError::Own`], or another one.
    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError>;

    /// Sizes, labels and owners of the examples. Where they can be told without the features, a plan costs less.
    ///
    /// # Errors
    /// As [`OwnDataset::load`].
    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        self.load(folder).map(|splits| DatasetSummary::of(&splits))
    }

    /// The most bytes that loading holds at once besides the examples.
    fn reading_bytes(&self) -> usize {
        0
    }
}

impl OwnKind for dyn OwnDataset {
    const KIND: &'static str = "own dataset";
}

impl Dataset for OwnPart<dyn OwnDataset> {
    fn name(&self) -> &'static str {
        "own"
    }

    fn validate(&self) -> Result<(), DataError> {
        Ok(())
    }

    fn load(&self, folder: &DataFolder) -> Result<Splits, DataError> {
        self.part().load(folder)
    }

    fn summary(&self, folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        self.part().summary(folder)
    }

    fn published(&self) -> Result<Option<Published>, DataError> {
        Ok(None)
    }

    fn reading_bytes(&self, _summary: &DatasetSummary, _threads: usize) -> usize {
        self.part().reading_bytes()
    }

    fn own_files(&self, _folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        Ok(Vec::new())
    }
}
