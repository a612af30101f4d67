//! Downloads a dataset's files: mirror after mirror, verified before they appear in place.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::NamedTempFile;
use ureq::Agent;

use crate::check::check_file;
use crate::manifest::Content;
use crate::packing::Packing;
use crate::payload::Sums;
use crate::{DataError, DataFolder, Manifest, ManifestFile, MirrorFailure, payload};

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
/// manifest says, on disk or decompressed. `progress` is called after every piece received.
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
    let agent = agent(options);
    let mut files = Vec::new();
    for manifest in manifest.with_needed() {
        files.extend(fetch_one(&agent, manifest, folder, progress)?);
    }
    Ok(Fetched { files })
}

fn fetch_one(
    agent: &Agent,
    manifest: &Manifest,
    folder: &DataFolder,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<FetchedFile>, DataError> {
    let home = manifest.folder(folder);
    let existed = home.exists();
    let (mut there, mut wanted, mut by_hand) = (Vec::new(), Vec::new(), Vec::new());
    for file in &manifest.files {
        match (present(manifest, file, folder), wants(manifest, file)) {
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
        .map(|published| fetch_file(agent, manifest, published, &home, progress))
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

/// What has to be fetched to have `file`, unless a person has to bring it.
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
    let place = manifest.locate(file, folder).ok()?;
    check_file(&place, file).is_ok().then(|| place.path())
}

fn fetch_file(
    agent: &Agent,
    manifest: &Manifest,
    published: &Published<'_>,
    home: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<FetchedFile, DataError> {
    let path = home.join(published.name);
    let parent = path.parent().unwrap_or(home);
    fs::create_dir_all(parent).map_err(DataError::io("create", parent))?;
    let mut failures = Vec::new();
    for url in published.urls {
        let mut part = temporary(parent)?;
        match download(agent, url, published, &mut part, progress) {
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

/// A file in `home` that vanishes when it is dropped.
fn temporary(home: &Path) -> Result<NamedTempFile, DataError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".fetch-");
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
    published: &Published<'_>,
    part: &mut NamedTempFile,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(), Failure> {
    let mirror = |reason: String| Failure::Mirror(reason);
    let total = published.bytes;
    let mut response = agent.get(url).call().map_err(|e| mirror(e.to_string()))?;
    if let Some(announced) = response.body().content_length()
        && announced != total
    {
        return Err(mirror(format!(
            "announces {announced} bytes, {total} needed"
        )));
    }
    let mut body = response.body_mut().as_reader();
    let mut sums = Sums::default();
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
        sums.update(&buffer[..count]);
        part.write_all(&buffer[..count]).map_err(Failure::Disk)?;
        progress(Progress {
            file: published.name,
            url,
            received,
            total,
        });
    }
    if received < total {
        return Err(mirror(format!("ended after {received} of {total} bytes")));
    }
    let found = sums.finish(received);
    let sha256 = ("SHA-256", found.sha256, published.sha256);
    let md5 = ("MD5", found.md5, published.md5);
    for (kind, found, needed) in [sha256, md5] {
        if let Some(needed) = needed.filter(|needed| *needed != found) {
            return Err(mirror(format!("{kind} {found}, {needed} needed")));
        }
    }
    match published.file {
        Some(file) => verify_content(part.path(), file).map_err(mirror),
        None => Ok(()),
    }
}

/// Decompresses up to the known size and compares.
fn verify_content(path: &Path, file: &ManifestFile) -> Result<(), String> {
    let packing = Packing::of(Path::new(&file.name));
    let limit = file.content_bytes();
    let (size, sum) = payload::content_as(path, packing, limit)
        .and_then(|content| payload::digest(content, limit))
        .map_err(|e| format!("damaged {} data: {e}", packing.name()))?;
    if size > limit {
        return Err(format!(
            "decompresses to more than the {limit} bytes needed"
        ));
    }
    if size < limit {
        return Err(format!("decompresses to {size} bytes, {limit} needed"));
    }
    match file.judge(&sum) {
        Content::Other { found, needed } => {
            Err(format!("content has SHA-256 {found}, {needed} needed"))
        }
        Content::Published | Content::Copy(_) | Content::Uncompared => Ok(()),
    }
}
