//! What the folder of a finished run must hold.

use std::io;
use std::path::Path;

use meshfold_topology::OverlaySummary;
use serde_json::{Map, Value};

use crate::results::holdings::Holdings;
use crate::results::outcome::RunOutcome;
use crate::results::recorded_run::RecordedRun;
use crate::results::results_error::ResultsError;
use crate::results::run_folder::{CLIENTS, CONFIG, DONE, ENVIRONMENT, METRICS, Seal};
use crate::results::run_text::{object, parsed};
use crate::results::settings::Settings;

/// The files of every run beside its configuration. `report.html` is not among them, for it can be written again.
const FILES: [&str; 5] = [
    ENVIRONMENT,
    METRICS,
    CLIENTS,
    "partition.csv",
    "summary.json",
];

/// Settings that every run has.
const KEYS: [&str; 5] = ["dataset", "partition", "model", "algorithm", "rounds"];

/// Checks that all files are there and that the configuration was not cut off.
///
/// # Errors
/// [`ResultsError::Missing`] of the first file that is not; [`ResultsError::Content`] and [`ResultsError::Read`] of a
/// configuration that lacks a setting, and of an `environment.json` that cannot be read.
pub(super) fn expect_files(folder: &Path, settings: &Settings) -> Result<(), ResultsError> {
    let of_overlay = (!settings.get("topology").is_null()).then_some("overlay.json");
    for name in FILES.into_iter().chain(of_overlay) {
        let path = folder.join(name);
        if path
            .metadata()
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        {
            return Err(ResultsError::Missing { path });
        }
    }
    if let Some(key) = KEYS.into_iter().find(|key| settings.get(key).is_null()) {
        return Err(ResultsError::Content {
            path: folder.join(CONFIG),
            found: format!("it has no {key}"),
        });
    }
    let environment = object::<Map<String, Value>>;
    parsed(&folder.join(ENVIRONMENT), environment).map(drop)
}

/// Checks the files against the digests that the run took when it was finished.
///
/// # Errors
/// [`ResultsError::Content`] of the first file that is another, and of a `DONE` that cannot be understood;
/// [`ResultsError::Read`].
pub(super) fn expect_unaltered(folder: &Path) -> Result<(), ResultsError> {
    let read = |text: &str| {
        serde_json::from_str::<Seal>(text)
            .map_err(|_| "it does not say who finished the run".to_owned())
    };
    let altered = match parsed(&folder.join(DONE), read)? {
        Some(seal) => seal.altered(folder)?,
        None => None,
    };
    match altered {
        Some(path) => Err(ResultsError::Content {
            path,
            found: "it has another digest than DONE says".to_owned(),
        }),
        None => Ok(()),
    }
}

/// Checks that the run came to its end and that its files agree on it.
///
/// # Errors
/// [`ResultsError::Missing`] and [`ResultsError::Content`].
pub(super) fn expect_end(
    run: &RecordedRun,
    outcome: &RunOutcome,
    holdings: Option<&Holdings>,
) -> Result<(), ResultsError> {
    let content = |file: &str, found: String| ResultsError::Content {
        path: run.folder.join(file),
        found,
    };
    let end = run.last().map(|last| last.round);
    let is_cut_off = |_: &usize| !run.is_at_its_end();
    if let Some(rounds) = run.settings.rounds().filter(is_cut_off) {
        let found = match end {
            Some(round) => format!("it ends with round {round} of {rounds}"),
            None => "it holds no evaluation".to_owned(),
        };
        return Err(content(METRICS, found));
    }
    if let Some(status) = outcome
        .status
        .as_deref()
        .filter(|status| *status != "finished")
    {
        let found = format!("it calls the run {status}, though there is a DONE");
        return Err(content("summary.json", found));
    }
    if run.final_accuracies.is_empty() {
        return Err(content(CLIENTS, "it holds no client".to_owned()));
    }
    let fits = |clients| holdings.is_none_or(|holdings| holdings.fits(clients));
    if !outcome.clients.is_none_or(fits) {
        let found = "it has other clients than the run".to_owned();
        return Err(content("partition.csv", found));
    }
    expect_edges(run)
}

/// Checks that the edges of the overlay are listed. Those of a complete overlay need not be.
fn expect_edges(run: &RecordedRun) -> Result<(), ResultsError> {
    let path = run.folder.join("overlay.edges");
    let summary = run.overlay_summary.as_ref();
    match summary.is_none_or(OverlaySummary::is_complete) || path.exists() {
        true => Ok(()),
        false => Err(ResultsError::Missing { path }),
    }
}
