//! Why a table cannot be made.

use meshfold_experiment::results::ResultsError;

use crate::grouping::Shown;

/// What is wrong with the request, or with the runs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// No run has a setting of this name.
    #[error(
        "no setting is called `{written}`; the runs differ in: {}; they have in common: {}",
        list(varied),
        list(others)
    )]
    UnknownField {
        /// What was asked for.
        written: String,
        /// Settings in which the runs differ.
        varied: Vec<String>,
        /// The other settings.
        others: Vec<String>,
    },
    /// A run has several settings whose names end so.
    #[error("`{written}` may be any of {}; write more of the name", list(paths))]
    AmbiguousField {
        /// What was asked for.
        written: String,
        /// The settings.
        paths: Vec<String>,
    },
    /// No run recorded a figure of this name.
    #[error(
        "no figure is called `{written}`; those that there are: {}",
        list(known)
    )]
    UnknownFigure {
        /// What was asked for.
        written: String,
        /// The figures that the runs recorded.
        known: Vec<String>,
    },
    /// Seconds on a network are asked for, and no run describes one.
    #[error("`{written}` is not known, as these runs have no `network`")]
    NoNetwork {
        /// What was asked for.
        written: String,
    },
    /// A target that no accuracy can reach.
    #[error("--at target={target}: needed an accuracy as a fraction, up to 1, as {metric} is one")]
    NoFraction {
        /// What was asked for.
        target: f64,
        /// The figure.
        metric: String,
    },
    /// The best value is asked for of the setting that repeats the rows.
    #[error(
        "--best {written}: rows are means over {written}, of which none is the best; name another setting in --best or --over"
    )]
    BestOfRepetitions {
        /// The setting.
        written: String,
    },
    /// Runs that would be taken as repetitions of each other differ in more than they may.
    #[error(
        "the {shown} {row} mixes runs that differ in {}; {}",
        list(differing),
        remedy(*shown)
    )]
    Mixed {
        /// What the runs would become.
        shown: Shown,
        /// Its values.
        row: String,
        /// The settings in which they differ.
        differing: Vec<String>,
    },
    /// Two runs of a row have the same seed, or whatever is averaged over.
    #[error("the {shown} {row} has two runs of {over}: give one folder of results at a time")]
    Twice {
        /// What the runs would become.
        shown: Shown,
        /// Its values.
        row: String,
        /// What both runs have.
        over: String,
    },
    /// The setting compared by is none of the columns.
    #[error("--compare {written}: the rows are not told apart by `{written}`; name it in --by")]
    NotAColumn {
        /// What was asked for.
        written: String,
    },
    /// The setting whose values are to stand side by side is none of the columns.
    #[error("--across {written}: the rows are not told apart by `{written}`; name it in --by, too")]
    NoColumnAcross {
        /// What was asked for.
        written: String,
    },
    /// Means are to stand side by side, and something else is asked for that has several columns.
    #[error("--across sets means side by side: leave out {other}, or --across")]
    AcrossWith {
        /// The other option.
        other: &'static str,
    },
    /// No row has the value to compare with.
    #[error(
        "--compare {field}={value}: found no such row; {field} is one of {}",
        list(known)
    )]
    NoBaseline {
        /// The setting.
        field: String,
        /// The value asked for.
        value: String,
        /// The values that there are.
        known: Vec<String>,
    },
    /// No run has this value of a setting.
    #[error(
        "--only {field}={value}: no run has it; {field} is one of {}",
        list(known)
    )]
    UnknownValue {
        /// The setting.
        field: String,
        /// The value asked for.
        value: String,
        /// The values that there are.
        known: Vec<String>,
    },
    /// No run has all the values that were asked for.
    #[error("no run is left: none has all the values of --only")]
    NothingLeft,
    /// A figure that is not recorded for each client.
    #[error(
        "`{written}` is not known of each client: quantiles of clients are drawn for test_accuracy and test_loss"
    )]
    NoClients {
        /// The figure.
        written: String,
    },
    /// The records of a run cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// What may be done about runs that are mixed.
fn remedy(shown: Shown) -> &'static str {
    match shown {
        Shown::Row => "name it in --by, --over or --best",
        Shown::Curve => "name it in --by or --over, or choose one of its values by --only",
    }
}

fn list(names: &[String]) -> String {
    match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.join(", "),
    }
}
