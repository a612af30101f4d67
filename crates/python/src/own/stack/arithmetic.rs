//! Stacks in sums, differences and products.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::super::{scale, writes};
use super::{PyStack, closed, engine};

impl PyStack {
    /// What is added to `slf`: a stack, or an array `[R, P]` of numbers.
    fn operand<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        if let Ok(stack) = other.cast::<Self>() {
            return Ok(stack.clone());
        }
        if other.len().is_err()
            && let Ok(number) = other.extract::<f64>()
        {
            let (rows, parameters) = slf.try_borrow()?.shape()?;
            return Err(PyTypeError::new_err(format!(
                "found the number {number}, needed a stack or an array [{rows}, {parameters}]: `models.set(np.asarray(models) + {number})` adds a \
                 number to each parameter"
            )));
        }
        let py = slf.py();
        let mut stack = slf.try_borrow()?.zeros_like(py)?;
        writes::rows(py, stack.stack_mut()?, other, "+")?;
        Bound::new(py, stack)
    }

    /// The sum of `slf` and `scale * other`.
    fn plus(slf: &Bound<'_, Self>, other: &Bound<'_, Self>, scale: f32) -> PyResult<Self> {
        let (py, of_slf, of_other) = (slf.py(), slf.try_borrow()?, other.try_borrow()?);
        let (stack, other) = (of_slf.stack()?, of_other.stack()?);
        let scales = vec![scale; stack.rows()];
        py.detach(|| {
            let mut sum = stack.duplicate();
            sum.add_scaled(other, &scales).map_err(engine)?;
            Ok(Self::of(sum))
        })
    }

    /// [`add`](Self::add) with one scale for all rows.
    fn add_all(slf: &Bound<'_, Self>, other: &Bound<'_, Self>, scale: f32) -> PyResult<()> {
        let scales = slf.try_borrow()?.ones(scale)?;
        Self::add(slf, other, &scales)
    }

    fn scaled(&self, py: Python<'_>, scales: &[f32]) -> PyResult<Self> {
        let stack = self.stack()?;
        py.detach(|| {
            let mut scaled = stack.duplicate();
            scaled.scale_rows(scales).map_err(engine)?;
            Ok(self.of_same_size(scaled))
        })
    }

    /// Multiplies the rows of `slf` by what `by` and `change` make.
    fn scale(
        slf: &Bound<'_, Self>,
        by: &Bound<'_, PyAny>,
        change: impl Fn(f32) -> f32,
    ) -> PyResult<()> {
        // Before the stack is lent: `by` may read it.
        let scales = scale::of_rows(by, slf.try_borrow()?.rows()?, change)?;
        let (py, mut changed) = (slf.py(), slf.try_borrow_mut()?);
        // What is zero stays zero: a message stays as large as it was.
        let stack = changed.stack.as_mut().ok_or_else(closed)?;
        py.detach(|| stack.scale_rows(&scales).map_err(engine))
    }
}

#[pymethods]
impl PyStack {
    fn __add__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::plus(slf, &Self::operand(slf, other)?, 1.0)
    }

    fn __radd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::plus(&Self::operand(slf, other)?, slf, 1.0)
    }

    fn __sub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::plus(slf, &Self::operand(slf, other)?, -1.0)
    }

    fn __rsub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::plus(&Self::operand(slf, other)?, slf, -1.0)
    }

    fn __iadd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::add_all(slf, &Self::operand(slf, other)?, 1.0)
    }

    fn __isub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::add_all(slf, &Self::operand(slf, other)?, -1.0)
    }

    /// NumPy leaves `array * stack` to the stack.
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn array_ufunc(py: Python<'_>) -> Py<PyAny> {
        py.None()
    }

    fn __mul__(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        let scales = scale::of_rows(by, self.rows()?, |scale| scale)?;
        self.scaled(py, &scales)
    }

    fn __rmul__(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__mul__(py, by)
    }

    fn __truediv__(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<Self> {
        let scales = scale::of_rows(by, self.rows()?, f32::recip)?;
        self.scaled(py, &scales)
    }

    fn __neg__(&self, py: Python<'_>) -> PyResult<Self> {
        self.scaled(py, &self.ones(-1.0)?)
    }

    fn __imul__(slf: &Bound<'_, Self>, by: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::scale(slf, by, |scale| scale)
    }

    fn __itruediv__(slf: &Bound<'_, Self>, by: &Bound<'_, PyAny>) -> PyResult<()> {
        Self::scale(slf, by, f32::recip)
    }
}
