//! Files that appear whole or not at all, and what killed processes leave of them.

use std::fs::{self, File, FileType, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// What the name of a file begins with until it is complete.
const UNFINISHED: &str = ".meshfold-unfinished-";

/// Replaces `path` by `content` in one step: readers see the old file or the new one.
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path
        .parent()
        .expect("a file of a run lies in the run's folder");
    let mut file = temporary(folder)?;
    file.write_all(content)?;
    persist(file, path)
}

/// Writes what a user asked for to `path`. A file is replaced in one step, also one that a link leads to; what is no file, such as
/// `/dev/stdout` or a pipe, is written to.
pub fn write_to(path: &Path, content: &[u8]) -> io::Result<()> {
    let is_file = fs::metadata(path).map(|found| found.is_file());
    match (is_file, path.is_symlink()) {
        (Ok(true), true) => write_atomically(&path.canonicalize()?, content),
        (Ok(true), false) => write_atomically(path, content),
        (Err(_), false) => write_atomically(path, content),
        // A link to nothing yet, a device, a pipe; of a folder the system says what is wrong.
        (Ok(false), _) | (Err(_), true) => {
            let mut file = File::options()
                .write(true)
                .create(true)
                .truncate(true)
                .open(path)?;
            file.write_all(content)
        }
    }
}

/// A file in `folder` that is removed unless it is kept with [`persist`], with the permissions of an ordinary file. It is
/// locked while it is open, so that [`remove_leftovers`] of other processes leaves it alone.
pub fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    loop {
        let file = builder.tempfile_in(folder)?;
        let is_taken = matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock));
        // Before it was locked, another process may have removed it as a leftover.
        if !is_taken && file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes unfinished files of killed processes from `folder`: those that nobody has locked. It leaves what it cannot remove.
pub fn remove_leftovers(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_unfinished = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes())
    };
    for entry in entries.filter(is_unfinished) {
        if let Ok(kind) = entry.file_type() {
            remove_if_free(&entry.path(), kind);
        }
    }
}

/// Removes the unfinished file unless a process writes to it. No process writes through a link, and folders are not ours.
fn remove_if_free(path: &Path, kind: FileType) {
    let locked = |file: File| file.try_lock().is_ok().then_some(file);
    let file = match kind.is_file() {
        true => File::options().write(true).open(path).ok().and_then(locked),
        false => None,
    };
    if file.is_some() || kind.is_symlink() {
        fs::remove_file(path).ok();
    }
    // Locked until it is gone: whoever has just begun it sees either the lock or that it is gone.
    drop(file);
}

/// Moves a written temporary file to `path` in one step.
pub fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn unfinished_files_of_killed_processes_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let left = place(&format!("{UNFINISHED}a1b2c3"));
        fs::write(&left, "half").unwrap();
        fs::write(place("own"), "whole").unwrap();
        fs::create_dir(place(&format!("{UNFINISHED}folder"))).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", place(&format!("{UNFINISHED}link"))).unwrap();
        let mut in_progress = temporary(folder.path()).unwrap();
        in_progress.write_all(b"half").unwrap();
        remove_leftovers(folder.path());
        assert!(!left.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        persist(in_progress, &place("new")).unwrap();
        assert_eq!(fs::read(place("new")).unwrap(), b"half");
        remove_leftovers(&place("no folder"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_written_through_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let link =
            |to: &str, name: &str| std::os::unix::fs::symlink(place(to), place(name)).unwrap();
        fs::write(place("there"), "old").unwrap();
        link("there", "link");
        link("new", "dangling");
        link("/dev/null", "device");
        for name in ["link", "dangling", "device", "plain"] {
            write_to(&place(name), b"content").unwrap();
            assert_eq!(place(name).is_symlink(), name != "plain");
        }
        for name in ["there", "new", "plain"] {
            assert_eq!(fs::read(place(name)).unwrap(), b"content", "{name}");
        }
        fs::create_dir(place("folder")).unwrap();
        assert!(write_to(&place("folder"), b"content").is_err());
    }

    /// Files are begun while others tidy up, and none is lost.
    #[test]
    fn no_file_that_is_begun_is_taken_for_a_leftover() {
        let folder = tempfile::tempdir().unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        remove_leftovers(folder.path());
                    }
                });
            }
            let is_lost = |number: &u32| {
                let path = folder.path().join((number % 7).to_string());
                let file = temporary(folder.path()).unwrap();
                file.persist(path).is_err()
            };
            let lost = (0..1500).filter(is_lost).count();
            done.store(true, Ordering::Relaxed);
            assert_eq!(lost, 0);
        });
    }
}
