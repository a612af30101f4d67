//! Figures of what is planned: partitions and overlays.

use meshfold_commands::drawn::{DrawError, overlays, partitions};
use meshfold_figure::Page;
use pyo3::prelude::*;

use crate::compared::{in_python, words};
use crate::errors::Failure;
use crate::plotted::PyFigure;
use crate::running::Request;
use crate::threads;

/// The partitions of the experiment that `request` names.
#[pyfunction]
pub(crate) fn draw_partitions(
    py: Python<'_>,
    request: Request,
    names: Vec<(String, String)>,
    width: f64,
    height: Option<f64>,
    font_size: f64,
) -> PyResult<PyFigure> {
    let page = Page {
        width,
        height,
        font_size,
    };
    let drawn = py.detach(|| {
        threads::shared(|| {
            let planned = request.plan()?;
            let drawn = partitions(&planned.plans, &planned.folder, page, &words(names));
            Ok(PyFigure::of_panels(drawn?, "partition"))
        })
    });
    drawn.map_err(|error: Failure| error.raise(py))
}

/// The overlays of the experiment that `request` names, in the first `rounds` rounds.
#[pyfunction]
pub(crate) fn draw_overlays(
    py: Python<'_>,
    request: Request,
    names: Vec<(String, String)>,
    rounds: usize,
    width: f64,
    font_size: f64,
) -> PyResult<PyFigure> {
    let page = Page {
        width,
        height: None,
        font_size,
    };
    let drawn = py.detach(|| {
        threads::shared(|| {
            let planned = request.plan()?;
            let drawn = overlays(&planned.plans, rounds, page, &words(names));
            Ok(PyFigure::of_panels(drawn?, "overlay"))
        })
    });
    drawn.map_err(|error: Failure| error.raise(py))
}

impl From<DrawError> for Failure {
    fn from(error: DrawError) -> Self {
        match error {
            DrawError::Data(error) => error.into(),
            DrawError::Names(error) => Self::Argument(in_python(&error.to_string())),
            _ => Self::Argument(error.to_string()),
        }
    }
}
