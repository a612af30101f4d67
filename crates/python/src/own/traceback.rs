//! What Python raised, in words.

use pyo3::prelude::*;

use crate::gate;

/// What Python raised, with its traceback.
pub(super) fn raised(error: &PyErr) -> String {
    gate::attach(|py| traceback(py, error))
}

/// As [`raised`], on a thread that is attached already.
pub(super) fn traceback(py: Python<'_>, error: &PyErr) -> String {
    let told = py
        .import("meshfold._own")
        .and_then(|module| module.call_method1("traceback", (error.clone_ref(py).into_value(py),)))
        .and_then(|text| text.extract());
    told.unwrap_or_else(|_| error.to_string())
}
