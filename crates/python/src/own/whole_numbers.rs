//! Lists of whole numbers.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The `count` whole numbers of an array or list called `name`.
pub(super) fn whole_numbers(
    given: &Bound<'_, PyAny>,
    name: &str,
    count: usize,
) -> PyResult<Vec<i128>> {
    let numbers = list(given, name)?.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "{name} needs whole numbers, one for each of {count} rows"
        ))
    })?;
    if numbers.len() != count {
        return Err(PyValueError::new_err(format!(
            "{name} has {} numbers, needed one for each of {count} rows",
            numbers.len()
        )));
    }
    Ok(numbers)
}

/// The whole numbers of an array or list called `name`; None if it has others.
pub(super) fn list(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Vec<i128>>> {
    let arrays = given.py().import("meshfold._arrays")?;
    let array = arrays.call_method1("plain", (given, name))?;
    if array.getattr("dtype")?.getattr("kind")?.extract::<char>()? == 'b' {
        return Ok(None);
    }
    Ok(array.call_method0("tolist")?.extract().ok())
}
