//! What a run left in its folder.

use super::error::ReportError;
use super::evaluation_log::{self, Evaluation};
use super::final_accuracies::{self, RowAccuracy};
use super::holdings::Holdings;
use super::settings::Settings;
use meshfold_topology::{Overlay, OverlaySummary, parse_edge_list};
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// One run as it stands on disk, finished or not.
#[derive(Clone, Debug)]
pub(super) struct RunFolder {
    folder: PathBuf,
    /// The folder's name.
    pub(super) id: String,
    pub(super) settings: Settings,
    pub(super) evaluations: Vec<Evaluation>,
    /// Absent if the method uses no overlay, or the file was not written.
    pub(super) overlay_summary: Option<OverlaySummary>,
    /// Parameters of a model, `P`, once the run has ended.
    pub(super) parameters: Option<u64>,
    /// Ascending by row; empty if there is no `clients.parquet`.
    pub(super) final_accuracies: Vec<RowAccuracy>,
    /// What a reader of the page should know of this run.
    pub(super) notices: Vec<String>,
}

impl RunFolder {
    /// Reads the folder of one run. Files that are not there are left out; `clients.parquet`, which an interruption may
    /// tear, becomes a notice.
    ///
    /// # Errors
    /// [`ReportError::NotARun`] without a `config.yaml`; [`ReportError::Read`] and [`ReportError::Content`] for files
    /// that exist but cannot be read.
    pub(super) fn read(folder: &Path) -> Result<Self, ReportError> {
        let config = folder.join("config.yaml");
        let Some(text) = text_of(&config)? else {
            return Err(ReportError::NotARun {
                folder: folder.to_owned(),
            });
        };
        let settings = Settings::parse(&text).map_err(|found| ReportError::Content {
            path: config,
            found,
        })?;
        let summary = |text: &str| serde_json::from_str(text).map_err(|error| error.to_string());
        let overlay_summary: Option<OverlaySummary> =
            parsed(&folder.join("overlay.json"), summary)?;
        let ended = outcome(folder)?;
        let mut notices = Vec::new();
        let evaluations =
            parsed(&folder.join("metrics.jsonl"), evaluation_log::parse)?.unwrap_or_default();
        if !folder.join("DONE").exists() {
            notices.push(unfinished(&settings, &evaluations));
            notices.extend(failure(&ended));
        }
        Ok(Self {
            folder: folder.to_owned(),
            id: folder_name(folder),
            overlay_summary,
            parameters: ended.get("parameters").and_then(Value::as_u64),
            final_accuracies: final_accuracies_of(folder, &mut notices),
            settings,
            evaluations,
            notices,
        })
    }

    /// The overlay, absent as its summary is. It is read when asked for: the edges of many runs can be much to hold.
    ///
    /// # Errors
    /// As [`RunFolder::read`].
    pub(super) fn overlay(&self) -> Result<Option<Overlay>, ReportError> {
        match &self.overlay_summary {
            Some(summary) => parsed(&self.folder.join("overlay.edges"), |text| {
                overlay(summary.nodes, text)
            }),
            None => Ok(None),
        }
    }

    /// Who owns how many examples of what, if that was written.
    ///
    /// # Errors
    /// As [`RunFolder::read`].
    pub(super) fn partition(&self) -> Result<Option<Holdings>, ReportError> {
        let clients = self.settings.clients().unwrap_or(0);
        parsed(&self.folder.join("partition.csv"), |text| {
            Holdings::parse(text, clients)
        })
    }

    /// The first evaluation at which the mean accuracy was at least `target`.
    pub(super) fn reaching(&self, target: f64) -> Option<&Evaluation> {
        let mut evaluations = self.evaluations.iter();
        evaluations.find(|evaluation| {
            let mean = evaluation.test_accuracy.mean;
            mean.is_some_and(|mean| mean >= target)
        })
    }

    /// The last evaluation.
    pub(super) fn last(&self) -> Option<&Evaluation> {
        self.evaluations.last()
    }
}

/// The run folders that a path stands for: itself, or its subfolders in order if they are runs.
///
/// # Errors
/// [`ReportError::NotARun`] if there are none, [`ReportError::Read`] if the folder cannot be listed.
pub(super) fn expand(folder: &Path) -> Result<Vec<PathBuf>, ReportError> {
    let is_run = |path: &Path| path.join("config.yaml").is_file();
    if is_run(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let not_a_run = || ReportError::NotARun {
        folder: folder.to_owned(),
    };
    if !folder.is_dir() {
        return Err(not_a_run());
    }
    let unreadable = |source| ReportError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut runs = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if is_run(&path) {
            runs.push(path);
        }
    }
    runs.sort();
    if runs.is_empty() {
        Err(not_a_run())
    } else {
        Ok(runs)
    }
}

fn folder_name(folder: &Path) -> String {
    let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    whole.file_name().map_or_else(
        || "run".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn unfinished(settings: &Settings, evaluations: &[Evaluation]) -> String {
    let asked = settings
        .rounds()
        .map_or_else(String::new, |rounds| format!(" of {rounds}"));
    match evaluations.last() {
        Some(last) => format!(
            "not finished: its last evaluation is of round {}{asked}",
            last.round
        ),
        None => "not finished: no evaluation is recorded yet".to_owned(),
    }
}

/// What `summary.json` says of the run; nothing while it goes on.
fn outcome(folder: &Path) -> Result<Value, ReportError> {
    let summary = |text: &str| serde_json::from_str(text).map_err(|error| error.to_string());
    let summary = parsed(&folder.join("summary.json"), summary)?;
    Ok(summary.unwrap_or_default())
}

/// Why the run failed, if it did.
fn failure(outcome: &Value) -> Option<String> {
    Some(format!("it failed: {}", outcome.get("error")?.as_str()?))
}

fn final_accuracies_of(folder: &Path, notices: &mut Vec<String>) -> Vec<RowAccuracy> {
    let path = folder.join("clients.parquet");
    if !path.exists() {
        return Vec::new();
    }
    final_accuracies::read(&path).unwrap_or_else(|error| {
        notices.push(format!(
            "clients.parquet cannot be read, so single clients are left out: {error}"
        ));
        Vec::new()
    })
}

fn overlay(nodes: usize, text: &str) -> Result<Overlay, String> {
    let pairs = parse_edge_list(text).map_err(|error| error.to_string())?;
    Overlay::from_edges(nodes, pairs).map_err(|error| error.to_string())
}

fn parsed<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, ReportError> {
    let content = |found| ReportError::Content {
        path: path.to_owned(),
        found,
    };
    text_of(path)?
        .map(|text| parse(&text).map_err(content))
        .transpose()
}

fn text_of(path: &Path) -> Result<Option<String>, ReportError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ReportError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}
