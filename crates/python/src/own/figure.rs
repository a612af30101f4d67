//! Figures that methods in Python record.

use meshfold_algorithms::OwnFigure;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The figure called `name`: a number, or an array or list of one for each row.
pub(super) fn read(name: &str, value: &Bound<'_, PyAny>) -> PyResult<OwnFigure> {
    // An array of one number would pass for a number as well.
    if value.len().is_err() {
        let number: PyResult<f64> = value.extract();
        return number
            .map(OwnFigure::Number)
            .map_err(|_| no_figure(name, value));
    }
    if let Ok(of_rows) = value.extract() {
        return Ok(OwnFigure::Rows(of_rows));
    }
    let arrays = value.py().import("meshfold._arrays")?;
    let array = arrays.call_method1("plain", (value, format!("the figure `{name}`")))?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    if shape.len() > 1 {
        return Err(PyValueError::new_err(format!(
            "the figure `{name}` is of shape {shape:?}, needed one number, or one for each row, [R]"
        )));
    }
    let of_rows: PyResult<Vec<f64>> = array.call_method0("tolist")?.extract();
    of_rows
        .map(OwnFigure::Rows)
        .map_err(|_| no_figure(name, value))
}

fn no_figure(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type();
    let kind = kind
        .name()
        .map_or_else(|_| String::new(), |kind| kind.to_string());
    PyTypeError::new_err(format!(
        "the figure `{name}` is of type {kind}, needed a number, or one for each row"
    ))
}
