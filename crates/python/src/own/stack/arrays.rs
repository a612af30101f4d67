//! Stacks as arrays, and arrays as stacks.

use numpy::PyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::super::{views, writes};
use super::PyStack;

#[pymethods]
impl PyStack {
    #[doc = documented!("Stack.numpy")]
    #[pyo3(signature = (padded=false))]
    fn numpy<'py>(&self, py: Python<'py>, padded: bool) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        views::rows(py, self.stack()?, padded)
    }

    /// NumPy takes a stack for the array of its rows.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = views::rows(py, self.stack()?, false)?.into_any();
        let rows = match dtype {
            Some(dtype) => rows.call_method1("astype", (dtype,))?,
            None => rows,
        };
        match copy {
            Some(true) if dtype.is_none() => rows.call_method0("copy"),
            _ => Ok(rows),
        }
    }

    #[doc = documented!("Stack.by_layer")]
    fn by_layer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        views::by_layer(py, self.stack()?)
    }

    #[doc = documented!("Stack.__dlpack__")]
    #[pyo3(signature = (**asked))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        asked: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        views::dlpack(py, self.stack()?, asked)
    }

    #[doc = documented!("Stack.__dlpack_device__")]
    fn __dlpack_device__(&self) -> PyResult<(i32, i32)> {
        views::dlpack_device(self.stack()?)
    }

    #[doc = documented!("Stack.set")]
    fn set(slf: &Bound<'_, Self>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        if let Ok(other) = values.cast::<Self>() {
            let rows = slf.try_borrow()?.stack()?.rows();
            let found = other.try_borrow()?.stack()?.rows();
            if found != rows {
                return Err(PyValueError::new_err(format!(
                    "set: the stack has {found} rows, needed {rows}"
                )));
            }
            return Self::overwrite(slf, &(0..rows as u32).collect::<Vec<u32>>(), other);
        }
        // Before the stack is lent: what it is given may read it.
        match values.cast::<PyDict>() {
            Ok(layers) => {
                let layers = writes::arrays(layers)?;
                writes::layers(py, slf.try_borrow_mut()?.stack_mut()?, &layers)
            }
            Err(_) => {
                let array = writes::array(values, "set: the array")?;
                writes::rows(py, slf.try_borrow_mut()?.stack_mut()?, &array, "set")
            }
        }
    }
}
