//! What can go wrong with a file of rows.

use std::path::PathBuf;

use meshfold_experiment::ConfigError;

use crate::reading::Unread;

/// Why rows cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum ReproductionError {
    /// The file cannot be read.
    #[error("{}: {source}; give the file of rows by --rows", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not one of rows.
    #[error(transparent)]
    Form(Box<ConfigError>),
    /// A row contradicts itself.
    #[error("{}: row {row}: {reason}", .path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The row's id.
        row: String,
        /// What is wrong.
        reason: String,
    },
    /// A word names neither a paper nor a row.
    #[error("`{word}` is neither a paper nor a row; papers are {}{}", .papers.join(", "), .near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// The word.
        word: String,
        /// What there is.
        papers: Vec<String>,
        /// A row whose id begins like the word.
        near: Option<String>,
    },
    /// No run of the experiment has the settings that a value is read from.
    #[error("row {row}, value `{value}`: no run of {} has {settings}", .experiment.display())]
    NoRun {
        /// The row's id.
        row: String,
        /// The value's name.
        value: String,
        /// The experiment's file.
        experiment: PathBuf,
        /// The settings asked for.
        settings: String,
    },
    /// The runs of a value differ in more than their seeds.
    #[error(
        "row {row}, value `{value}`: its runs of {} differ in {}: name the settings of one of them in `only`",
        .experiment.display(), .differing.join(", ")
    )]
    Several {
        /// The row's id.
        row: String,
        /// The value's name.
        value: String,
        /// The experiment's file.
        experiment: PathBuf,
        /// The settings in which they differ.
        differing: Vec<String>,
    },
    /// A finished run does not have what a value is read from.
    #[error("row {row}, value `{value}` under seed {seed}: {source}")]
    Unread {
        /// The row's id.
        row: String,
        /// The value's name.
        value: String,
        /// The seed of the run.
        seed: u64,
        /// Why.
        source: Unread,
    },
    /// An experiment cannot be planned.
    #[error("row {row}: the experiment cannot be planned")]
    Plan {
        /// The row's id.
        row: String,
        /// Why.
        source: Box<ConfigError>,
    },
}
