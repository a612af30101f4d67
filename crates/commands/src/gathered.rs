//! The runs in the folders that the command line names.

use std::path::PathBuf;

use meshfold_report::Gathered;

use crate::failure::Failure;

/// Reads the runs in `folders`.
///
/// # Errors
/// [`Failure::Refused`] if one of the folders is not there, and those of [`Gathered::of`].
pub(crate) fn gathered(folders: &[PathBuf]) -> Result<Gathered, Failure> {
    match folders.iter().find(|folder| !folder.exists()) {
        Some(absent) => Err(Failure::refused(format_args!(
            "{}: there is no such folder, needed one with runs, such as runs/<name>",
            absent.display()
        ))),
        None => Ok(Gathered::of(folders)?),
    }
}
