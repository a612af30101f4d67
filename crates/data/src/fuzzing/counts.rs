//! What the parsers find in published files, for the tests that have them.

use std::path::Path;

use crate::datasets::{leukemia_a2, reddit, shakespeare};
use crate::{DataError, DataFolder};

/// Of a text of plays: heads of speeches, different names in them, plays of more than one name, and roles.
pub fn plays(text: &str) -> [usize; 4] {
    shakespeare::complete_works::counts(text)
}

/// Of a text of speeches: speeches, and roles.
pub fn speeches(text: &str) -> [usize; 2] {
    shakespeare::speeches::counts(text)
}

/// Of a month of comments: comments, and authors who are named.
///
/// # Errors
/// Those of reading the dump.
pub fn comments(path: &Path) -> Result<[usize; 2], DataError> {
    reddit::fuzzing::counts(path)
}

/// Of the leukaemia samples' annotation: cases, controls, and how many of them train and test.
///
/// # Errors
/// Those of reading the file.
pub fn annotation(folder: &DataFolder) -> Result<[usize; 4], DataError> {
    leukemia_a2::counts(folder)
}
