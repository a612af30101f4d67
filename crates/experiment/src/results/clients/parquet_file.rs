//! `clients.parquet` as the reader of Parquet files wants it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

use crate::files::guarded;
use crate::results::results_error::ResultsError;
use crate::results::run_folder::CLIENTS;

/// Most bytes of a file that is read whole. The reader asks for every part of a file by itself, with half a dozen calls of the system
/// for each: of the small table of a short run, that takes longer than all the rest.
const SMALL: u64 = 1 << 20;

/// The content of the file.
#[derive(Debug)]
pub(super) enum ClientsFile {
    /// It has been read.
    Whole(Bytes),
    /// It is read where it is asked for.
    Open(File),
}

/// What `read` finds in the file of the run in `folder`; nothing if the run has yet to write it.
///
/// # Errors
/// [`ResultsError::Read`], and [`ResultsError::Content`] for a file that is torn or has other columns.
pub(super) fn read<T: Default>(
    folder: &Path,
    read: impl FnOnce(ClientsFile) -> Result<T>,
) -> std::result::Result<T, ResultsError> {
    let path = folder.join(CLIENTS);
    // The reader panics at some damaged files.
    let broken = || {
        let found = "it is no table that can be read";
        Err(ParquetError::General(found.to_owned()))
    };
    match ClientsFile::open(&path) {
        Ok(file) => {
            let found = guarded::call(|| read(file)).unwrap_or_else(broken);
            found.map_err(|error| ResultsError::Content {
                path,
                found: error.to_string(),
            })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(source) => Err(ResultsError::Read { path, source }),
    }
}

impl ClientsFile {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        if size > SMALL {
            return Ok(Self::Open(file));
        }
        let mut bytes = Vec::with_capacity(size as usize);
        file.read_to_end(&mut bytes)?;
        Ok(Self::Whole(bytes.into()))
    }
}

impl Length for ClientsFile {
    fn len(&self) -> u64 {
        match self {
            Self::Whole(bytes) => Length::len(bytes),
            Self::Open(file) => Length::len(file),
        }
    }
}

impl ChunkReader for ClientsFile {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(match self {
            Self::Whole(bytes) => Box::new(bytes.get_read(start)?),
            Self::Open(file) => Box::new(file.get_read(start)?),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        match self {
            Self::Whole(bytes) => bytes.get_bytes(start, length),
            Self::Open(file) => file.get_bytes(start, length),
        }
    }
}
