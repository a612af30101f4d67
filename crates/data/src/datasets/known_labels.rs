//! Labels that stand between the images of a file. To read them, the whole file must be unpacked. A process does this
//! once for all its plans, as long as the file stays the same.

use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use crate::DataError;
use crate::files::place::Place;

/// A file, and which of the labels of each image are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LabelSource {
    pub(super) place: Place,
    pub(super) chosen: usize,
}

/// What was read, and the length and time of the file then.
#[derive(Debug)]
struct Known {
    version: (u64, SystemTime),
    labels: Arc<[u16]>,
}

type Entry = Arc<Mutex<Option<Known>>>;

static KNOWN: LazyLock<Mutex<HashMap<LabelSource, Entry>>> = LazyLock::new(Mutex::default);

impl LabelSource {
    /// The labels; calls `read` unless they are known. Other threads wait while one reads.
    ///
    /// # Errors
    /// That of `read`.
    pub(super) fn labels(
        self,
        read: impl FnOnce() -> Result<Vec<u16>, DataError>,
    ) -> Result<Arc<[u16]>, DataError> {
        let Some(version) = self.version() else {
            return Ok(read()?.into());
        };
        let entry = {
            let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(self).or_default())
        };
        let mut entry = entry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = entry.as_ref().filter(|known| known.version == version) {
            return Ok(Arc::clone(&known.labels));
        }
        let labels: Arc<[u16]> = read()?.into();
        let kept = Arc::clone(&labels);
        *entry = Some(Known { version, labels });
        Ok(kept)
    }

    /// The length of the file, or of its archive, and when it was written last.
    fn version(&self) -> Option<(u64, SystemTime)> {
        let (Place::File(path) | Place::Member { archive: path, .. }) = &self.place;
        let told = fs::metadata(path).ok()?;
        Some((told.len(), told.modified().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("batch.bin");
        let labels = |chosen, labels: &[u16]| {
            let place = Place::File(path.clone());
            let read = || Ok(labels.to_vec());
            LabelSource { place, chosen }.labels(read).unwrap()
        };
        fs::write(&path, "one").unwrap();
        assert_eq!(*labels(0, &[1, 2]), [1, 2]);
        assert_eq!(*labels(0, &[3]), [1, 2]);
        assert_eq!(*labels(1, &[3]), [3]);
        fs::write(&path, "another").unwrap();
        assert_eq!(*labels(0, &[4]), [4]);
    }

    #[test]
    fn what_could_not_be_read_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("batch.bin");
        fs::write(&path, "one").unwrap();
        let source = || LabelSource {
            place: Place::File(path.clone()),
            chosen: 0,
        };
        let failed = source().labels(|| Err(DataError::NoFolder));
        assert!(matches!(failed, Err(DataError::NoFolder)));
        assert_eq!(*source().labels(|| Ok(vec![5])).unwrap(), [5]);
    }
}
