//! What was measured, noted beside the rows, and the tables of the papers' READMEs.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use meshfold_experiment::{RunOptions, VERSION};
use meshfold_reproduction::{Ledger, Measured, RowOutcome, Rows, refreshed, table};

use super::write;
use crate::failure::Failure;

/// The file of measured values, beside the file of rows.
const MEASURED: &str = "measured.json";

/// Adds what `outcomes` measured to `measured.json`, and brings the tables of the READMEs up to date by all of it.
///
/// # Errors
/// [`Failure::Refused`] if `measured.json` is damaged, [`Failure::Broken`] if a file cannot be written.
pub(super) fn record(
    file: &Path,
    rows: &Rows,
    outcomes: &[RowOutcome<'_>],
    options: &RunOptions,
) -> Result<(), Failure> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let path = folder.join(MEASURED);
    let mut ledger = read(&path)?;
    let by = Measured {
        meshfold: VERSION.to_owned(),
        commit: options.commit.clone(),
        device: options.device.kind(),
        values: BTreeMap::new(),
        also: BTreeMap::new(),
    };
    for outcome in outcomes {
        ledger.note(outcome, &by);
    }
    let text = serde_json::to_string_pretty(&ledger).expect("numbers and texts are JSON");
    write(&path, &format!("{text}\n"))?;
    let all = ledger.outcomes(rows);
    for paper in rows.papers.keys() {
        let readme = folder.join(paper).join("README.md");
        let of_paper: Vec<RowOutcome<'_>> = all
            .iter()
            .filter(|outcome| outcome.row.paper == *paper)
            .cloned()
            .collect();
        let Ok(text) = fs::read_to_string(&readme) else {
            continue;
        };
        if let Some(new) = refreshed(&text, &table(&of_paper)).filter(|new| *new != text) {
            write(&readme, &new)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Ledger, Failure> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Ledger::default()),
        Err(error) => Err(Failure::broken(format_args!(
            "{} cannot be read: {error}",
            path.display()
        ))),
        Ok(text) => serde_json::from_str(&text).map_err(|error| {
            Failure::refused(format_args!(
                "{} is damaged: {error}; remove it to measure everything anew",
                path.display()
            ))
        }),
    }
}
