//! How the program ends after a failure: its message and its exit code.

use std::fmt::Display;
use std::io;
use std::path::Path;

use meshfold_data::DataError;
use meshfold_engine::EngineError;
use meshfold_experiment::results::ResultsError;
use meshfold_experiment::{ConfigError, MOST_MISTAKES, RunError, plain_write_error};
use meshfold_report::ReportError;
use meshfold_reproduction::ReproductionError;
use meshfold_topology::TopologyError;
use meshfold_topology::protocol::ChurnError;
use miette::Report;

use crate::drawn::DrawError;
use crate::terminal;

/// The exit code that asks for the same command again: `EX_TEMPFAIL` of BSD's sysexits.h.
pub(crate) const TRY_AGAIN: u8 = 75;

/// Why a command did not do all that it was asked for.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for cannot be done; nothing was begun.
    Refused(Report),
    /// The experiment has several mistakes; nothing was begun.
    Mistakes(Vec<Report>),
    /// What was begun went wrong.
    Broken(Report),
    /// Part of the work failed, and has been reported.
    Incomplete,
    /// The user asked to stop.
    Interrupted,
    /// The system asked to stop, as a scheduler does ahead of a time limit. The same command goes on.
    Stopped,
    /// Nobody reads what is printed any more, as after `| head`.
    Unread,
    /// Rank 0 fails and reports why. A launcher may end all ranks as soon as one fails, so the others end without
    /// failure.
    OfRankZero,
}

impl Failure {
    /// What was asked for cannot be done, because of `reason`.
    pub(crate) fn refused(reason: impl Display) -> Self {
        Self::Refused(Report::msg(reason.to_string()))
    }

    /// What was begun went wrong, because of `reason`.
    pub(crate) fn broken(reason: impl Display) -> Self {
        Self::Broken(Report::msg(reason.to_string()))
    }

    /// The file at `path` cannot be written, because of `error`.
    pub(crate) fn unwritten(path: &Path, error: io::Error) -> Self {
        let (path, error) = (path.display(), plain_write_error(error));
        Self::broken(format_args!("{path} cannot be written: {error}"))
    }

    /// Says what is wrong on standard error and returns the exit code.
    pub(crate) fn tell(&self) -> u8 {
        if let Self::Refused(report) | Self::Broken(report) = self {
            terminal::line(&format!("{report:?}"));
        }
        if let Self::Mistakes(reports) = self {
            for report in reports {
                terminal::line(&format!("{report:?}"));
            }
            let more = match reports.len() {
                MOST_MISTAKES => ", and there may be more",
                _ => "",
            };
            terminal::line(&format!("{} mistakes{more}", reports.len()));
        }
        match self {
            Self::Refused(_) | Self::Mistakes(_) => 2,
            Self::Broken(_) | Self::Incomplete => 1,
            Self::Interrupted => 130,
            Self::Stopped => TRY_AGAIN,
            Self::Unread | Self::OfRankZero => 0,
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let mut reports: Vec<Report> = error.into_all().into_iter().map(Report::new).collect();
        match reports.pop() {
            Some(only) if reports.is_empty() => Self::Refused(only),
            last => Self::Mistakes(reports.into_iter().chain(last).collect()),
        }
    }
}

impl From<DrawError> for Failure {
    fn from(error: DrawError) -> Self {
        match error {
            DrawError::Data(error) => error.into(),
            _ => Self::refused(error),
        }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        match error {
            DataError::Fetch { .. } => Self::broken(error),
            DataError::Io {
                action,
                path,
                source,
            } if source.kind() == io::ErrorKind::FileTooLarge => Self::broken(DataError::Io {
                action,
                path,
                source: plain_write_error(source),
            }),
            _ => Self::refused(error),
        }
    }
}

impl From<TopologyError> for Failure {
    fn from(error: TopologyError) -> Self {
        Self::refused(error)
    }
}

impl From<ChurnError> for Failure {
    fn from(error: ChurnError) -> Self {
        Self::refused(error)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::refused(error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Read { .. } | RunError::Write { .. } => Self::broken(error),
            _ => Self::refused(error),
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::NoRuns | ReportError::Results(ResultsError::NotARun { .. }) => {
                Self::refused(error)
            }
            _ => Self::broken(error),
        }
    }
}

impl From<ReproductionError> for Failure {
    fn from(error: ReproductionError) -> Self {
        match error {
            ReproductionError::Plan { row, source } => match Self::from(*source) {
                Self::Refused(report) => Self::Refused(report.wrap_err(format!("row {row}"))),
                mistakes => mistakes,
            },
            ReproductionError::Form(mistake) => Self::from(*mistake),
            _ => Self::refused(error),
        }
    }
}

/// Standard output is the only stream whose errors are not named by those who write to it.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::broken(format_args!(
                "standard output cannot be written to: {}",
                plain_write_error(error)
            )),
        }
    }
}
