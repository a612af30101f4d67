//! What a run left in its folder.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use meshfold_topology::{Overlay, OverlaySummary, parse_edge_list};

use crate::results::evaluation_log::{self, Evaluation};
use crate::results::final_accuracies::{self, RowAccuracy};
use crate::results::finished_run;
use crate::results::holdings::Holdings;
use crate::results::outcome::Outcome;
use crate::results::results_error::ResultsError;
use crate::results::run_file::{object, parsed};
use crate::results::run_folder::DONE;
use crate::results::settings::Settings;

/// The most nodes of an overlay, so that a damaged file cannot ask for all memory.
const MOST_NODES: usize = 10_000_000;

/// One run as it stands on disk, finished or not.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// Where it lies.
    pub folder: PathBuf,
    /// The folder's name.
    pub id: String,
    /// What `config.yaml` says.
    pub settings: Settings,
    /// In the order of their rounds.
    pub evaluations: Vec<Evaluation>,
    /// Absent if the method uses no overlay, or the file was not written.
    pub overlay_summary: Option<OverlaySummary>,
    /// Parameters of a model, `P`, once the run has ended.
    pub parameters: Option<u64>,
    /// Ascending by row; empty if there is no `clients.parquet`.
    pub final_accuracies: Vec<RowAccuracy>,
    /// What whoever looks at the run should know of it, such as that it is not finished.
    pub notices: Vec<String>,
}

impl RecordedRun {
    /// Reads the folder of one run. What a run that goes on has yet to write is left out. Overlay and partition are read
    /// as well and let go of, so that damage to them is known here.
    ///
    /// # Errors
    /// [`ResultsError::NotARun`] if no run has begun in the folder. [`ResultsError::Missing`] if a file is not there though
    /// the run is past the point where it was written, [`ResultsError::Read`] and [`ResultsError::Content`] for files that
    /// cannot be read.
    pub fn read(folder: &Path) -> Result<Self, ResultsError> {
        let settings = settings(folder)?;
        let is_finished = folder.join(DONE).is_file();
        if is_finished {
            finished_run::expect_files(folder, &settings)?;
        }
        let outcome = Outcome::read(folder)?;
        let evaluations =
            parsed(&folder.join("metrics.jsonl"), evaluation_log::parse)?.unwrap_or_default();
        let mut notices = Vec::new();
        if !is_finished {
            notices.push(unfinished(&settings, &evaluations));
            let failure = outcome.error.as_ref();
            notices.extend(failure.map(|error| format!("it failed: {error}")));
        }
        let run = Self {
            folder: folder.to_owned(),
            id: folder_name(folder),
            overlay_summary: overlay_summary(folder, &settings, &outcome)?,
            parameters: outcome.parameters,
            final_accuracies: final_accuracies_of(folder)?,
            settings,
            evaluations,
            notices,
        };
        let (_, holdings) = (run.overlay()?, run.partition()?);
        if is_finished {
            finished_run::expect_end(&run, &outcome, holdings.as_ref())?;
            finished_run::expect_unaltered(folder)?;
        }
        Ok(run)
    }

    /// The overlay, absent as its summary is. It is read when asked for: the edges of many runs can be much to hold. Those of
    /// a complete overlay are known without their list.
    ///
    /// # Errors
    /// As [`RecordedRun::read`].
    pub fn overlay(&self) -> Result<Option<Overlay>, ResultsError> {
        let every_two = |nodes: usize| nodes.checked_mul(nodes.saturating_sub(1));
        match &self.overlay_summary {
            Some(summary) if every_two(summary.nodes) == Some(2 * summary.edges) => {
                Ok(Overlay::complete(summary.nodes).ok())
            }
            Some(summary) => parsed(&self.folder.join("overlay.edges"), |text| {
                overlay(summary, text)
            }),
            None => Ok(None),
        }
    }

    /// Who owns how many examples of what, if that was written.
    ///
    /// # Errors
    /// As [`RecordedRun::read`].
    pub fn partition(&self) -> Result<Option<Holdings>, ResultsError> {
        let clients = self.settings.clients().unwrap_or(0);
        parsed(&self.folder.join("partition.csv"), |text| {
            expect_whole_lines(text)?;
            Holdings::parse(text, clients)
        })
    }

    /// The first evaluation at which the mean accuracy was at least `target`.
    pub fn reaching(&self, target: f64) -> Option<&Evaluation> {
        let mut evaluations = self.evaluations.iter();
        evaluations.find(|evaluation| {
            let mean = evaluation.test_accuracy.mean;
            mean.is_some_and(|mean| mean >= target)
        })
    }

    /// The last evaluation.
    pub fn last(&self) -> Option<&Evaluation> {
        self.evaluations.last()
    }
}

/// Whether a run has written to the folder.
pub fn is_run(folder: &Path) -> bool {
    let exists = |file: &str| folder.join(file).symlink_metadata().is_ok();
    exists("config.yaml") || has_records(folder)
}

/// Whether a run in the folder came so far that it must have written its configuration before.
fn has_records(folder: &Path) -> bool {
    let metrics = folder.join("metrics.jsonl").metadata();
    folder.join(DONE).is_file()
        || metrics.is_ok_and(|metrics| metrics.is_file() && metrics.len() > 0)
}

/// The configuration of the run in `folder`.
fn settings(folder: &Path) -> Result<Settings, ResultsError> {
    let path = folder.join("config.yaml");
    let parse = |text: &str| {
        expect_whole_lines(text)?;
        Settings::parse(text)
    };
    match parsed(&path, parse)? {
        Some(settings) => Ok(settings),
        None if has_records(folder) => Err(ResultsError::Missing { path }),
        None => Err(ResultsError::NotARun {
            folder: folder.to_owned(),
        }),
    }
}

/// The content of `overlay.json`.
fn overlay_summary(
    folder: &Path,
    settings: &Settings,
    outcome: &Outcome,
) -> Result<Option<OverlaySummary>, ResultsError> {
    let most = outcome.clients.or(settings.clients());
    let most = most.unwrap_or(MOST_NODES).min(MOST_NODES);
    parsed(&folder.join("overlay.json"), |text| {
        let summary: OverlaySummary = object(text)?;
        match summary.nodes > most {
            true => Err(format!(
                "it names {} nodes of at most {most}",
                summary.nodes
            )),
            false => Ok(summary),
        }
    })
}

/// The last part of the path.
pub fn folder_name(folder: &Path) -> String {
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

/// The last accuracies in `clients.parquet`; none if there is no such file yet.
fn final_accuracies_of(folder: &Path) -> Result<Vec<RowAccuracy>, ResultsError> {
    let path = folder.join("clients.parquet");
    match fs::File::open(&path) {
        Ok(file) => final_accuracies::read(file).map_err(|error| ResultsError::Content {
            path,
            found: error.to_string(),
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(ResultsError::Read { path, source }),
    }
}

/// The overlay that `text` lists, which must have the figures of its summary.
fn overlay(summary: &OverlaySummary, text: &str) -> Result<Overlay, String> {
    expect_whole_lines(text)?;
    let pairs = parse_edge_list(text).map_err(|error| error.to_string())?;
    let (found, edges) = (pairs.len(), summary.edges);
    if found != edges {
        return Err(format!(
            "it lists {found} edges, overlay.json counts {edges}"
        ));
    }
    Overlay::from_edges(summary.nodes, pairs).map_err(|error| error.to_string())
}

/// Checks that the last line of a table is not cut off.
fn expect_whole_lines(text: &str) -> Result<(), String> {
    match text.is_empty() || text.ends_with('\n') {
        true => Ok(()),
        false => Err("its last line is cut off".to_owned()),
    }
}
