//! Only regular files are read, links followed: a pipe would be waited for, and a device read without end.

use std::fs::{self, File, FileType};
use std::io;
use std::path::{Path, PathBuf};

use crate::DataError;

/// Opens the regular file that `path` leads to.
///
/// # Errors
/// Those of the system, and one that says what lies there if it is no regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    // The type is checked first, because opening a pipe waits for a writer.
    check(fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// The first of `paths` that leads to a regular file.
///
/// # Errors
/// [`DataError::Io`] if none does, and one of them cannot be looked at, or leads to something else.
pub(crate) fn first(
    paths: impl IntoIterator<Item = PathBuf>,
) -> Result<Option<PathBuf>, DataError> {
    let mut obstacle = None;
    for path in paths {
        match is_there(&path) {
            Ok(true) => return Ok(Some(path)),
            Ok(false) => {}
            Err(error) => {
                obstacle.get_or_insert((path, error));
            }
        }
    }
    match obstacle {
        Some((path, error)) => Err(DataError::io("read", path)(error)),
        None => Ok(None),
    }
}

/// Whether `path` leads to a regular file.
///
/// # Errors
/// If the system does not say, or if it leads to something else or is a link to nothing.
pub(crate) fn is_there(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) => check(found.file_type()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match broken_link(path) {
            Some(broken) => Err(broken),
            None => Ok(false),
        },
        Err(error) => Err(error),
    }
}

/// What is wrong if `path` is a link to something that is not there.
pub(crate) fn broken_link(path: &Path) -> Option<io::Error> {
    let target = fs::read_link(path).ok()?;
    let is_broken = fs::metadata(path).is_err_and(|e| e.kind() == io::ErrorKind::NotFound);
    let reason = || format!("it is a link to {}, which is not there", target.display());
    is_broken.then(|| io::Error::new(io::ErrorKind::NotFound, reason()))
}

/// Whether `error` says that something else than a regular file lies at a path.
pub(crate) fn is_other_kind(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<OtherKind>())
}

/// Something else than a regular file.
#[derive(Debug, thiserror::Error)]
#[error("it is {0}, not a file")]
struct OtherKind(&'static str);

fn check(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let (what, error) = match kind.is_dir() {
        true => ("a folder", io::ErrorKind::IsADirectory),
        false => (special(kind), io::ErrorKind::Other),
    };
    Err(io::Error::new(error, OtherKind(what)))
}

#[cfg(unix)]
fn special(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        kind if kind.is_socket() => "a socket",
        _ => "something special",
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "something special"
}

#[cfg(all(test, unix))]
pub(crate) mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    /// Makes a named pipe at `path`.
    pub(crate) fn pipe(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    }

    #[test]
    fn links_are_followed_and_whatever_is_no_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), b"content").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        symlink("absent", at("broken")).unwrap();
        symlink("loop", at("loop")).unwrap();
        pipe(&at("pipe"));
        let says = |name: &str| match is_there(&at(name)) {
            Ok(found) => found.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!([says("file"), says("link")], ["true", "true"]);
        assert_eq!(says("absent"), "false");
        assert_eq!(says("zero"), "it is a device, not a file");
        assert_eq!(says("pipe"), "it is a named pipe, not a file");
        assert_eq!(says("."), "it is a folder, not a file");
        assert_eq!(says("broken"), "it is a link to absent, which is not there");
        assert!(says("loop").contains("symbolic link"), "{}", says("loop"));
        assert!(says("file/within").contains("Not a directory"));
        let mut content = String::new();
        open(&at("link"))
            .unwrap()
            .read_to_string(&mut content)
            .unwrap();
        assert_eq!(content, "content");
        for name in ["pipe", "zero", "."] {
            let refused = open(&at(name)).unwrap_err().to_string();
            assert_eq!(refused, says(name));
        }
        let absent = open(&at("absent")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_first_file_counts_and_else_what_stood_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), b"").unwrap();
        fs::create_dir(at("folder")).unwrap();
        let first = |names: &[&str]| first(names.iter().map(|name| at(name)));
        assert_eq!(
            first(&["absent", "folder", "file"]).unwrap(),
            Some(at("file"))
        );
        assert_eq!(first(&["absent"]).unwrap(), None);
        let refusal = first(&["absent", "folder"]).unwrap_err().to_string();
        assert!(
            refusal.ends_with("folder: it is a folder, not a file"),
            "{refusal}"
        );
    }
}
