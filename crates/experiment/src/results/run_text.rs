//! The text files of a run as they are read again.

use std::io::ErrorKind;
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::files::text_file::read_text;
use crate::results::results_error::ResultsError;

/// The most bytes of a file that is read: far more than any run writes.
const MOST_BYTES: u64 = 1 << 30;

/// What the JSON object `text` holds. A list would be read by position, so it is refused.
pub(super) fn object<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    match text.trim_start().starts_with(['{']) {
        true => serde_json::from_str(text).map_err(|error| error.to_string()),
        false => Err("it is no JSON object".to_owned()),
    }
}

/// The content of the file at `path` as `parse` takes it; nothing if there is no such file.
pub(super) fn parsed<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, ResultsError> {
    let content = |found| ResultsError::Content {
        path: path.to_owned(),
        found,
    };
    match text_of(path)? {
        Some(text) => parse(&text).map(Some).map_err(|found| match text.trim() {
            "" => content("it is empty".to_owned()),
            _ => content(found),
        }),
        None => Ok(None),
    }
}

/// Reads each line of `text` as a JSON object, with the number of the line, from 1. Skips empty lines, and a last line
/// without a line break that cannot be read: an interruption has torn it.
///
/// The error for a line that cannot be read is its number and the reason.
pub(super) fn lines<T: DeserializeOwned>(
    text: &str,
) -> impl Iterator<Item = Result<(usize, T), String>> {
    let numbered = (1..).zip(text.split_inclusive('\n'));
    numbered.filter_map(|(number, line)| match object(line) {
        Ok(read) => Some(Ok((number, read))),
        Err(_) if line.trim().is_empty() || !line.ends_with('\n') => None,
        Err(error) => Some(Err(format!("line {number}: {error}"))),
    })
}

fn text_of(path: &Path) -> Result<Option<String>, ResultsError> {
    match read_text(path, MOST_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ResultsError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Checks that the last line of a table is not cut off.
pub(super) fn expect_whole_lines(text: &str) -> Result<(), String> {
    match text.is_empty() || text.ends_with('\n') {
        true => Ok(()),
        false => Err("its last line is cut off".to_owned()),
    }
}
