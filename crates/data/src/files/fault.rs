//! A fault in a file that a parser was given.

use std::path::PathBuf;

use crate::DataError;

/// What is wrong in a file and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The byte of the unpacked content at which it lies.
    pub(crate) offset: u64,
    /// What was found and what was needed.
    pub(crate) reason: String,
}

impl Fault {
    /// The fault `reason` at byte `offset`.
    pub(crate) fn at(offset: impl TryInto<u64>, reason: impl Into<String>) -> Self {
        Self {
            offset: offset.try_into().unwrap_or(u64::MAX),
            reason: reason.into(),
        }
    }

    /// The error that names the dataset and the file.
    pub(crate) fn of(self, dataset: &str, path: impl Into<PathBuf>) -> DataError {
        DataError::Malformed {
            dataset: dataset.into(),
            path: path.into(),
            offset: self.offset,
            reason: self.reason,
        }
    }
}
