//! Downloads a dataset's files: mirror after mirror, verified before they appear in place.

mod download;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::download::{Failure, Mirrors};
use crate::files::check::check_file;
use crate::files::regular;
use crate::files::unfinished;
use crate::{DataError, DataFolder, Manifest, ManifestFile, MirrorFailure};

/// Prefix of the names of unfinished downloads.
const UNFINISHED: &str = ".fetch-";

/// How to download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchOptions {
    /// Accept addresses that are not https, such as a server on this machine.
    pub allow_http: bool,
    /// Longest wait for a connection and for the response to begin.
    pub connect_timeout: Duration,
    /// Longest silence in the middle of a file.
    pub read_timeout: Duration,
    /// Slowest rate: a file of `b` bytes must arrive within `grace + b / bytes_per_second`.
    pub bytes_per_second: u64,
    /// Time that every file has in addition.
    pub grace: Duration,
}

impl FetchOptions {
    /// The longest time for a file of so many bytes.
    pub fn time_for(&self, bytes: u64) -> Duration {
        let seconds = bytes.div_ceil(self.bytes_per_second.max(1));
        self.grace.saturating_add(Duration::from_secs(seconds))
    }
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            allow_http: false,
            connect_timeout: Duration::from_secs(20),
            read_timeout: Duration::from_secs(60),
            bytes_per_second: 50_000,
            grace: Duration::from_secs(60),
        }
    }
}

/// How far a download has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// The mirror it comes from.
    pub url: &'a str,
    /// Bytes of the file received.
    pub received: u64,
    /// Bytes of the file.
    pub total: u64,
}

/// What [`fetch`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// One entry per file that was there, then one per file or archive that was fetched.
    pub files: Vec<FetchedFile>,
}

/// One file that is in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The mirror that delivered it; `None` if it was there and right already.
    pub url: Option<String>,
}

/// Brings every file of `manifest`, and of the datasets that it needs, into `folder`; files that are there and right are
/// kept.
///
/// A file is streamed into a temporary file beside its place, its size, checksum and decompressed content are checked,
/// and only then it is renamed into place. Mirrors are tried in order. No mirror can make this write more bytes than the
/// manifest says, on disk or decompressed, nor take longer than [`FetchOptions::time_for`] them, nor lead from https to
/// anything else. `progress` is called after every piece received. What a process that was killed left half fetched is
/// removed.
///
/// # Errors
/// [`DataError::Fetch`] with what each mirror did, if none delivers; [`DataError::ByHand`] once everything else is there,
/// if files are left that have no mirror; [`DataError::Io`] if the folder cannot be written. Files fetched before the
/// error stay; a partial one does not.
pub fn fetch(
    manifest: &Manifest,
    folder: &DataFolder,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Fetched, DataError> {
    let mirrors = Mirrors::new(options);
    let mut files = Vec::new();
    for manifest in manifest.with_needed() {
        files.extend(fetch_one(&mirrors, manifest, folder, progress)?);
    }
    Ok(Fetched { files })
}

fn fetch_one(
    mirrors: &Mirrors,
    manifest: &Manifest,
    folder: &DataFolder,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<FetchedFile>, DataError> {
    let home = manifest.folder(folder);
    let existed = home.exists();
    if let Some(broken) = regular::broken_link(&home) {
        return Err(DataError::io("create a file in", home)(broken));
    }
    let (mut there, mut wanted, mut by_hand) = (Vec::new(), Vec::new(), Vec::new());
    for file in &manifest.files {
        match (present(manifest, file, folder)?, wants(manifest, file)) {
            (Some(path), _) => there.push(FetchedFile { path, url: None }),
            (None, Some(published)) if wanted.contains(&published) => {}
            (None, Some(published)) => wanted.push(published),
            (None, None) => by_hand.push(file.name.clone()),
        }
    }
    if !wanted.is_empty() {
        fs::create_dir_all(&home).map_err(DataError::io("create", &home))?;
    }
    let fetched: Result<Vec<_>, _> = wanted
        .iter()
        .map(|published| fetch_file(mirrors, manifest, published, &home, progress))
        .collect();
    if fetched.is_err() && !existed {
        // Removes the folder only if it is empty; a file fetched before the failure keeps it.
        fs::remove_dir(&home).ok();
    }
    there.extend(fetched?);
    if let Some(how) = &manifest.by_hand
        && (!by_hand.is_empty() || manifest.files.is_empty())
    {
        return Err(DataError::ByHand {
            dataset: manifest.name.clone(),
            files: by_hand,
            how: how.clone(),
            place: home,
        });
    }
    Ok(there)
}

/// Something that mirrors deliver: a file of the dataset or an archive of some.
#[derive(PartialEq, Eq)]
struct Published<'a> {
    name: &'a str,
    bytes: u64,
    sha256: Option<&'a str>,
    md5: Option<&'a str>,
    urls: &'a [String],
    /// The file that it is, unless it is an archive.
    file: Option<&'a ManifestFile>,
}

/// What to fetch for `file`; `None` if a person has to bring it.
fn wants<'a>(manifest: &'a Manifest, file: &'a ManifestFile) -> Option<Published<'a>> {
    if file.is_by_hand() {
        return None;
    }
    Some(match manifest.archive_of(file) {
        Some(archive) => Published {
            name: &archive.name,
            bytes: archive.bytes,
            sha256: archive.sha256.as_deref(),
            md5: archive.md5.as_deref(),
            urls: &archive.urls,
            file: None,
        },
        None => Published {
            name: &file.name,
            bytes: file.bytes,
            sha256: file.sha256.as_deref(),
            md5: file.md5.as_deref(),
            urls: &file.urls,
            file: Some(file),
        },
    })
}

/// The place of a file that needs no download.
///
/// # Errors
/// [`DataError::Io`] if the system does not let anybody see whether it is there.
fn present(
    manifest: &Manifest,
    file: &ManifestFile,
    folder: &DataFolder,
) -> Result<Option<PathBuf>, DataError> {
    match manifest.locate(file, folder) {
        Ok(place) => Ok(check_file(&place, file).is_ok().then(|| place.path())),
        Err(DataError::Io { source, path, .. })
            if source.raw_os_error().is_some() && source.kind() != io::ErrorKind::NotADirectory =>
        {
            Err(DataError::io("read", path)(source))
        }
        // If the folder cannot exist, making it reports that.
        Err(_) => Ok(None),
    }
}

fn fetch_file(
    mirrors: &Mirrors,
    manifest: &Manifest,
    published: &Published<'_>,
    home: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<FetchedFile, DataError> {
    let path = home.join(published.name);
    let parent = path.parent().unwrap_or(home);
    fs::create_dir_all(parent).map_err(DataError::io("create", parent))?;
    unfinished::remove_leftovers(parent, UNFINISHED);
    let mut failures = Vec::new();
    for url in published.urls {
        let mut part = unfinished::create(parent, UNFINISHED)
            .map_err(DataError::io("create a file in", parent))?;
        match mirrors.download(url, published, &mut part, progress) {
            Ok(()) => {
                part.as_file()
                    .sync_all()
                    .map_err(DataError::io("write", &path))?;
                part.persist(&path)
                    .map_err(|e| DataError::io("create", &path)(e.error))?;
                let url = Some(url.clone());
                return Ok(FetchedFile { path, url });
            }
            Err(Failure::Disk(source)) => return Err(DataError::io("write", home)(source)),
            Err(Failure::Mirror(reason)) => failures.push(MirrorFailure {
                url: url.clone(),
                reason,
            }),
        }
    }
    Err(DataError::Fetch {
        dataset: manifest.name.clone(),
        file: published.name.into(),
        failures,
    })
}

#[cfg(test)]
mod tests;
