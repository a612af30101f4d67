//! Compares the files of a dataset with its manifest.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::manifest::Content;
use crate::files::packing::Packing;
use crate::files::payload;
use crate::files::place::Place;
use crate::{DataError, DataFolder, Manifest, ManifestFile};

/// What was found of a dataset, file by file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// Name of the dataset.
    pub dataset: String,
    /// One entry per file of the manifest, in its order.
    pub files: Vec<FileCheck>,
}

impl CheckReport {
    /// Whether every file is there and can be used.
    pub fn is_ok(&self) -> bool {
        self.files.iter().all(|file| file.status.is_ok())
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
    /// A known copy of the published file, which differs from it.
    Copy {
        /// In which way.
        note: String,
    },
    /// The right number of bytes; no checksum of what was published is known.
    Uncompared,
    /// No such file.
    Missing,
    /// Another number of bytes than the manifest says (of the content, if the file is not packed).
    WrongSize {
        /// Bytes found.
        found: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// More than the needed bytes of content. Reading ends there, so the number found is not known.
    Overlong {
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

impl FileStatus {
    /// Whether the file can be used.
    pub fn is_ok(&self) -> bool {
        matches!(self, Self::Ok | Self::Copy { .. } | Self::Uncompared)
    }
}

/// Checks every file of `manifest` in `folder`; reads all of them, writes nothing.
///
/// Content is decompressed up to the size that the manifest gives and no further.
pub fn check(manifest: &Manifest, folder: &DataFolder) -> CheckReport {
    let files = manifest.files.iter().map(|file| {
        let place = manifest.locate(file, folder);
        match place {
            Ok(place) => FileCheck {
                status: check_file(&place, file),
                path: place.path(),
            },
            Err(error) => FileCheck {
                path: manifest.folder(folder).join(&file.name),
                status: absent(&error),
            },
        }
    });
    CheckReport {
        dataset: manifest.name.clone(),
        files: files.collect(),
    }
}

/// The state of a file that was not found because of `error`.
fn absent(error: &DataError) -> FileStatus {
    let reason = match error {
        _ if error.is_missing() => return FileStatus::Missing,
        DataError::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    FileStatus::Unreadable { reason }
}

/// Checks one file that exists.
pub(crate) fn check_file(place: &Place, file: &ManifestFile) -> FileStatus {
    let limit = file.content_bytes();
    let content = place
        .content(limit)
        .and_then(|content| payload::digest(content, limit));
    match content {
        Ok((size, sum)) if size == limit => match file.judge(&sum) {
            Content::Published => FileStatus::Ok,
            Content::Uncompared => FileStatus::Uncompared,
            Content::Copy(note) => FileStatus::Copy { note },
            Content::Other { found, needed } => {
                as_packed(place, file).unwrap_or(FileStatus::WrongChecksum { found, needed })
            }
        },
        // The content decides; the packing only explains what is wrong when the content is.
        Ok((found, _)) => as_packed(place, file).unwrap_or(match found > limit {
            true => FileStatus::Overlong { needed: limit },
            false => FileStatus::WrongSize {
                found,
                needed: limit,
            },
        }),
        Err(error) => as_packed(place, file).unwrap_or(FileStatus::Unreadable {
            reason: error.to_string(),
        }),
    }
}

/// What is wrong with a file that is packed as it was published, if that can be told from outside.
fn as_packed(place: &Place, file: &ManifestFile) -> Option<FileStatus> {
    let Place::File(path) = place else {
        return None;
    };
    let packing = Packing::of(path);
    if packing == Packing::Plain || packing != Packing::of(Path::new(&file.name)) {
        return None;
    }
    let length = fs::metadata(path).ok()?.len();
    if length != file.bytes {
        return Some(FileStatus::WrongSize {
            found: length,
            needed: file.bytes,
        });
    }
    let found = payload::file_digest(path, file.bytes).ok()?;
    let needed = file.sha256.clone()?;
    Some(FileStatus::WrongChecksum {
        found: found.sha256,
        needed,
    })
}
