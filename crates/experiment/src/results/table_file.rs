//! A Parquet file as its reader wants it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};

/// Most bytes of a file that is read whole. The reader asks for every part of a file by itself, with half a dozen calls of the system
/// for each: of the small table of a short run, that takes longer than all the rest.
const SMALL: u64 = 1 << 20;

/// The content of a Parquet file.
#[derive(Debug)]
pub(super) enum TableFile {
    /// It has been read.
    Whole(Bytes),
    /// It is read where it is asked for.
    Open(File),
}

impl TableFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
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

impl Length for TableFile {
    fn len(&self) -> u64 {
        match self {
            Self::Whole(bytes) => Length::len(bytes),
            Self::Open(file) => Length::len(file),
        }
    }
}

impl ChunkReader for TableFile {
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
