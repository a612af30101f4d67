//! What `--json` prints: one object per line.

use std::io::{self, Write};

use serde::Serialize;

/// Prints each of `values` as one line of JSON.
///
/// # Errors
/// What standard output answers.
pub(crate) fn print<T: Serialize>(values: impl IntoIterator<Item = T>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    for value in values {
        let mut line = serde_json::to_vec(&value).map_err(io::Error::other)?;
        line.push(b'\n');
        output.write_all(&line)?;
    }
    output.flush()
}
