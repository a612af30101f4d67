//! Whole numbers and truth values in arrays and lists.

use std::fmt::Display;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The `count` whole numbers called `name`, one for each row.
pub(super) fn each_row(given: &Bound<'_, PyAny>, name: &str, count: usize) -> PyResult<Vec<i128>> {
    let needed = format!("one for each of {count} rows");
    let numbers = list(given, name)?
        .ok_or_else(|| PyTypeError::new_err(format!("{name} needs whole numbers, {needed}")))?;
    expect_count(&numbers, count, name, &needed)?;
    Ok(numbers)
}

/// The `count` whole numbers called `name`, one for each row, client or edge, as `each` says; a single one counts for all.
pub(super) fn one_or_each(
    given: &Bound<'_, PyAny>,
    name: &str,
    count: usize,
    each: &str,
) -> PyResult<Vec<i128>> {
    let needed = format!("one for all {each}s, or one for each of {count}");
    let none = || PyTypeError::new_err(format!("{name} needs whole numbers: {needed}"));
    if given.len().is_err() {
        return Ok(vec![given.extract().map_err(|_| none())?; count]);
    }
    let numbers = list(given, name)?.ok_or_else(none)?;
    expect_count(&numbers, count, name, &needed)?;
    Ok(numbers)
}

/// The rows of a stack that are called `name`, in a list or an array of any length.
pub(super) fn rows(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<u32>> {
    let none = || PyTypeError::new_err(format!("{name} needs numbers of rows, such as [0, 3]"));
    if given.len().is_err() {
        return Err(none());
    }
    let row = |row: i128| {
        u32::try_from(row).map_err(|_| {
            PyValueError::new_err(format!("{name} names row {row}, which does not exist"))
        })
    };
    list(given, name)?
        .ok_or_else(none)?
        .into_iter()
        .map(row)
        .collect()
}

/// The clients that are called `name`, in a list or an array of any length. There are `count` clients.
pub(super) fn clients(given: &Bound<'_, PyAny>, name: &str, count: usize) -> PyResult<Vec<u32>> {
    let none = || {
        PyTypeError::new_err(format!(
            "{name} needs numbers of clients, such as [0, 3] or `np.flatnonzero(round.alive)`"
        ))
    };
    if given.len().is_err() {
        return Err(none());
    }
    let numbers = list(given, name)?.ok_or_else(none)?;
    all_clients(&numbers, name, count)
}

/// `numbers` as clients, of which there are `count`; they are called `name`.
pub(super) fn all_clients(numbers: &[i128], name: &str, count: usize) -> PyResult<Vec<u32>> {
    let client = |number: &i128| {
        let client = u32::try_from(*number).ok();
        client
            .filter(|client| (*client as usize) < count)
            .ok_or_else(|| {
                PyValueError::new_err(format!(
                    "{name} names client {number}, but there are clients 0 to {}",
                    count - 1
                ))
            })
    };
    numbers.iter().map(client).collect()
}

/// The `count` truth values called `name`, one for each row.
pub(super) fn each_bool(given: &Bound<'_, PyAny>, name: &str, count: usize) -> PyResult<Vec<bool>> {
    let arrays = given.py().import("meshfold._arrays")?;
    let array = arrays.call_method1("plain", (given, name))?;
    let truths: Option<Vec<bool>> = array.call_method0("tolist")?.extract().ok();
    match truths.filter(|truths| truths.len() == count) {
        Some(truths) => Ok(truths),
        None => Err(PyTypeError::new_err(format!(
            "{name} needs true or false for each of {count} rows, such as `round.alive`"
        ))),
    }
}

fn expect_count(numbers: &[i128], count: usize, name: &str, needed: &str) -> PyResult<()> {
    if numbers.len() == count {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "{name} has {} numbers, needed {needed}",
        numbers.len()
    )))
}

/// The whole numbers of an array or list called `name`; None if it has others.
fn list(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Vec<i128>>> {
    let arrays = given.py().import("meshfold._arrays")?;
    let array = arrays.call_method1("plain", (given, name))?;
    if array.getattr("dtype")?.getattr("kind")?.extract::<char>()? == 'b' {
        return Ok(None);
    }
    Ok(array.call_method0("tolist")?.extract().ok())
}

/// `numbers` from 0 to `most`, one for each row or client, which is called `each`; `name` says whose they are.
pub(super) fn up_to<T>(most: T, numbers: &[i128], name: &str, each: &str) -> PyResult<Vec<T>>
where
    T: TryFrom<i128> + PartialOrd + Display,
{
    let within = |(place, number): (usize, &i128)| {
        let within = T::try_from(*number).ok().filter(|number| *number <= most);
        within.ok_or_else(|| {
            PyValueError::new_err(format!(
                "{name} has {number} for {each} {place}, needed whole numbers from 0 to {most}"
            ))
        })
    };
    numbers.iter().enumerate().map(within).collect()
}
