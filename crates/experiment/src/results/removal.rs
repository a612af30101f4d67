//! Removing the folder of a run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::files::write_error::plain_write_error;
use crate::results::claim::{Claim, await_verdicts, is_claim};
use crate::results::run_error::RunError;
use crate::results::run_folder::{CONFIG, DONE, METRICS};
use crate::results::run_reader::is_run;

/// The only folder that runs have ever written, in earlier versions.
const EARLIER_CHECKPOINT: &str = "checkpoint";

/// Why a run is not removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemovalError {
    /// The folder holds no run.
    #[error("{} holds no run", folder.display())]
    NotARun {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder is a link to another one.
    #[error("{} is a link to another folder: name that folder, or remove the link yourself", folder.display())]
    Link {
        /// The link.
        folder: PathBuf,
    },
    /// The folder holds a folder that no run writes, perhaps with other runs in it.
    #[error("{} is no part of a run: move it away first", path.display())]
    Foreign {
        /// The folder in the folder.
        path: PathBuf,
    },
    /// A process works on the run.
    #[error("{} is being worked on by another process: stop it first, or let it finish", folder.display())]
    Busy {
        /// The run's folder.
        folder: PathBuf,
    },
    /// The folder cannot be read, or a file cannot be removed.
    #[error("{} cannot be removed: {source}", path.display())]
    Remove {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A run that may be removed. No process can begin to work on it while this exists.
#[derive(Debug)]
pub struct Removal {
    folder: PathBuf,
    _claim: Claim,
}

impl Removal {
    /// The removal of the run in `folder`, which is still as it was.
    ///
    /// # Errors
    /// [`RemovalError::NotARun`], [`RemovalError::Link`], [`RemovalError::Foreign`] and [`RemovalError::Busy`].
    pub fn of(folder: &Path) -> Result<Self, RemovalError> {
        let folder = &named(folder).map_err(|source| failed(folder, source))?;
        let owned = || folder.to_owned();
        let found = fs::symlink_metadata(folder).map_err(|source| failed(folder, source))?;
        if found.is_symlink() {
            return Err(RemovalError::Link { folder: owned() });
        }
        if !is_run(folder) {
            return Err(RemovalError::NotARun { folder: owned() });
        }
        for entry in entries(folder)? {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && entry.file_name() != EARLIER_CHECKPOINT {
                return Err(RemovalError::Foreign { path: entry.path() });
            }
        }
        await_verdicts(&[owned()], &AtomicBool::new(false));
        match Claim::take(folder) {
            Ok(claim) => Ok(Self {
                folder: owned(),
                _claim: claim,
            }),
            Err(RunError::Write { path, source }) => Err(RemovalError::Remove { path, source }),
            Err(_) => Err(RemovalError::Busy { folder: owned() }),
        }
    }

    /// Removes the folder with all its files. What a kill leaves of it is a run that is not finished, and can be removed.
    ///
    /// # Errors
    /// [`RemovalError::Remove`] of the first file that cannot be removed.
    pub fn carry_out(self) -> Result<(), RemovalError> {
        let folder = &self.folder;
        let mut paths: Vec<PathBuf> = entries(folder)?.iter().map(fs::DirEntry::path).collect();
        paths.sort_by_key(|path| place(path));
        for path in paths {
            remove(&path).map_err(|source| failed(&path, source))?;
        }
        fs::remove_dir(folder).map_err(|source| failed(folder, source))
    }
}

/// `folder` by its own name, without a slash behind it, which would stand for what a link points to.
fn named(folder: &Path) -> io::Result<PathBuf> {
    match folder.file_name() {
        Some(_) => Ok(folder.components().collect()),
        None => fs::canonicalize(folder),
    }
}

/// `DONE` goes first, so that a run in part does not count as finished; the configuration last, so that it counts as a run.
fn place(path: &Path) -> u8 {
    match path.file_name().and_then(|name| name.to_str()) {
        Some(DONE) => 0,
        Some(METRICS) => 2,
        Some(CONFIG) => 3,
        Some(name) if is_claim(name) => 4,
        _ => 1,
    }
}

/// Removes a file, a link itself, or a folder, in which links are not followed either.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

fn entries(folder: &Path) -> Result<Vec<fs::DirEntry>, RemovalError> {
    let listed = fs::read_dir(folder).and_then(Iterator::collect);
    listed.map_err(|source| failed(folder, source))
}

fn failed(path: &Path, source: io::Error) -> RemovalError {
    RemovalError::Remove {
        path: path.to_owned(),
        source: plain_write_error(source),
    }
}
