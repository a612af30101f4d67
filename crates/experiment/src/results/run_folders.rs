//! The folders of runs below a path.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::results::results_error::ResultsError;
use crate::results::run_reader::is_run;

/// The folders that a path stands for: itself, or its subfolders by name if one of them is a run's.
///
/// # Errors
/// [`ResultsError::NotARun`] if there is no run, [`ResultsError::Read`] if the folder cannot be listed.
pub fn run_folders(path: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    if is_run(path) {
        return Ok(vec![path.to_owned()]);
    }
    let mut folders = match path.is_dir() {
        true => subfolders(path).map_err(|source| ResultsError::Read {
            path: path.to_owned(),
            source,
        })?,
        false => Vec::new(),
    };
    // What was submitted to a cluster lies beside the runs.
    folders.retain(|folder| folder.file_name() != Some("slurm".as_ref()) || is_run(folder));
    match folders.iter().any(|folder| is_run(folder)) {
        true => Ok(folders),
        false => Err(ResultsError::NotARun {
            folder: path.to_owned(),
        }),
    }
}

/// The folders in `folder` by their names, without hidden ones.
///
/// # Errors
/// What the system says if the folder cannot be listed.
pub fn subfolders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        let path = entry.path();
        if !is_hidden && path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
