//! A run as a list of runs shows it: how far it is, and what it takes on disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use crate::results::claim::{Claim, Holder};
use crate::results::metrics::evaluations::Evaluation;
use crate::results::recorded_run::RecordedRun;
use crate::results::run_folder::{CHECKPOINT, DONE};
use crate::results::run_reader::folder_name;
use crate::results::settings::Settings;

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunStage {
    /// It came to its end, after its last round or where `budget` or `stop_at_targets` ended it, and its files are whole.
    Finished,
    /// It ended before its last round, or was killed.
    Interrupted {
        /// Whether there is a checkpoint that it may resume from.
        has_checkpoint: bool,
        /// Why it failed, if it did.
        failure: Option<String>,
    },
    /// A process works on it.
    Running,
    /// A file is missing or damaged.
    Damaged {
        /// What is wrong and what to do about it. Names no path.
        reason: String,
    },
}

/// A run in a list.
#[derive(Clone, Debug)]
pub struct RunEntry {
    /// Where it lies.
    pub folder: PathBuf,
    /// The folder's name.
    pub id: String,
    /// What `config.yaml` says; absent if that is missing or damaged.
    pub settings: Option<Settings>,
    /// How it stands.
    pub stage: RunStage,
    /// The process that works on it, if one does and says so.
    pub holder: Option<Holder>,
    /// Its last evaluation, as far as the run can be read.
    pub last: Option<Evaluation>,
    /// Bytes of all files in its folder.
    pub bytes: u64,
    /// When a file of it was written last, pages apart.
    pub written: Option<Timestamp>,
}

impl RunEntry {
    /// The run in `folder`. All its files are read, so that damage is known.
    pub fn of(folder: &Path) -> Self {
        let holder = Claim::holder(folder);
        let read = RecordedRun::read(folder);
        let stage = match &read {
            _ if holder.is_some() => RunStage::Running,
            Ok(run) if run.is_finished => RunStage::Finished,
            Ok(run) => RunStage::Interrupted {
                has_checkpoint: folder.join(CHECKPOINT).is_file(),
                failure: run.failure.clone(),
            },
            Err(error) => RunStage::Damaged {
                reason: error.reason(folder.join(DONE).is_file()),
            },
        };
        let usage = usage(folder);
        let recorded = read.ok();
        Self {
            folder: folder.to_owned(),
            id: folder_name(folder),
            settings: Settings::read(folder).ok(),
            stage,
            holder,
            last: recorded.and_then(|run| run.evaluations.into_iter().last()),
            bytes: usage.bytes,
            written: usage
                .written
                .and_then(|written| Timestamp::try_from(written).ok()),
        }
    }
}

/// What a folder takes on disk.
#[derive(Default)]
struct Usage {
    bytes: u64,
    written: Option<SystemTime>,
}

/// The usage of `folder` with all below it. Links are not followed, and what cannot be read counts nothing.
fn usage(folder: &Path) -> Usage {
    let mut usage = Usage::default();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        add(&mut usage, &entry).ok();
    }
    usage
}

fn add(usage: &mut Usage, entry: &fs::DirEntry) -> io::Result<()> {
    let found = entry.metadata()?;
    let (bytes, written) = match found.is_dir() {
        true => {
            let below = self::usage(&entry.path());
            (below.bytes, below.written)
        }
        false => (found.len(), Some(found.modified()?)),
    };
    usage.bytes += bytes;
    if entry.file_name() != "report.html" {
        usage.written = usage.written.max(written);
    }
    Ok(())
}
