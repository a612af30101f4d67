//! The simulated network as methods in Python see it.

use meshfold_algorithms::{EvenLinks, NetworkSpeeds};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[doc = documented!("Network")]
#[pyclass(name = "Network", module = "meshfold", frozen)]
pub(crate) struct PyNetwork(pub(super) NetworkSpeeds);

impl PyNetwork {
    fn links(&self) -> PyResult<EvenLinks> {
        self.0.links.ok_or_else(|| {
            PyValueError::new_err(
                "the links of `network` have no one latency and no one bandwidth, needed `links: {fixed: ...}`, by which all are alike",
            )
        })
    }
}

#[pymethods]
impl PyNetwork {
    #[doc = documented!("Network.step_seconds")]
    #[getter]
    fn step_seconds<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let seconds = self.0.step_seconds.as_ref()?;
        Some(PyArray1::from_slice(py, seconds))
    }

    #[doc = documented!("Network.usual_step_seconds")]
    #[getter]
    fn usual_step_seconds<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let seconds = self.0.usual_step_seconds.as_ref()?;
        Some(PyArray1::from_slice(py, seconds))
    }

    #[doc = documented!("Network.latency_seconds")]
    #[getter]
    fn latency_seconds(&self) -> PyResult<f64> {
        Ok(self.links()?.latency_seconds)
    }

    #[doc = documented!("Network.bytes_per_second")]
    #[getter]
    fn bytes_per_second(&self) -> PyResult<Option<f64>> {
        Ok(self.links()?.bytes_per_second)
    }
}
