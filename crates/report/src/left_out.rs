//! The runs that a report leaves out.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use serde_json::Value;

use meshfold_experiment::results::{DONE, ResultsError, Settings, folder_name};

/// A folder that a report leaves out, and why.
#[derive(Debug)]
pub struct LeftOut {
    folder: PathBuf,
    label: Option<String>,
    is_finished: bool,
    error: Box<ResultsError>,
}

impl LeftOut {
    /// The run in `folder`, which cannot be reported because of `error`.
    pub(crate) fn new(folder: &Path, error: ResultsError) -> Self {
        Self {
            folder: folder.to_owned(),
            label: label(folder),
            is_finished: folder.join(DONE).is_file(),
            error: Box::new(error),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the folder holds a run of which something is missing or damaged, rather than no run.
    pub fn is_damaged(&self) -> bool {
        self.error.is_damage()
    }

    /// Whether the run was finished before it was damaged.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// What is wrong and what to do about it. Names no path.
    pub fn reason(&self) -> String {
        self.error.reason(self.is_finished)
    }

    /// The run's label, or else the name of its folder.
    pub(crate) fn name(&self) -> String {
        let id = folder_name(&self.folder);
        match &self.label {
            Some(label) => format!("{label} ({id})"),
            None => id,
        }
    }

    pub(crate) fn into_error(self) -> ResultsError {
        *self.error
    }
}

impl Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.folder.display())?;
        if let Some(label) = &self.label {
            write!(f, " ({label})")?;
        }
        write!(f, " is left out of the report: {}", self.reason())
    }
}

/// What the run is called, as far as one of its files still tells.
fn label(folder: &Path) -> Option<String> {
    let text = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
    let summary: Option<Value> =
        text("summary.json").and_then(|text| serde_json::from_str(&text).ok());
    let label = summary.and_then(|summary| Some(summary.get("label")?.as_str()?.to_owned()));
    label.or_else(|| {
        let settings = Settings::parse(&text("config.yaml")?).ok()?;
        let seed = settings
            .seed()
            .map_or_else(String::new, |seed| format!(", seed {seed}"));
        Some(format!("{}{seed}", settings.name()))
    })
}
