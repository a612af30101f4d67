//! Where a file of a dataset was found.

use std::io::{self, Read};
use std::path::PathBuf;

use crate::{DataError, payload, tar_member};

/// A file of its own, or one within an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file of its own, packed as its name says.
    File(PathBuf),
    /// A file within a tar archive, which is packed as its name says.
    Member {
        /// The archive.
        archive: PathBuf,
        /// The file's name within.
        member: String,
    },
}

impl Place {
    /// What a person is shown: for a file in an archive, the archive's path and its name within.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::Member { archive, member } => archive.join(member),
        }
    }

    /// The unpacked content, however long.
    pub(crate) fn content(&self) -> io::Result<Box<dyn Read + Send>> {
        match self {
            Self::File(path) => payload::content(path),
            Self::Member { archive, member } => {
                let found = tar_member::find(payload::content(archive)?, member)?;
                Ok(Box::new(found))
            }
        }
    }

    /// As [`payload::fault`], of this place.
    pub(crate) fn fault(&self, dataset: &str, offset: u64, error: io::Error) -> DataError {
        match self {
            Self::File(path) => payload::fault(dataset, path, offset, error),
            Self::Member { archive, .. } => payload::fault(dataset, archive, offset, error),
        }
    }
}
