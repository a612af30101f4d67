//! What the rows of a stack are multiplied by, as Python gives it.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::stack::PyStack;

/// A number for all rows, or one for each.
#[derive(FromPyObject)]
enum Scale<'py> {
    One(f32),
    Each(Vec<f32>),
    #[pyo3(transparent)]
    Other(Bound<'py, PyAny>),
}

/// What each of `rows` rows is multiplied by where a call was `given` a number for all or one for each, changed by `change`.
pub(super) fn of_rows(
    given: &Bound<'_, PyAny>,
    rows: usize,
    change: impl Fn(f32) -> f32,
) -> PyResult<Vec<f32>> {
    if given.is_instance_of::<PyStack>() {
        return Err(PyTypeError::new_err(format!(
            "found a stack, needed a number, or one for each of {rows} rows: products of stacks number by number are arrays, \
             `models.set(np.asarray(models) * np.asarray(other))`"
        )));
    }
    given.extract::<Scale<'_>>()?.of_rows(rows, change)
}

impl Scale<'_> {
    /// The numbers of an array of whatever kind, as far as NumPy can read them.
    fn read(self) -> PyResult<Self> {
        let Self::Other(value) = &self else {
            return Ok(self);
        };
        let arrays = value.py().import("meshfold._arrays")?;
        let array = arrays.call_method1("plain", (value, "the scale"))?;
        Ok(match array.call_method0("tolist")?.extract()? {
            Self::Other(_) => self,
            read => read,
        })
    }

    /// One number for each of `rows`, changed by `change`.
    fn of_rows(self, rows: usize, change: impl Fn(f32) -> f32) -> PyResult<Vec<f32>> {
        let scales = self.each(rows, change)?;
        match scales.iter().position(|scale| !scale.is_finite()) {
            None => Ok(scales),
            Some(row) => Err(PyValueError::new_err(format!(
                "row {row} would be multiplied by {}, needed a finite number",
                scales[row]
            ))),
        }
    }

    fn each(self, rows: usize, change: impl Fn(f32) -> f32) -> PyResult<Vec<f32>> {
        match self.read()? {
            Self::One(scale) => Ok(vec![change(scale); rows]),
            Self::Each(scales) if scales.len() == rows => {
                Ok(scales.into_iter().map(change).collect())
            }
            Self::Each(scales) => Err(PyValueError::new_err(format!(
                "found {} numbers, needed one, or one for each of {rows} rows",
                scales.len()
            ))),
            Self::Other(value) => {
                let found = match value
                    .getattr("shape")
                    .and_then(|shape| shape.extract::<Vec<usize>>())
                {
                    Ok(shape) => format!("an array of shape {shape:?}"),
                    Err(_) => value.get_type().name()?.to_string(),
                };
                Err(PyTypeError::new_err(format!(
                    "found {found}, needed a number, or one for each of {rows} rows"
                )))
            }
        }
    }
}
