//! Datasets that Python gives as arrays.

use meshfold_data::{
    DataError, DataFolder, DatasetSummary, Examples, OwnDataset, Scale, Shape, Splits,
};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Features, labels and owners of examples.
#[derive(FromPyObject)]
pub(super) struct ExampleArrays<'py>(
    FeatureArray<'py>,
    PyReadonlyArray1<'py, u16>,
    Option<PyReadonlyArray1<'py, u32>>,
);

/// Features `[M, D]`.
#[derive(FromPyObject)]
enum FeatureArray<'py> {
    #[pyo3(transparent)]
    Bytes(PyReadonlyArray2<'py, u8>),
    #[pyo3(transparent)]
    Numbers(PyReadonlyArray2<'py, f32>),
}

impl ExampleArrays<'_> {
    pub(super) fn examples(self, shape: Shape, classes: usize) -> PyResult<Examples> {
        let labels = self.1.as_array().to_vec();
        let made = match self.0 {
            FeatureArray::Bytes(bytes) => {
                let bytes = bytes.as_array().iter().copied().collect();
                let scale = Scale {
                    multiply: 1.0 / 255.0,
                    add: 0.0,
                };
                Examples::new(bytes, labels, shape, classes, scale)
            }
            FeatureArray::Numbers(numbers) => {
                let numbers = numbers.as_array().iter().copied().collect();
                Examples::numbers(numbers, labels, shape, classes)
            }
        };
        let examples = made.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(match self.2 {
            Some(owners) => examples.with_owners(owners.as_array().to_vec()),
            None => examples,
        })
    }
}

/// Examples in memory.
pub(super) struct InMemory {
    pub(super) splits: Splits,
    /// Whether the owners of test examples are those that were given, not stand-ins.
    pub(super) names_test_owners: bool,
}

impl OwnDataset for InMemory {
    fn load(&self, _folder: &DataFolder) -> Result<Splits, DataError> {
        Ok(self.splits.clone())
    }

    fn summary(&self, _folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        let summary = DatasetSummary::of(&self.splits);
        Ok(match self.names_test_owners {
            true => summary,
            false => summary.with_unnamed_test_owners(),
        })
    }
}
