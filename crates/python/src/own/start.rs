//! What a method in Python knows of its run before the first round.

use std::sync::Arc;

use meshfold_algorithms::Setting;
use numpy::PyArray1;
use pyo3::prelude::*;

#[doc = documented!("Start")]
#[pyclass(name = "Start", module = "meshfold", frozen)]
pub(crate) struct PyStart {
    setting: Arc<Setting>,
    /// The keys of the configuration, as JSON.
    settings: Arc<str>,
}

impl PyStart {
    /// What `setting` says, and the keys `settings`.
    pub(super) fn of(setting: &Arc<Setting>, settings: &Arc<str>) -> Self {
        Self {
            setting: Arc::clone(setting),
            settings: Arc::clone(settings),
        }
    }
}

/// Examples of each client, `[N]`.
pub(super) fn shard_sizes<'py>(py: Python<'py>, setting: &Setting) -> Bound<'py, PyArray1<i64>> {
    let sizes = setting.shard_sizes.iter();
    PyArray1::from_iter(py, sizes.map(|size| *size as i64))
}

/// The keys `settings`, as a dict.
pub(super) fn keys<'py>(py: Python<'py>, settings: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (settings,))
}

#[pymethods]
impl PyStart {
    #[doc = documented!("Start.rounds")]
    #[getter]
    fn rounds(&self) -> usize {
        self.setting.rounds
    }

    #[doc = documented!("Start.seed")]
    #[getter]
    fn seed(&self) -> u64 {
        self.setting.seed
    }

    #[doc = documented!("Start.clients")]
    #[getter]
    fn clients(&self) -> usize {
        self.setting.clients
    }

    #[doc = documented!("Start.shard_sizes")]
    #[getter]
    fn shard_sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        shard_sizes(py, &self.setting)
    }

    #[doc = documented!("Start.settings")]
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        keys(py, &self.settings)
    }

    fn __repr__(&self) -> String {
        format!(
            "Start(rounds={}, clients={})",
            self.setting.rounds, self.setting.clients
        )
    }
}
