//! What can go wrong between a dataset's name and its examples.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::{FolderOrigin, Manifest};

/// Why a dataset cannot be loaded, with the place and the remedy.
#[derive(Debug, Error)]
pub enum DataError {
    /// Features and labels disagree in number.
    #[error(
        "examples: {found} features found but {examples} examples of {width} features need {}",
        .examples * .width
    )]
    FeatureCount {
        /// Features found.
        found: usize,
        /// Number of labels.
        examples: usize,
        /// Features per example.
        width: usize,
    },
    /// A label names no class.
    #[error(
        "examples: label {label} of example {index} is not below the number of classes, {classes}"
    )]
    LabelRange {
        /// Which example.
        index: usize,
        /// Its label.
        label: u16,
        /// Number of classes.
        classes: usize,
    },
    /// A drawn dataset of an impossible size.
    #[error("{dataset}: {asked} {split} examples asked for, between 1 and {most} needed")]
    ExampleCount {
        /// Name of the dataset.
        dataset: &'static str,
        /// `train` or `test`.
        split: &'static str,
        /// Examples asked for.
        asked: usize,
        /// The most there can be.
        most: usize,
    },
    /// The validation images would leave nothing to train on.
    #[error(
        "{dataset}: {asked} validation images asked for, at most {} of the {available} training \
         images can be kept apart",
        .available - 1
    )]
    Validation {
        /// Name of the dataset.
        dataset: &'static str,
        /// Validation images asked for.
        asked: usize,
        /// Training images there are.
        available: usize,
    },
    /// The test set cannot have so many images with equally many of each class.
    #[error(
        "{dataset}: a balanced test set of {asked} images asked for, a multiple of {classes} up to {most} needed"
    )]
    BalancedTest {
        /// Name of the dataset.
        dataset: &'static str,
        /// Test images asked for.
        asked: usize,
        /// Number of classes.
        classes: usize,
        /// The most that there can be, as many of each class as the smallest class has.
        most: usize,
    },
    /// A setting is outside its range.
    #[error("{dataset}: {setting} is {found}, {needed} needed")]
    Setting {
        /// Name of the dataset.
        dataset: &'static str,
        /// Name of the setting.
        setting: &'static str,
        /// Its value.
        found: String,
        /// What it has to be.
        needed: String,
    },
    /// Another process, which reads for this one, cannot load the dataset.
    #[error("{reason}")]
    Elsewhere {
        /// What it says.
        reason: String,
    },
    /// Processes that plan the same run ask for different datasets.
    #[error(
        "rank {rank} has planned other runs than rank 0: start all ranks from the same program, on machines with the same \
         instructions (or with `--cpu avx2`) or the same GPUs, with the same files and arguments"
    )]
    OtherDataset {
        /// The first one that differs from rank 0.
        rank: usize,
    },
    /// A dataset of a program's own cannot be had.
    #[error("{reason}")]
    Own {
        /// Why.
        reason: String,
    },
    /// The files are right but hold nothing of what is asked for.
    #[error("{dataset}: {reason}")]
    Unmet {
        /// Name of the dataset.
        dataset: &'static str,
        /// What is asked for and what there is.
        reason: String,
    },
    /// A recording of the bearing data that has no mirror is not there.
    #[error("cwru: {} not found ({origin}); {how}", .path.display())]
    NoRecording {
        /// Where to get it, and what works without it.
        how: String,
        /// Where it is looked for.
        path: PathBuf,
        /// How the folder was chosen.
        origin: FolderOrigin,
    },
    /// A user's file is neither beside the experiment nor in the data folder.
    #[error("{dataset}: found no file at {} ({origin})", listed(.places))]
    NoTable {
        /// Name of the dataset.
        dataset: &'static str,
        /// The setting that names it.
        setting: &'static str,
        /// Where it was looked for: beside the experiment, then in the data folder.
        places: Vec<PathBuf>,
        /// How the data folder was chosen.
        origin: FolderOrigin,
    },
    /// No manifest has this name.
    #[error(
        "no dataset to fetch is called `{name}`, there are {known}{}",
        .nearest.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default()
    )]
    UnknownDataset {
        /// The name asked for.
        name: String,
        /// The closest name that exists, if any is close.
        nearest: Option<&'static str>,
        /// All names, separated by commas.
        known: String,
    },
    /// The platform has no data folder and none was given.
    #[error(
        "no folder for datasets: this account has no home folder; give one with --data-dir or MESHFOLD_DATA"
    )]
    NoFolder,
    /// A file of a dataset is in none of the places looked at.
    #[error(
        "{dataset}: {file} not found; looked for {} ({origin}); {}",
        listed(.looked),
        remedy(dataset).unwrap_or_default()
    )]
    Missing {
        /// Name of the dataset.
        dataset: String,
        /// Name of the file.
        file: String,
        /// Every path that was tried.
        looked: Vec<PathBuf>,
        /// How the folder was chosen.
        origin: FolderOrigin,
    },
    /// A file is not what its format or its dataset says.
    #[error(
        "{dataset}: {}: at byte {offset}: {reason}{}",
        .path.display(),
        replacement(dataset, path)
    )]
    Malformed {
        /// Name of the dataset.
        dataset: String,
        /// The file.
        path: PathBuf,
        /// Where in the decompressed content the fault lies.
        offset: u64,
        /// What was found and what was needed.
        reason: String,
    },
    /// A user's table holds something that cannot be used.
    #[error("{dataset}: {}: {reason}", .path.display())]
    Table {
        /// Name of the dataset.
        dataset: &'static str,
        /// The file.
        path: PathBuf,
        /// What was found, in which line and column if it is in one, and what was needed.
        reason: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried, such as `read`.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Files that no mirror has.
    #[error(
        "{dataset}: {} must be brought by hand into {}: {how}",
        if .files.is_empty() { "its files".to_owned() } else { .files.join(", ") },
        .place.display()
    )]
    ByHand {
        /// Name of the dataset.
        dataset: String,
        /// Names of the files; all of them if empty.
        files: Vec<String>,
        /// Where a person gets them.
        how: String,
        /// The folder for them.
        place: PathBuf,
    },
    /// Every mirror of a file failed.
    #[error(
        "{dataset}: no mirror delivered {file}: {}",
        .failures.iter().map(|f| format!("{}: {}", f.url, f.reason)).collect::<Vec<_>>().join("; ")
    )]
    Fetch {
        /// Name of the dataset.
        dataset: String,
        /// Name of the file.
        file: String,
        /// What each mirror did, in the order tried.
        failures: Vec<MirrorFailure>,
    },
}

/// Paths, one after the other.
fn listed(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    shown.join(" or ")
}

/// How to get the files of `dataset`.
fn remedy(dataset: &str) -> Option<String> {
    let manifest = Manifest::by_name(dataset).ok()?;
    match &manifest.by_hand {
        Some(how) if !manifest.is_fetchable() => Some(how.clone()),
        _ => Some(format!("run `meshfold data fetch {dataset}`")),
    }
}

/// How a broken file of `dataset` at `path` is replaced, if that is known.
fn replacement(dataset: &str, path: &Path) -> String {
    let manifest = Manifest::by_name(dataset);
    let unlisted = manifest.as_ref().ok().and_then(|m| m.unlisted(path));
    if let Some(file) = unlisted {
        return format!("; {}", file.how);
    }
    match manifest {
        Ok(manifest) if manifest.is_fetchable() => {
            format!("; `meshfold data fetch {dataset}` replaces the file")
        }
        _ => String::new(),
    }
}

/// Why one mirror did not deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorFailure {
    /// The address tried.
    pub url: String,
    /// What went wrong.
    pub reason: String,
}

impl DataError {
    /// Whether files of a published dataset are missing, or links to them are broken.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Missing { .. } | Self::NoRecording { .. } => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// The file whose content is wrong, or that cannot be read.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Malformed { path, .. } | Self::Table { path, .. } | Self::Io { path, .. } => {
                Some(path)
            }
            _ => None,
        }
    }

    /// What is wrong with the value of `setting`, a dotted path below `dataset` such as `test.share`.
    pub(crate) fn setting(
        dataset: &'static str,
        setting: &'static str,
        found: impl ToString,
        needed: impl Into<String>,
    ) -> Self {
        Self::Setting {
            dataset,
            setting,
            found: found.to_string(),
            needed: needed.into(),
        }
    }

    /// Checks that `setting` of `dataset` is in `range`.
    pub(crate) fn expect_between(
        dataset: &'static str,
        setting: &'static str,
        found: usize,
        range: RangeInclusive<usize>,
    ) -> Result<(), Self> {
        if range.contains(&found) {
            return Ok(());
        }
        let (least, most) = range.into_inner();
        let needed = format!("from {least} to {most}");
        Err(Self::setting(dataset, setting, found, needed))
    }

    /// An [`DataError::Io`] on `path`, for `map_err`.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_no_mirror_has_are_asked_for_by_name() {
        let error = |files: &[&str]| {
            DataError::ByHand {
                dataset: "a".into(),
                files: files.iter().map(|file| (*file).to_owned()).collect(),
                how: "see b".into(),
                place: "c".into(),
            }
            .to_string()
        };
        assert_eq!(
            error(&[]),
            "a: its files must be brought by hand into c: see b"
        );
        assert_eq!(
            error(&["x", "y"]),
            "a: x, y must be brought by hand into c: see b"
        );
    }
}
