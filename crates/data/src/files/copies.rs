//! Copies of files that are known to differ from what was published.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The copies that a warning has named: many experiments of one program read the same files.
static TOLD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Warns that the file at `path` is a copy, once for each path.
pub(crate) fn tell(dataset: &str, path: &Path, note: &str) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.insert(path.to_owned()) {
        tracing::warn!("{dataset}: {} is a copy: {note}", path.display());
    }
}
