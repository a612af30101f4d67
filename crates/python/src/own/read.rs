//! Classes of Python's as parts that a configuration may name.

use std::sync::Arc;

use meshfold_algorithms::MethodSpec;
use meshfold_algorithms::training::TrainingKeys;
use meshfold_experiment::{Own, OwnFault};
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::gate;

use super::method::{PyMethod, common_keys};
use super::part::PyPart;
use super::traceback::traceback;

/// A class that stands for a part.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct OwnClass {
    /// The name in configurations.
    name: String,
    version: String,
    class: Py<PyAny>,
}

/// The parts that `classes` stand for, and `parts`.
pub(crate) fn own(classes: &[OwnClass], parts: &[Py<PyPart>]) -> Own {
    let mut own = parts
        .iter()
        .fold(Own::new(), |own, part| part.get().among(own));
    for OwnClass {
        name,
        version,
        class,
    } in classes
    {
        let class = Arc::new(gate::attach(|py| class.clone_ref(py)));
        let method = name.clone();
        let read = move |training: TrainingKeys, keys: &Map<String, Value>| {
            let keys = read_keys(&class, keys, &training)?;
            let spec = PyMethod::new(&method, &class, &keys, training)
                .map_err(|error| OwnFault::Refused(error.to_string()))?;
            let spec: Arc<dyn MethodSpec> = Arc::new(spec);
            Ok((spec, keys))
        };
        own = own.method_read_by((name.as_str(), version.as_str()), read);
    }
    own
}

/// `keys` with the defaults of those that are left out, as the class has them. `training` has those of all methods.
fn read_keys(
    class: &Py<PyAny>,
    keys: &Map<String, Value>,
    training: &TrainingKeys,
) -> Result<Map<String, Value>, OwnFault> {
    gate::attach(|py| {
        let text = Value::Object(keys.clone()).to_string();
        let common = Value::Object(common_keys(training)).to_string();
        let read = py
            .import("meshfold._own")
            .and_then(|module| module.call_method1("read_keys", (class.bind(py), text, common)))
            .and_then(|read| read.extract::<String>());
        match read {
            Ok(read) => {
                serde_json::from_str(&read).map_err(|error| OwnFault::Refused(error.to_string()))
            }
            Err(error) => Err(fault(py, &error)),
        }
    })
}

/// What `meshfold._own.KeyFault` says, or any other exception, with its traceback unless the method's `check` raised it as what it
/// says to its user.
fn fault(py: Python<'_>, error: &PyErr) -> OwnFault {
    let value = error.value(py);
    let text = |name: &str| value.getattr(name).ok()?.extract::<String>().ok();
    let known = || value.getattr("known").ok()?.extract::<Vec<String>>().ok();
    match (text("kind").as_deref(), text("key")) {
        (Some("unknown"), Some(key)) => OwnFault::Unknown {
            key,
            known: known().unwrap_or_default(),
        },
        (Some("missing"), Some(key)) => OwnFault::Missing { key },
        (Some("value"), Some(key)) => OwnFault::Value {
            key,
            needed: text("needed").unwrap_or_default(),
        },
        _ => OwnFault::Refused(traceback(py, error)),
    }
}
