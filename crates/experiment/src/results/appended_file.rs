//! A file that grows at its end, with the digest of what it holds.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use crate::files::sha256::hexadecimal;
use crate::results::run_error::RunError;

/// A file that grows at its end.
#[derive(Debug)]
pub(super) struct AppendedFile {
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// The digest of what was kept and appended.
    digest: Sha256,
}

impl AppendedFile {
    /// Opens the file, making it if there is none.
    pub(super) fn open(path: PathBuf) -> Result<Self, RunError> {
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = opened.map_err(|source| RunError::write(&path, source))?;
        Ok(Self {
            path,
            file,
            digest: Sha256::new(),
        })
    }

    /// Keeps the first `length` bytes, whose digest is `digest`, and cuts the rest off.
    pub(super) fn keep(&mut self, length: u64, digest: Sha256) -> Result<(), RunError> {
        self.digest = digest;
        let cut = self.file.set_len(length);
        cut.and_then(|()| self.go_to_end())
            .map_err(|source| RunError::write(&self.path, source))
    }

    /// Goes on where the file ends; reading moves the place that is written to.
    pub(super) fn go_to_end(&self) -> io::Result<()> {
        (&self.file).seek(SeekFrom::End(0)).map(drop)
    }

    /// Appends `bytes` in one write.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        self.digest.update(bytes);
        self.file
            .write_all(bytes)
            .map_err(|source| RunError::write(&self.path, source))
    }

    /// SHA-256 of what it holds.
    pub(super) fn digest(&self) -> String {
        hexadecimal(&self.digest.clone().finalize())
    }

    /// Waits until what was appended would survive a power cut.
    pub(super) fn sync(&self) -> Result<(), RunError> {
        self.file
            .sync_data()
            .map_err(|source| RunError::write(&self.path, source))
    }
}
