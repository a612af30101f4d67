//! Downloads a dataset's files: mirror after mirror, verified before they appear in place.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use ureq::Agent;

use crate::check::check_file;
use crate::{DataError, DataFolder, FileStatus, Manifest, ManifestFile, MirrorFailure, payload};

/// How to download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchOptions {
    /// Accept addresses that are not https, such as a server on this machine.
    pub allow_http: bool,
    /// Longest wait for a connection and for the response to begin.
    pub connect_timeout: Duration,
    /// Longest silence in the middle of a file.
    pub read_timeout: Duration,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            allow_http: false,
            connect_timeout: Duration::from_secs(20),
            read_timeout: Duration::from_secs(60),
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
    /// One entry per file of the manifest, in its order.
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

/// Brings every file of `manifest` into `folder`; files that are there and right are kept.
///
/// A file is streamed into a temporary file beside its place, its size, SHA-256 and decompressed
/// content are checked, and only then it is renamed into place. Mirrors are tried in order. No
/// mirror can make this write more bytes than the manifest says, on disk or decompressed.
/// `progress` is called after every piece received.
///
/// # Errors
/// [`DataError::Fetch`] with what each mirror did, if none delivers; [`DataError::Io`] if the
/// folder cannot be written. Files fetched before the error stay; a partial one does not.
pub fn fetch(
    manifest: &Manifest,
    folder: &DataFolder,
    options: &FetchOptions,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Fetched, DataError> {
    let home = manifest.folder(folder);
    let existed = home.exists();
    fs::create_dir_all(&home).map_err(DataError::io("create", &home))?;
    let agent = agent(options);
    let fetched: Result<Vec<_>, _> = manifest
        .files
        .iter()
        .map(|file| match present(manifest, file, folder) {
            Some(path) => Ok(FetchedFile { path, url: None }),
            None => fetch_file(&agent, manifest, file, &home, progress),
        })
        .collect();
    if fetched.is_err() && !existed {
        // Removes the folder only if it is empty; a file fetched before the failure keeps it.
        fs::remove_dir(&home).ok();
    }
    Ok(Fetched { files: fetched? })
}

fn agent(options: &FetchOptions) -> Agent {
    Agent::config_builder()
        .https_only(!options.allow_http)
        .timeout_connect(Some(options.connect_timeout))
        .timeout_recv_response(Some(options.connect_timeout))
        .timeout_per_read(Some(options.read_timeout))
        .user_agent(concat!("meshfold/", env!("CARGO_PKG_VERSION")))
        .build()
        .into()
}

/// The place of a file that needs no download.
fn present(manifest: &Manifest, file: &ManifestFile, folder: &DataFolder) -> Option<PathBuf> {
    let path = manifest.locate(file, folder).ok()?;
    (check_file(&path, file) == FileStatus::Ok).then_some(path)
}

fn fetch_file(
    agent: &Agent,
    manifest: &Manifest,
    file: &ManifestFile,
    home: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<FetchedFile, DataError> {
    let mut failures = Vec::new();
    for url in &file.urls {
        let mut part = temporary(home)?;
        match download(agent, url, file, &mut part, progress) {
            Ok(()) => {
                let path = home.join(&file.name);
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
        file: file.name.clone(),
        failures,
    })
}

/// A file in `home` that vanishes when it is dropped; its suffix lets [`payload`] see gzip.
fn temporary(home: &Path) -> Result<NamedTempFile, DataError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fetch-").suffix(".gz");
    #[cfg(unix)]
    {
        // Data is for everyone that the process's umask lets read it, unlike a secret.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
        .tempfile_in(home)
        .map_err(DataError::io("create a file in", home))
}

/// Why a download ended early.
enum Failure {
    /// The fault of this mirror; another may do better.
    Mirror(String),
    /// The fault of this machine.
    Disk(io::Error),
}

/// Streams `url` into `part` and verifies what arrived.
fn download(
    agent: &Agent,
    url: &str,
    file: &ManifestFile,
    part: &mut NamedTempFile,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), Failure> {
    let mirror = |reason: String| Failure::Mirror(reason);
    let total = file.bytes;
    let mut response = agent.get(url).call().map_err(|e| mirror(e.to_string()))?;
    if let Some(announced) = response.body().content_length()
        && announced != total
    {
        return Err(mirror(format!(
            "announces {announced} bytes, {total} needed"
        )));
    }
    let mut body = response.body_mut().as_reader();
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut received = 0;
    loop {
        let count = body
            .read(&mut buffer)
            .map_err(|e| mirror(format!("broke off after {received} of {total} bytes: {e}")))?;
        if count == 0 {
            break;
        }
        received += count as u64;
        if received > total {
            return Err(mirror(format!("sends more than the {total} bytes needed")));
        }
        hash.update(&buffer[..count]);
        part.write_all(&buffer[..count]).map_err(Failure::Disk)?;
        progress(Progress {
            file: &file.name,
            url,
            received,
            total,
        });
    }
    if received < total {
        return Err(mirror(format!("ended after {received} of {total} bytes")));
    }
    let found = payload::hexadecimal(hash);
    if found != file.sha256 {
        return Err(mirror(format!("SHA-256 {found}, {} needed", file.sha256)));
    }
    verify_content(part.path(), file).map_err(mirror)
}

/// Decompresses up to the known size and compares.
fn verify_content(path: &Path, file: &ManifestFile) -> Result<(), String> {
    let limit = file.decompressed_bytes;
    let (size, sum) =
        payload::digest(path, limit).map_err(|e| format!("damaged gzip data: {e}"))?;
    if size > limit {
        return Err(format!(
            "decompresses to more than the {limit} bytes needed"
        ));
    }
    if size < limit {
        return Err(format!("decompresses to {size} bytes, {limit} needed"));
    }
    if sum != file.decompressed_sha256 {
        return Err(format!(
            "content has SHA-256 {sum}, {} needed",
            file.decompressed_sha256
        ));
    }
    Ok(())
}
