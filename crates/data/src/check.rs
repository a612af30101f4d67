//! Compares the files of a dataset with its manifest.

use std::path::{Path, PathBuf};

use crate::{DataFolder, Manifest, ManifestFile, payload};

/// What was found of a dataset, file by file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// Name of the dataset.
    pub dataset: String,
    /// One entry per file of the manifest, in its order.
    pub files: Vec<FileCheck>,
}

impl CheckReport {
    /// Whether every file is there and right.
    pub fn is_ok(&self) -> bool {
        self.files.iter().all(|file| file.status == FileStatus::Ok)
    }
}

/// What was found of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCheck {
    /// The file, or where it would be fetched to.
    pub path: PathBuf,
    /// Its state.
    pub status: FileStatus,
}

/// The state of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileStatus {
    /// The file as published, or another packing of exactly its content.
    Ok,
    /// No such file.
    Missing,
    /// Another number of bytes than the manifest says (of the content, if the file is not packed).
    WrongSize {
        /// Bytes found.
        found: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// The right number of bytes, but other bytes.
    WrongChecksum {
        /// SHA-256 found.
        found: String,
        /// SHA-256 needed.
        needed: String,
    },
    /// The operating system refused to read the file.
    Unreadable {
        /// Its reason.
        reason: String,
    },
}

/// Checks every file of `manifest` in `folder`; reads all of them, writes nothing.
///
/// Content is decompressed up to the size that the manifest gives and no further.
pub fn check(manifest: &Manifest, folder: &DataFolder) -> CheckReport {
    let files = manifest.files.iter().map(|file| {
        let path = manifest.locate(file, folder);
        match path {
            Ok(path) => FileCheck {
                status: check_file(&path, file),
                path,
            },
            Err(_) => FileCheck {
                path: manifest.folder(folder).join(&file.name),
                status: FileStatus::Missing,
            },
        }
    });
    CheckReport {
        dataset: manifest.name.clone(),
        files: files.collect(),
    }
}

/// Checks one file that exists.
pub(crate) fn check_file(path: &Path, file: &ManifestFile) -> FileStatus {
    let unreadable = |error: std::io::Error| FileStatus::Unreadable {
        reason: error.to_string(),
    };
    // The content decides; the packing only explains what is wrong when the content is.
    if let Ok(content) = payload::digest(path, file.decompressed_bytes)
        && content == (file.decompressed_bytes, file.decompressed_sha256.clone())
    {
        return FileStatus::Ok;
    }
    let (found, needed_bytes, needed) = if payload::is_gzip(path) {
        (payload::file_digest(path), file.bytes, &file.sha256)
    } else {
        let raw = payload::file_digest(path);
        (raw, file.decompressed_bytes, &file.decompressed_sha256)
    };
    match found {
        Err(error) => unreadable(error),
        Ok((found, _)) if found != needed_bytes => FileStatus::WrongSize {
            found,
            needed: needed_bytes,
        },
        Ok((_, found)) => FileStatus::WrongChecksum {
            found,
            needed: needed.clone(),
        },
    }
}
