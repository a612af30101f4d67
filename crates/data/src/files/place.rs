//! Where a file of a dataset was found.

use std::io::{self, Read};
use std::path::PathBuf;

use crate::DataError;
use crate::files::packing::Packing;
use crate::files::payload;
use crate::files::tar_member;

/// A separate file, or one within an archive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// A separate file, packed as its name says.
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
    /// What messages show: for a file in an archive, the archive's path and the file's name within.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::Member { archive, member } => archive.join(member),
        }
    }

    /// How a separate file is packed; a file in an archive has no packing of its own.
    pub(crate) fn packing(&self) -> Packing {
        match self {
            Self::File(path) => Packing::of(path),
            Self::Member { .. } => Packing::Plain,
        }
    }

    /// The unpacked content, however long; the caller reads about `most` bytes.
    pub(crate) fn content(&self, most: u64) -> io::Result<Box<dyn Read + Send>> {
        match self {
            Self::File(path) => payload::content(path, most),
            Self::Member { archive, member } => {
                let archive = payload::content(archive, tar_member::MOST_BYTES)?;
                Ok(Box::new(tar_member::find(archive, member)?))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::packing::tests::stream;

    #[test]
    fn an_archive_that_lacks_a_file_is_not_called_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("a.tar.gz");
        std::fs::write(&archive, stream(Packing::Gzip, &[0; 1024])).unwrap();
        let place = Place::Member {
            archive,
            member: "b".into(),
        };
        let error = place.content(9).err().unwrap();
        let words = place.fault("letters", 0, error).to_string();
        let told = "at byte 0: the archive holds no file b (byte 0 of the unpacked archive)";
        assert!(words.ends_with(told), "{words}");
    }
}
