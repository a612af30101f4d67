//! A file that grows at its end, with the digest of what it holds.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::files::sha256::hexadecimal;
use crate::files::whole_file::temporary;
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
    /// Opens the file, making it if there is none. One that is there is replaced by a copy: a process that has lost the run to this
    /// one, as it was suspended, and does not know yet, writes to the file that was there.
    pub(super) fn open(path: PathBuf) -> Result<Self, RunError> {
        let file = own(&path).map_err(|source| RunError::write(&path, source))?;
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

/// The file at `path`, which no other process has open.
fn own(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let mut found = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return options.create(true).truncate(false).open(path);
        }
        found => found?,
    };
    let folder = path.parent();
    let mut copy = temporary(folder.expect("a file of a run lies in the run's folder"))?;
    io::copy(&mut found, &mut copy)?;
    copy.as_file().sync_all()?;
    let mut file = copy.persist(path)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    #[test]
    fn what_another_process_still_writes_does_not_get_into_the_file() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let mut late = AppendedFile::open(path.clone()).unwrap();
        late.append(b"one\n").unwrap();
        let mut next = AppendedFile::open(path.clone()).unwrap();
        next.keep(4, Sha256::new_with_prefix("one\n")).unwrap();
        late.append(b"late\n").unwrap();
        next.append(b"two\n").unwrap();
        late.append(b"later\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
        assert_eq!(next.digest(), hexadecimal(&Sha256::digest("one\ntwo\n")));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
