//! A safetensors file whose tensors are read where they are asked for.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use safetensors::tensor::{Metadata, TensorInfo};

/// The longest header that is read. It names the tensors.
const MOST_HEADER: u64 = 1 << 24;

/// An open file whose header has been read.
#[derive(Debug)]
pub(crate) struct TensorFile {
    pub(crate) file: File,
    /// Bytes of the whole file.
    pub(crate) length: u64,
    /// The offset of the first tensor.
    begin: u64,
    pub(crate) metadata: Metadata,
}

impl TensorFile {
    /// Opens the file at `path`. The tensors stay in the file.
    ///
    /// # Errors
    /// Those of the system; [`io::ErrorKind::InvalidData`] if it is not such a file.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        // Reading from a pipe or a device might never end.
        if !path.metadata()?.is_file() {
            return Err(invalid("it is not a regular file"));
        }
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut size = [0; 8];
        let told = file.read_exact(&mut size);
        told.map_err(|_| invalid("it is too short"))?;
        let size = u64::from_le_bytes(size);
        if size > MOST_HEADER.min(length - 8) {
            return Err(invalid("its header has an impossible length"));
        }
        let mut header = vec![0; size as usize];
        file.read_exact(&mut header)?;
        let metadata: Metadata = serde_json::from_slice(&header)
            .map_err(|error| invalid(&format!("its header cannot be read: {error}")))?;
        let opened = Self {
            file,
            length,
            begin: 8 + size,
            metadata,
        };
        match opened.begin.checked_add(opened.metadata.data_len() as u64) == Some(length) {
            true => Ok(opened),
            false => Err(invalid("its length is not what its header says")),
        }
    }

    /// Moves to the byte `offset` of the tensor `info`.
    pub(crate) fn seek(&mut self, info: &TensorInfo, offset: usize) -> io::Result<()> {
        let place = self.begin + (info.data_offsets.0 + offset) as u64;
        self.file.seek(SeekFrom::Start(place)).map(drop)
    }
}

/// The error of a file that is not what it should be.
pub(crate) fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
