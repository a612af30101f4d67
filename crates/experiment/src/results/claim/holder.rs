//! What a claim says: who has the run, and how far it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::results::claim::process::Process;

/// Bytes of the file of a claim, so that it can be written anew in place.
const SIZE: usize = 1024;

/// Who has a run, and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// Random, so that no two claims are the same. It comes first: where it stands, nothing ever changes.
    pub(crate) token: String,
    /// The process that carries the run out.
    #[serde(flatten)]
    pub process: Process,
    /// Since when it has the run, by its own clock.
    pub since: Timestamp,
    /// Seconds since then when it last said so, by a clock that nobody sets.
    pub seconds: f64,
    /// The round that it began after.
    pub from_round: usize,
    /// The last round that it has done, as of its last sign of life.
    pub round: usize,
    /// Signs of life that it has given.
    pub(crate) signs: u64,
}

impl Holder {
    /// Seconds that a round took it, once it has done any.
    pub fn seconds_per_round(&self) -> Option<f64> {
        let rounds = self.round.saturating_sub(self.from_round);
        (rounds > 0).then(|| self.seconds / rounds as f64)
    }

    /// The content of the file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("a claim is plain values");
        let padded = SIZE.max(bytes.len() + 1) - 1;
        bytes.resize(padded, b' ');
        bytes.push(b'\n');
        bytes
    }
}

/// The file of a claim as it was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(super) path: PathBuf,
    /// The highest number counts.
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
    /// Absent if it is being written, or damaged.
    pub(crate) holder: Option<Holder>,
}

impl Found {
    /// The claim in the file at `path`; none if there is none.
    ///
    /// # Errors
    /// What the system says if the file cannot be read.
    pub(super) fn read(path: &Path, number: u64) -> io::Result<Option<Self>> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Self {
            path: path.to_owned(),
            number,
            holder: serde_json::from_slice(&bytes).ok(),
            bytes,
        }))
    }

    /// Whether this is the claim with `token`, even while it is being written anew.
    pub(super) fn has(&self, token: &str) -> bool {
        has(&self.bytes, token)
    }

    /// Whether this and `other` are one claim, perhaps at different times.
    pub(super) fn is_same_claim(&self, other: &Self) -> bool {
        match (&self.holder, &other.holder) {
            (Some(this), Some(other)) => this.token == other.token,
            _ => self.bytes == other.bytes,
        }
    }
}

/// Whether a claim with `token` begins in `bytes`.
pub(super) fn has(bytes: &[u8], token: &str) -> bool {
    bytes
        .windows(token.len())
        .take(SIZE)
        .any(|part| part == token.as_bytes())
}

/// Whether the file is not there any more, as a network file system may say it.
pub(super) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::StaleNetworkFileHandle
    )
}

/// All claims in `folder`, in the order of their numbers.
///
/// # Errors
/// What the system says if the folder or a claim cannot be read.
pub(crate) fn claims_in(folder: &Path) -> io::Result<Vec<Found>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut claims = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Some(number) = number_in(&entry.file_name().to_string_lossy()) {
            claims.extend(Found::read(&entry.path(), number)?);
        }
    }
    claims.sort_by_key(|claim| claim.number);
    Ok(claims)
}

/// The file of the claim `number`.
pub(super) fn name(number: u64) -> String {
    format!("claim-{number}.json")
}

/// Whether a file of this `name` is a claim.
pub(crate) fn is_claim(name: &str) -> bool {
    number_in(name).is_some()
}

fn number_in(name: &str) -> Option<u64> {
    let number = name.strip_prefix("claim-")?.strip_suffix(".json")?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_keeps_its_size_and_reads_back() {
        let mut holder = Holder {
            process: Process::this(),
            since: Timestamp::UNIX_EPOCH,
            seconds: 0.0,
            from_round: 2,
            round: 2,
            token: "a1b2".to_owned(),
            signs: 0,
        };
        assert_eq!(holder.seconds_per_round(), None);
        let first = holder.to_bytes();
        (holder.round, holder.seconds, holder.signs) = (1002, 500.25, u64::MAX);
        let later = holder.to_bytes();
        assert_eq!((first.len(), later.len()), (SIZE, SIZE));
        assert_eq!(serde_json::from_slice::<Holder>(&later).unwrap(), holder);
        assert_eq!(holder.seconds_per_round(), Some(0.50025));
    }

    #[test]
    fn claims_are_found_by_number_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "claim-10.json",
            "claim-9.json",
            "claim-x.json",
            "claim.json",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let numbers: Vec<u64> = claims_in(folder.path())
            .unwrap()
            .iter()
            .map(|claim| claim.number)
            .collect();
        assert_eq!(numbers, [9, 10]);
        assert!(claims_in(&folder.path().join("none")).unwrap().is_empty());
    }
}
