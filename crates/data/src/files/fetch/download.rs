//! One file from one mirror, within limits of bytes and of time.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Instant;

use tempfile::NamedTempFile;
use ureq::{Agent, Body, Timeout};

use super::{FetchOptions, Progress, Published};
use crate::ManifestFile;
use crate::files::excerpt::{cut, excerpt};
use crate::files::manifest::Content;
use crate::files::packing::Packing;
use crate::files::payload;
use crate::files::payload::Sums;

/// Redirects that are followed, one after another.
const MOST_REDIRECTS: u32 = 5;
/// Characters of an error that are shown.
const MOST_WORDS: usize = 200;

/// Asks mirrors for files.
pub(super) struct Mirrors {
    pub(super) agent: Agent,
    options: FetchOptions,
}

/// Why a download ended early.
pub(super) enum Failure {
    /// The fault of this mirror; another may do better.
    Mirror(String),
    /// The fault of this machine.
    Disk(io::Error),
}

impl Mirrors {
    pub(super) fn new(options: &FetchOptions) -> Self {
        let agent = Agent::config_builder()
            .https_only(!options.allow_http)
            .max_redirects(MOST_REDIRECTS)
            .timeout_connect(Some(options.connect_timeout))
            .timeout_recv_response(Some(options.connect_timeout))
            .timeout_per_read(Some(options.read_timeout))
            .user_agent(concat!("meshfold/", env!("CARGO_PKG_VERSION")))
            .build();
        Self {
            agent: agent.into(),
            options: options.clone(),
        }
    }

    /// Streams `url` into `part` and verifies what arrived.
    pub(super) fn download(
        &self,
        url: &str,
        published: &Published<'_>,
        part: &mut NamedTempFile,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let mut body = self.ask(url, published.bytes).map_err(Failure::Mirror)?;
        let mut sums = Sums::default();
        let mut received = 0;
        let mut take = |piece: &[u8]| {
            received += piece.len() as u64;
            sums.update(piece);
            part.write_all(piece).map_err(Failure::Disk)?;
            progress(Progress {
                file: published.name,
                url,
                received,
                total: published.bytes,
            });
            Ok(())
        };
        self.receive(body.as_reader(), published.bytes, started, &mut take)?;
        verify_sums(sums, published).map_err(Failure::Mirror)?;
        match published.file {
            Some(file) => verify_content(part.path(), file).map_err(Failure::Mirror),
            None => Ok(()),
        }
    }

    /// The response from `url`; an error if it announces another length than `total`.
    fn ask(&self, url: &str, total: u64) -> Result<Body, String> {
        let request = self
            .agent
            .get(url)
            .config()
            // A request over https is not redirected to plain http, where others could listen.
            .https_only(!self.options.allow_http || url.starts_with("https:"))
            .timeout_global(Some(self.options.time_for(total)))
            .build();
        let response = request.call().map_err(|error| self.words(&error, total))?;
        let body = response.into_body();
        match body.content_length() {
            Some(announced) if announced != total => {
                Err(format!("announces {announced} bytes, {total} needed"))
            }
            _ => Ok(body),
        }
    }

    /// Gives `take` the `total` bytes of `body`, which was asked for when it `started`.
    fn receive(
        &self,
        mut body: impl Read,
        total: u64,
        started: Instant,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut buffer = vec![0; 1 << 16];
        let mut received = 0;
        loop {
            let broke_off = |reason: String| {
                Failure::Mirror(format!(
                    "broke off after {received} of {total} bytes: {reason}"
                ))
            };
            let count = body.read(&mut buffer).map_err(|error| {
                let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
                broke_off(inner.map_or_else(|| error.to_string(), |inner| self.words(inner, total)))
            })?;
            if count == 0 {
                break;
            }
            if started.elapsed() > self.options.time_for(total) {
                return Err(broke_off(self.too_slow(total)));
            }
            received += count as u64;
            if received > total {
                let reason = format!("sends more than the {total} bytes needed");
                return Err(Failure::Mirror(reason));
            }
            take(&buffer[..count])?;
        }
        match received == total {
            true => Ok(()),
            false => {
                let reason = format!("ended after {received} of {total} bytes");
                Err(Failure::Mirror(reason))
            }
        }
    }

    /// The message for `error` in a download of `total` bytes.
    fn words(&self, error: &ureq::Error, total: u64) -> String {
        let seconds = |time: std::time::Duration| time.as_secs_f64();
        match error {
            ureq::Error::Timeout(Timeout::Global) => self.too_slow(total),
            ureq::Error::Timeout(Timeout::PerRead) => {
                format!("silent for {} s", seconds(self.options.read_timeout))
            }
            ureq::Error::Timeout(_) => {
                format!("no answer in {} s", seconds(self.options.connect_timeout))
            }
            ureq::Error::RequireHttpsOnly(address) => {
                format!("leads to {}, which is not https", excerpt(address))
            }
            other => cut(&other.to_string(), MOST_WORDS),
        }
    }

    fn too_slow(&self, total: u64) -> String {
        format!(
            "not there after {} s, slower than {} bytes a second",
            self.options.time_for(total).as_secs_f64(),
            self.options.bytes_per_second
        )
    }
}

/// Compares the sums of what arrived with those that are published.
fn verify_sums(sums: Sums, published: &Published<'_>) -> Result<(), String> {
    let found = sums.finish(published.bytes);
    let sha256 = ("SHA-256", found.sha256, published.sha256);
    let md5 = ("MD5", found.md5, published.md5);
    for (kind, found, needed) in [sha256, md5] {
        if let Some(needed) = needed.filter(|needed| *needed != found) {
            return Err(format!("{kind} {found}, {needed} needed"));
        }
    }
    Ok(())
}

/// Decompresses up to the known size and compares.
fn verify_content(path: &Path, file: &ManifestFile) -> Result<(), String> {
    let packing = Packing::of(Path::new(&file.name));
    let limit = file.content_bytes();
    let (size, sum) = payload::content_as(path, packing, limit)
        .and_then(|content| payload::digest(content, limit))
        .map_err(|e| format!("damaged {} data: {e}", packing.name()))?;
    if size > limit {
        return Err(payload::overlong(packing, limit));
    }
    if size < limit {
        return Err(format!("unpacks to {size} bytes, {limit} needed"));
    }
    match file.judge(&sum) {
        Content::Other { found, needed } => {
            Err(format!("content has SHA-256 {found}, {needed} needed"))
        }
        Content::Published | Content::Copy(_) | Content::Uncompared => Ok(()),
    }
}
