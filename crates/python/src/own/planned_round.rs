//! What a method in Python knows of its rounds when a run is planned.

use std::sync::Arc;

use meshfold_algorithms::Setting;
use meshfold_algorithms::training::Training;
use meshfold_topology::Overlay;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::start;

#[doc = documented!("PlannedRound")]
#[pyclass(name = "PlannedRound", module = "meshfold", frozen)]
pub(crate) struct PyPlannedRound {
    setting: Arc<Setting>,
    /// The keys of the configuration, as JSON.
    settings: Arc<str>,
    local_steps: Vec<u32>,
    /// How many receive from each client, `[N]`.
    neighbours: Vec<usize>,
}

impl PyPlannedRound {
    /// The rounds of a method with the keys `settings`.
    pub(super) fn of(
        setting: &Setting,
        settings: &Arc<str>,
        training: &Training,
        overlay: Option<&Overlay>,
    ) -> Self {
        let steps = setting.shard_sizes.iter();
        Self {
            local_steps: steps.map(|shard| training.steps_on(*shard)).collect(),
            neighbours: receivers(setting.clients, overlay),
            setting: Arc::new(setting.clone()),
            settings: Arc::clone(settings),
        }
    }
}

/// How many of `clients` receive from each, `[N]`.
fn receivers(clients: usize, overlay: Option<&Overlay>) -> Vec<usize> {
    let Some(overlay) = overlay else {
        return vec![0; clients];
    };
    if !overlay.is_directed() {
        return (0..overlay.nodes())
            .map(|node| overlay.degree(node))
            .collect();
    }
    let mut receivers = vec![0; clients];
    for (from, _) in overlay.edges() {
        receivers[from as usize] += 1;
    }
    receivers
}

#[pymethods]
impl PyPlannedRound {
    #[doc = documented!("PlannedRound.rounds")]
    #[getter]
    fn rounds(&self) -> usize {
        self.setting.rounds
    }

    #[doc = documented!("PlannedRound.clients")]
    #[getter]
    fn clients(&self) -> usize {
        self.setting.clients
    }

    #[doc = documented!("PlannedRound.shard_sizes")]
    #[getter]
    fn shard_sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        start::shard_sizes(py, &self.setting)
    }

    #[doc = documented!("PlannedRound.settings")]
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        start::keys(py, &self.settings)
    }

    #[doc = documented!("PlannedRound.local_steps")]
    #[getter]
    fn local_steps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.local_steps.iter().map(|steps| i64::from(*steps)))
    }

    #[doc = documented!("PlannedRound.neighbours")]
    #[getter]
    fn neighbours<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.neighbours.iter().map(|count| *count as i64))
    }

    #[doc = documented!("PlannedRound.parameters")]
    #[getter]
    fn parameters(&self) -> usize {
        self.setting.layout.parameters()
    }

    #[doc = documented!("PlannedRound.layers")]
    #[getter]
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let layers = PyDict::new(py);
        for block in self.setting.layout.blocks() {
            layers.set_item(&block.name, (block.inputs, block.outputs))?;
        }
        Ok(layers)
    }

    #[doc = documented!("PlannedRound.model_bytes")]
    #[getter]
    fn model_bytes(&self) -> u64 {
        self.setting.model_bytes()
    }

    #[doc = documented!("PlannedRound.to_neighbours")]
    fn to_neighbours(&self, bytes: f64) -> f64 {
        bytes * self.neighbours.iter().sum::<usize>() as f64
    }

    fn __repr__(&self) -> String {
        format!(
            "PlannedRound(clients={}, parameters={})",
            self.setting.clients,
            self.parameters()
        )
    }
}
