//! How the file of an experiment is read.

use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;

use crate::config::error::ConfigError;
use crate::config::fault::ConfigFault;
use crate::config::place::Place;
use crate::config::source::ExperimentSource;
use crate::files::text_file::{Bytes, read_bytes};

/// The most bytes that an experiment's file may have.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

impl ExperimentSource {
    /// Reads the file at `path`, which may be a pipe, such as `/dev/stdin`: relative paths in its text then start from the
    /// working folder.
    ///
    /// # Errors
    /// [`ConfigFault::Unreadable`] if it cannot be read, [`ConfigFault::TooLarge`] if it has more than 64 MiB, and
    /// [`ConfigFault::NotUtf8`] at the first byte that is no UTF-8 text.
    pub fn read(path: impl Into<PathBuf>) -> Result<Self, ConfigError> {
        let path = path.into();
        let bytes = match read_bytes(&path, MOST_BYTES) {
            Ok(Bytes::All(bytes)) => bytes,
            Ok(Bytes::TooMany { known }) => {
                let (bytes, most) = (known, MOST_BYTES);
                return Err(ConfigFault::TooLarge { path, bytes, most }.nowhere());
            }
            Err(source) => return Err(ConfigFault::Unreadable { path, source }.nowhere()),
        };
        let text = String::from_utf8(bytes).map_err(|error| not_utf8(&path, &error))?;
        if is_pipe(&path) {
            return Ok(Self::new(path, text).in_working_folder());
        }
        Ok(Self::new(path, text))
    }
}

/// The fault of a file that is no UTF-8 text, shown in its line, with other characters in place of what is none.
fn not_utf8(path: &Path, error: &FromUtf8Error) -> ConfigError {
    let bytes = error.as_bytes();
    let offset = error.utf8_error().valid_up_to();
    let fault = ConfigFault::NotUtf8 {
        byte: bytes[offset],
        offset,
        utf16: matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]),
    };
    let place = Place {
        text: 0,
        start: offset,
        length: char::REPLACEMENT_CHARACTER.len_utf8(),
        alias: None,
    };
    let shown = ExperimentSource::new(path, String::from_utf8_lossy(bytes));
    fault.at(&shown, Some(place), "")
}

/// Whether `path` names a stream that lies in no folder, such as `/dev/stdin` or the pipe of `<(command)`.
fn is_pipe(path: &Path) -> bool {
    let streams = ["/dev", "/proc"];
    streams.iter().any(|folder| path.starts_with(folder))
        || path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = ExperimentSource::read("no/such/file.yaml")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("cannot read no/such/file.yaml: "),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_no_utf8_says_where() {
        let folder = tempfile::tempdir().unwrap();
        let read = |bytes: &[u8]| {
            let path = folder.path().join("e.yaml");
            std::fs::write(&path, bytes).unwrap();
            let error = ExperimentSource::read(path).unwrap_err();
            (
                error.to_string(),
                error.line(),
                format!("{:?}", miette::Report::new(error)),
            )
        };
        let (message, line, shown) = read(b"seed: 1\nname: M\xfcnchen\n");
        let needed = "found the byte 0xFC at offset 15 of the file, needed UTF-8 text";
        assert_eq!((message.as_str(), line), (needed, Some(2)));
        assert!(
            shown.contains("e.yaml:2:8") && shown.contains("save the file as UTF-8"),
            "{shown}"
        );
        let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(*b"s\0e\0e\0d\0").collect();
        let (_, line, shown) = read(&utf16);
        assert!(
            line == Some(1) && shown.contains("looks like UTF-16"),
            "{shown}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn no_more_is_read_of_a_file_than_its_limit() {
        let error = ExperimentSource::read("/dev/zero").unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot read /dev/zero: it has more than 67108864 bytes (64.0 MiB), at most 67108864 bytes (64.0 MiB) are read"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.yaml");
        std::fs::File::create(&path)
            .unwrap()
            .set_len(1 << 27)
            .unwrap();
        let error = ExperimentSource::read(path).unwrap_err().to_string();
        let words = "it has 134217728 bytes (128 MiB), at most 67108864 bytes (64.0 MiB) are read";
        assert!(error.ends_with(words), "{error}");
    }

    #[test]
    fn relative_paths_start_from_the_folder_of_the_file() {
        let source = ExperimentSource::new("experiments/hua/iid.yaml", "");
        assert_eq!(
            source.resolve(Path::new("w.edges")),
            Path::new("experiments/hua/w.edges")
        );
        assert_eq!(
            source.resolve(Path::new("/data/w.edges")),
            Path::new("/data/w.edges")
        );
        assert_eq!(
            ExperimentSource::new("a.yaml", "").resolve(Path::new("w")),
            Path::new("w")
        );
    }

    #[cfg(unix)]
    #[test]
    fn relative_paths_in_a_stream_start_from_the_working_folder() {
        let source = ExperimentSource::read("/dev/null").unwrap();
        assert_eq!(source.resolve(Path::new("w.edges")), Path::new("w.edges"));
    }
}
