//! Reading of files that are not larger than what they are read for.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How long a named pipe that nobody writes to is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was read of a file.
pub(crate) enum Bytes {
    /// All of it.
    All(Vec<u8>),
    /// It has more bytes than were to be read: so many, if the system says so.
    TooMany { known: Option<u64> },
}

/// The text of the file at `path`, if it has no more than `most` bytes.
///
/// # Errors
/// Those of opening and reading; a folder; a longer file, and bytes that are no UTF-8, with their place.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = match read_bytes(path, most)? {
        Bytes::All(bytes) => bytes,
        Bytes::TooMany { known } => {
            let found = known.map_or_else(|| format!("more than {most}"), |size| size.to_string());
            return Err(io::Error::other(format!(
                "found {found} bytes, at most {most} are read"
            )));
        }
    };
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let bytes = error.into_bytes();
        let before = String::from_utf8_lossy(&bytes[..good]);
        let line = before.matches('\n').count() + 1;
        let column = before
            .chars()
            .rev()
            .take_while(|last| *last != '\n')
            .count()
            + 1;
        io::Error::other(format!(
            "line {line}, column {column}: found the byte 0x{:02x}, needed UTF-8 text",
            bytes[good]
        ))
    })
}

/// The bytes of the file at `path`, of which no more than `most` are read.
///
/// The limit is on what is read, whatever the system says of the file's size: a device or a pipe has none.
///
/// # Errors
/// Those of opening and reading; a folder.
pub(crate) fn read_bytes(path: &Path, most: u64) -> io::Result<Bytes> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() && metadata.len() > most {
        let known = Some(metadata.len());
        return Ok(Bytes::TooMany { known });
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(match bytes.len() as u64 > most {
        true => Bytes::TooMany { known: None },
        false => Bytes::All(bytes),
    })
}

/// Opens the file at `path`.
///
/// # Errors
/// A folder, and a named pipe that nobody opens to write to it in [`PATIENCE`], for which the system would wait for ever.
fn open(path: &Path) -> io::Result<File> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::Error::other("found a folder, needed a file"));
    }
    if metadata.is_file() {
        return File::open(path);
    }
    // Whoever opens a pipe waits until somebody writes to it, so that another thread does.
    let (sender, receiver) = mpsc::channel();
    let pipe = path.to_owned();
    std::thread::Builder::new()
        .name("pipe".to_owned())
        .spawn(move || {
            // Nobody receives it who has lost patience.
            let _ = sender.send(File::open(pipe));
        })?;
    match receiver.recv_timeout(PATIENCE) {
        Ok(opened) => opened,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            let seconds = PATIENCE.as_secs();
            Err(io::Error::other(format!(
                "found a pipe that no program has opened to write to within {seconds} seconds"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path, most: u64) -> String {
        read_text(path, most).unwrap_err().to_string()
    }

    #[test]
    fn what_is_longer_than_the_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        assert_eq!(refused(&path, 4), "found 5 bytes, at most 4 are read");
        assert_eq!(refused(folder.path(), 4), "found a folder, needed a file");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_end_is_read_up_to_the_limit() {
        let zero = Path::new("/dev/zero");
        let message = "found more than 1000 bytes, at most 1000 are read";
        assert_eq!(refused(zero, 1000), message);
        assert_eq!(read_text(Path::new("/dev/null"), 1000).unwrap(), "");
    }

    #[test]
    fn bytes_that_are_no_text_are_located() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        fs::write(&path, b"a: b\n\xc3\xa9t\xff: 1\n").unwrap();
        let message = "line 2, column 3: found the byte 0xff, needed UTF-8 text";
        assert_eq!(refused(&path, 100), message);
        fs::write(&path, b"\xc3").unwrap();
        assert!(refused(&path, 100).starts_with("line 1, column 1: found the byte 0xc3"));
    }
}
