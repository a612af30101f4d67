//! The text of an experiment: a file, and the overrides given beside it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::own::Own;
use crate::config::place::Place;

/// An experiment as it was written: the text of its file, then `--set a.b=c` overrides in their order.
#[derive(Clone, Debug)]
pub struct ExperimentSource {
    path: PathBuf,
    /// The folder that relative paths in the text start from.
    folder: PathBuf,
    text: Arc<str>,
    overrides: Vec<Arc<str>>,
    own: Own,
}

impl ExperimentSource {
    /// Takes `text` as the content of the file at `path`, which is not opened; relative paths in the text start from
    /// the folder of `path`.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        let (path, text): (PathBuf, String) = (path.into(), text.into());
        let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        Self {
            path,
            folder,
            text: text.into(),
            overrides: Vec::new(),
            own: Own::new(),
        }
    }

    /// Adds overrides `a.b=c`, where `a.b` is a dotted path and `c` is YAML. Later ones win over earlier ones.
    #[must_use]
    pub fn with_overrides<S: Into<String>>(
        mut self,
        overrides: impl IntoIterator<Item = S>,
    ) -> Self {
        self.overrides
            .extend(overrides.into_iter().map(|text| Arc::from(text.into())));
        self
    }

    /// The same text, which may name the parts of `own`.
    #[must_use]
    pub fn with_own(self, own: Own) -> Self {
        Self { own, ..self }
    }

    /// The parts that the text may name.
    pub(crate) fn own(&self) -> &Own {
        &self.own
    }

    /// The same text, whose relative paths start from the working folder.
    #[must_use]
    pub(super) fn in_working_folder(self) -> Self {
        Self {
            folder: PathBuf::new(),
            ..self
        }
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
        self.folder.join(path)
    }

    /// What is written at `place`.
    pub(crate) fn written(&self, place: Place) -> Option<String> {
        let (_, text) = self.named(place);
        let written = text.get(place.start..place.start + place.length);
        written.map(str::to_owned)
    }

    /// What to call the text that a place is in, and that text.
    pub(crate) fn named(&self, place: Place) -> (String, Arc<str>) {
        match place.text.checked_sub(1) {
            None => (self.path.display().to_string(), Arc::clone(&self.text)),
            Some(index) => ("--set".to_owned(), Arc::clone(&self.overrides[index])),
        }
    }
}
