//! Files that are being written, and leftovers of processes that were killed.
//!
//! A file is written beside its place under another name, and renamed when it is whole. The writer holds its lock, so
//! that others can tell it from a leftover.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

/// How long a file must be unchanged to count as a leftover, on file systems without locks.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// A file in `folder` that is deleted when it is dropped, with the permissions that the process's umask allows. Its
/// name begins with `prefix`; [`remove_leftovers`] of that prefix spares it.
///
/// # Errors
/// Those of the system.
pub(crate) fn create(folder: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    {
        // Data is for everyone that the process's umask lets read it, unlike a secret.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    loop {
        let file = builder.tempfile_in(folder)?;
        // Not every file system has locks: the age of the file stands in for one.
        let _ = file.as_file().lock();
        // Between the two somebody may have taken the file for a leftover.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the files in `folder` whose names begin with `prefix` and that no living process writes, as far as the system
/// lets it.
pub(crate) fn remove_leftovers(folder: &Path, prefix: &str) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && name.as_encoded_bytes().starts_with(prefix.as_bytes()) {
            // Nothing depends on its removal.
            let _ = remove_leftover(&entry.path());
        }
    }
}

fn remove_leftover(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    let is_left = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => {
            let age = file.metadata()?.modified()?.elapsed();
            age.is_ok_and(|age| age > ABANDONED)
        }
    };
    if is_left {
        tracing::info!("removed {}, which was left unfinished", path.display());
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_removed_and_files_in_the_making_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".fetch-left");
        fs::write(&left, b"half of a file").unwrap();
        fs::write(folder.path().join("a.csv"), b"1,2").unwrap();
        fs::create_dir(folder.path().join(".fetch-folder")).unwrap();
        let living = create(folder.path(), ".fetch-").unwrap();
        remove_leftovers(folder.path(), ".fetch-");
        assert!(!left.exists());
        assert!(living.path().exists());
        let path = living.path().to_owned();
        living.persist(folder.path().join("b.csv")).unwrap();
        assert!(!path.exists());
        remove_leftovers(folder.path(), ".fetch-");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }
}
