//! Errors as Python's exceptions, the classes of `meshfold._errors`.

use std::error::Error;
use std::fmt::Display;

use meshfold_data::DataError;
use meshfold_engine::EngineError;
use meshfold_experiment::results::ResultsError;
use meshfold_experiment::{ConfigError, RunError};
use meshfold_report::ReportError;
use meshfold_tensorboard::TensorboardError;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Why a call failed, before Python knows.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The experiment cannot be planned.
    Config(ConfigError),
    /// A dataset is missing or damaged.
    Data(String),
    /// There is no such device.
    Device(String),
    /// The results of runs cannot be read or written.
    Results(String),
    /// An argument of the call that cannot be used.
    Argument(String),
}

impl Failure {
    /// As an exception.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        let (class, message) = match self {
            Self::Config(error) => return config_error(py, error).unwrap_or_else(|error| error),
            Self::Data(message) => ("DataError", message),
            Self::Device(message) => ("DeviceError", message),
            Self::Results(message) => ("ResultsError", message),
            Self::Argument(message) => return PyValueError::new_err(message),
        };
        exception(py, class, message).unwrap_or_else(|error| error)
    }
}

/// An exception of the `class` with this `message`.
fn exception(py: Python<'_>, class: &str, message: String) -> PyResult<PyErr> {
    let class = py.import("meshfold._errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call1((message,))?))
}

/// `ConfigError` with the places of the mistakes.
fn config_error(py: Python<'_>, error: ConfigError) -> PyResult<PyErr> {
    let class = py.import("meshfold._errors")?.getattr("ConfigError")?;
    let mut errors = Vec::new();
    for error in error.into_all() {
        let about = PyDict::new(py);
        about.set_item("path", error.path())?;
        about.set_item("file", error.file())?;
        about.set_item("line", error.line())?;
        about.set_item("column", error.column())?;
        about.set_item("help", error.help().map(|help| help.to_string()))?;
        about.set_item("excerpt", shown(&error))?;
        errors.push(class.call((error.to_string(),), Some(&about))?);
    }
    let first = errors.remove(0);
    first.setattr("others", errors)?;
    Ok(PyErr::from_value(first))
}

/// The error as the program prints it, without colours.
fn shown(error: &ConfigError) -> String {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
    // Whole lines can be searched.
    let handler = handler.with_wrap_lines(false);
    match handler.render_report(&mut text, error) {
        Ok(()) => text.trim_end().to_owned(),
        Err(_) => error.to_string(),
    }
}

/// An error and what caused it, in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Self::Data(chain(&error))
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Device(chain(&error))
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::Results(chain(&error))
    }
}

impl From<ResultsError> for Failure {
    fn from(error: ResultsError) -> Self {
        Self::Results(chain(&error))
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        Self::Results(chain(&error))
    }
}

impl From<TensorboardError> for Failure {
    fn from(error: TensorboardError) -> Self {
        Self::Results(chain(&error))
    }
}

/// A failure of results that is told in these words.
pub(crate) fn results(error: impl Display) -> Failure {
    Failure::Results(error.to_string())
}
