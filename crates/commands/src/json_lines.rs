//! Output of `--json`: one object per line.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::failure::Failure;

/// Prints each of `values` as one line of JSON.
///
/// # Errors
/// The error of standard output.
pub(crate) fn print<T: Serialize>(values: impl IntoIterator<Item = T>) -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    for value in values {
        write(&mut output, &value)?;
    }
    output.flush()
}

/// [`print()`] of values that are made one after the other, up to the first that cannot be made.
///
/// # Errors
/// The error of standard output, or of making a value.
pub(crate) fn print_made<T: Serialize>(
    values: impl IntoIterator<Item = Result<T, Failure>>,
) -> Result<(), Failure> {
    let mut output = BufWriter::new(io::stdout().lock());
    for value in values {
        write(&mut output, &value?)?;
    }
    Ok(output.flush()?)
}

fn write(output: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *output, value).map_err(io::Error::from)?;
    output.write_all(b"\n")
}
