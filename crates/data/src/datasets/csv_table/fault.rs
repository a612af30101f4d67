//! Why a table cannot be used, and where in it the reason lies.

use std::io;
use std::path::Path;

use super::NAME;
use crate::DataError;
use crate::files::payload;

/// Why a table cannot be used.
#[derive(Debug)]
pub(crate) enum TableFault {
    /// What is wrong, with the line if it lies in one.
    Table(String),
    /// The content cannot be read from this byte on.
    Unreadable {
        /// The byte of the unpacked content.
        offset: u64,
        /// Why.
        error: io::Error,
    },
}

impl TableFault {
    /// The error that names the file.
    pub(super) fn of(self, path: &Path) -> DataError {
        match self {
            Self::Table(reason) => DataError::Table {
                dataset: NAME,
                path: path.into(),
                reason,
            },
            Self::Unreadable { offset, error } => payload::fault(NAME, path, offset, error),
        }
    }
}

impl From<String> for TableFault {
    fn from(reason: String) -> Self {
        Self::Table(reason)
    }
}

impl From<&str> for TableFault {
    fn from(reason: &str) -> Self {
        Self::Table(reason.into())
    }
}

/// What is wrong in a row.
#[derive(Debug)]
pub(super) struct Flaw {
    /// The column, if it lies in one.
    pub(super) column: Option<usize>,
    pub(super) reason: String,
}

impl Flaw {
    /// In the cell of a column.
    pub(super) fn cell(column: usize, reason: impl Into<String>) -> Self {
        Self {
            column: Some(column),
            reason: reason.into(),
        }
    }

    /// In the row as a whole.
    pub(super) fn row(reason: impl Into<String>) -> Self {
        Self {
            column: None,
            reason: reason.into(),
        }
    }
}
