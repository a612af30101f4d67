//! The text of an experiment: a file, and the overrides given beside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::ConfigError;
use crate::fault::Fault;

/// The most bytes that an experiment's file may have.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// An experiment as it was written: the text of its file, then `--set a.b=c` overrides in their order.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    text: Arc<str>,
    overrides: Vec<Arc<str>>,
}

/// Bytes `start..start + length` of one text of a [`Source`]: where something was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// 0 is the file, `i` the `i`-th override, counted from 1.
    pub(crate) text: usize,
    /// First byte.
    pub(crate) start: usize,
    /// Number of bytes.
    pub(crate) length: usize,
}

impl Source {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`Fault::Unreadable`] if it cannot be read, is no UTF-8 text, or is larger than 64 MiB.
    pub fn read(path: impl Into<PathBuf>) -> Result<Self, ConfigError> {
        let path = path.into();
        match read_text(&path, MOST_BYTES) {
            Ok(text) => Ok(Self::new(path, text)),
            Err(source) => Err(Fault::Unreadable { path, source }.nowhere()),
        }
    }

    /// Takes `text` as the content of the file at `path`, which is not opened; relative paths in the text start from
    /// the folder of `path`.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self {
            path: path.into(),
            text: text.into(),
            overrides: Vec::new(),
        }
    }

    /// Adds overrides `a.b=c`, `a.b` a dotted path and `c` YAML; later ones go before earlier ones.
    #[must_use]
    pub fn with_overrides<S: Into<String>>(
        mut self,
        overrides: impl IntoIterator<Item = S>,
    ) -> Self {
        self.overrides
            .extend(overrides.into_iter().map(|text| Arc::from(text.into())));
        self
    }

    /// The file's path, as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of the file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The overrides, in their order.
    pub fn overrides(&self) -> impl Iterator<Item = &str> {
        self.overrides.iter().map(|text| &**text)
    }

    /// The file at `path` as the text of the experiment means it: from the folder of the experiment's file.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        match self.path.parent() {
            Some(folder) => folder.join(path),
            None => path.to_owned(),
        }
    }

    /// What to call the text that a place is in, and that text.
    pub(crate) fn named(&self, place: Place) -> (String, Arc<str>) {
        match place.text.checked_sub(1) {
            None => (self.path.display().to_string(), Arc::clone(&self.text)),
            Some(index) => ("--set".to_owned(), Arc::clone(&self.overrides[index])),
        }
    }
}

/// The text of the file at `path`, if it has no more than `most` bytes.
pub(crate) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let bytes = fs::metadata(path)?.len();
    if bytes > most {
        return Err(io::Error::other(format!(
            "found {bytes} bytes, at most {most} are read"
        )));
    }
    fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Source::read("no/such/file.yaml").unwrap_err().to_string();
        assert!(
            error.starts_with("cannot read no/such/file.yaml: "),
            "{error}"
        );
    }

    #[test]
    fn relative_paths_start_from_the_folder_of_the_file() {
        let source = Source::new("experiments/hua/iid.yaml", "");
        assert_eq!(
            source.resolve(Path::new("w.edges")),
            Path::new("experiments/hua/w.edges")
        );
        assert_eq!(
            source.resolve(Path::new("/data/w.edges")),
            Path::new("/data/w.edges")
        );
        assert_eq!(
            Source::new("a.yaml", "").resolve(Path::new("w")),
            Path::new("w")
        );
    }
}
