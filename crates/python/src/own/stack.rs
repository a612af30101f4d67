//! Stacks: the models of all clients, and whatever else has a row for each.

mod arithmetic;
mod arrays;
mod neighbours;

use std::sync::Arc;

use meshfold_engine::{EngineError, Stack};
use numpy::PyArray1;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::round::in_progress;
use super::{layers, mixing, number_lists, scale, writes};

#[doc = documented!("Stack")]
#[pyclass(name = "Stack", module = "meshfold")]
pub(crate) struct PyStack {
    /// None once the round is over that it belongs to.
    stack: Option<Stack>,
    /// Bytes of a row in a message, if they are not those of a whole model.
    message_bytes: Option<u64>,
}

/// What the engine refuses, as an exception.
pub(super) fn engine(error: EngineError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

impl PyStack {
    /// A stack that Python has.
    pub(crate) fn of(stack: Stack) -> Self {
        Self {
            stack: Some(stack),
            message_bytes: None,
        }
    }

    /// One that is filled later.
    pub(super) fn closed() -> Self {
        Self {
            stack: None,
            message_bytes: None,
        }
    }

    pub(super) fn stack(&self) -> PyResult<&Stack> {
        self.stack.as_ref().ok_or_else(closed)
    }

    /// The stack, to be changed in a way after which any parameter may be other than zero.
    pub(super) fn stack_mut(&mut self) -> PyResult<&mut Stack> {
        self.message_bytes = None;
        self.stack.as_mut().ok_or_else(closed)
    }

    /// Takes the stack out.
    pub(super) fn empty(&mut self) -> Option<Stack> {
        self.stack.take()
    }

    /// Puts a stack in.
    pub(super) fn fill(&mut self, stack: Option<Stack>) {
        self.stack = stack;
    }

    /// Bytes of a row in a message, if they are not those of a whole model.
    pub(super) fn message_bytes(&self) -> Option<u64> {
        self.message_bytes
    }

    /// Takes on the bytes of a row in a message.
    pub(super) fn set_message_bytes(&mut self, bytes: Option<u64>) {
        self.message_bytes = bytes;
    }

    /// The stack that a call was `given` as its argument `name`, such as `` train: `correction` ``.
    pub(super) fn argument<'a, 'py>(
        given: &'a Bound<'py, PyAny>,
        name: &str,
    ) -> PyResult<&'a Bound<'py, Self>> {
        given.cast::<Self>().map_err(|_| {
            let of_array = match is_array(given) {
                true => {
                    ": `stack = models.zeros_like()` and `stack.set(array)` make one of an array"
                }
                false => "",
            };
            PyTypeError::new_err(format!(
                "{name} is {}, needed a stack, such as `models.copy()`{of_array}",
                found(given)
            ))
        })
    }

    /// Adds `scales[i] * other_i` to each row of `slf`, which `other` may be itself.
    fn add(slf: &Bound<'_, Self>, other: &Bound<'_, Self>, scales: &[f32]) -> PyResult<()> {
        let other = beside(other, &[slf])?;
        let (other, mut changed) = (other.stack()?, slf.try_borrow_mut()?);
        let stack = changed.stack_mut()?;
        let py = slf.py();
        py.detach(|| stack.add_scaled(other, scales).map_err(engine))
    }

    /// Overwrites row `rows[i]` with row `i` of `source`, which may be the stack itself.
    fn overwrite(slf: &Bound<'_, Self>, rows: &[u32], source: &Bound<'_, Self>) -> PyResult<()> {
        let source = beside(source, &[slf])?;
        let (source, mut changed) = (source.stack()?, slf.try_borrow_mut()?);
        let stack = changed.stack_mut()?;
        let py = slf.py();
        py.detach(|| stack.scatter(rows, source).map_err(engine))
    }

    /// A stack with as many parameters in a message of a row as this one.
    fn of_same_size(&self, stack: Stack) -> Self {
        Self {
            stack: Some(stack),
            message_bytes: self.message_bytes,
        }
    }

    fn rows(&self) -> PyResult<usize> {
        Ok(self.stack()?.rows())
    }

    fn ones(&self, value: f32) -> PyResult<Vec<f32>> {
        Ok(vec![value; self.stack()?.rows()])
    }
}

/// `stack` to be read while the stacks of `changed` are changed: a copy of it if it is one of these.
pub(super) fn beside<'py>(
    stack: &Bound<'py, PyStack>,
    changed: &[&Bound<'py, PyStack>],
) -> PyResult<PyRef<'py, PyStack>> {
    let found = stack.try_borrow()?;
    if !changed.iter().any(|changed| stack.is(*changed)) {
        return Ok(found);
    }
    let (py, stack) = (stack.py(), found.stack()?);
    let copy = PyStack::of(py.detach(|| stack.duplicate()));
    Ok(Bound::new(py, copy)?.try_borrow()?)
}

/// Whether `given` is an array of whatever library, or a list.
fn is_array(given: &Bound<'_, PyAny>) -> bool {
    given.hasattr("shape").unwrap_or(false) || given.is_instance_of::<PyList>()
}

/// What `given` is, in words.
pub(super) fn found(given: &Bound<'_, PyAny>) -> String {
    let shape = given.getattr("shape");
    match shape.and_then(|shape| shape.extract::<Vec<usize>>()) {
        Ok(shape) => format!("an array of shape {shape:?}"),
        Err(_) => match given.get_type().name() {
            Ok(name) => format!("of type {name}"),
            Err(_) => "something else".to_owned(),
        },
    }
}

fn closed() -> PyErr {
    PyRuntimeError::new_err(
        "this stack belongs to a round that is over: what outlasts a round is an attribute of the method that is a stack of its own, such as \
         `models.copy()`, and not `models` itself",
    )
}

#[pymethods]
impl PyStack {
    #[doc = documented!("Stack.shape")]
    #[getter]
    fn shape(&self) -> PyResult<(usize, usize)> {
        let stack = self.stack()?;
        Ok((stack.rows(), stack.layout().parameters()))
    }

    #[doc = documented!("Stack.zeros_like")]
    fn zeros_like(&self, py: Python<'_>) -> PyResult<Self> {
        let stack = self.stack()?;
        py.detach(|| {
            let zeros = Stack::zeros(stack.device(), stack.layout(), stack.rows());
            Ok(Self::of(zeros))
        })
    }

    #[doc = documented!("Stack.copy")]
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let stack = self.stack()?;
        Ok(self.of_same_size(py.detach(|| stack.duplicate())))
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.stack()?.rows())
    }

    fn __getitem__(&self, _rows: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a stack has no items: models.gather([0, 1]) is a stack of some of its rows, and models.numpy() an array of all",
        ))
    }

    fn __pow__(&self, _power: &Bound<'_, PyAny>, _modulo: Option<i32>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a stack has no powers and divides no number: `models.set(np.asarray(models) ** 2)` computes with an array",
        ))
    }

    fn __rtruediv__(&self, _by: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a stack has no powers and divides no number: `models.set(np.asarray(models) ** 2)` computes with an array",
        ))
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Stack cannot be pickled: `models.numpy()` is an array that can, and `models.copy()` another stack",
        ))
    }

    fn __rmatmul__(&self, _matrix: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "no product of a matrix and a stack: models.mix(matrix) mixes in place, and models.copy() keeps what was before",
        ))
    }

    #[doc = documented!("Stack.add_scaled")]
    #[pyo3(signature = (other, scale=None), text_signature = "($self, other, scale=1.0)")]
    fn add_scaled<'py>(
        slf: Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        scale: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        let other = Self::argument(other, "add_scaled: `other`")?;
        let scales = match scale {
            Some(scale) => scale::of_rows(scale, slf.try_borrow()?.rows()?, |scale| scale)?,
            None => slf.try_borrow()?.ones(1.0)?,
        };
        Self::add(&slf, other, &scales)?;
        Ok(slf)
    }

    #[doc = documented!("Stack.mix")]
    #[pyo3(signature = (mixing, *, layers=None))]
    fn mix<'py>(
        slf: Bound<'py, Self>,
        mixing: &Bound<'py, PyAny>,
        layers: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, Self>> {
        let weights = mixing::read(mixing, slf.try_borrow()?.rows()?)?;
        let (py, mut changed) = (slf.py(), slf.try_borrow_mut()?);
        let stack = changed.stack_mut()?;
        let layout = Arc::clone(stack.layout());
        let spared = match layers {
            Some(names) => layers::parted(names, &layout, "mix")?.1,
            None => Vec::new(),
        };
        py.detach(|| writes::sparing(stack, &spared, |stack| stack.mix(&weights).map_err(engine)))?;
        drop(changed);
        in_progress(|lent| {
            let overlay = lent.round.overlay;
            if overlay.is_some_and(|overlay| overlay.edge_count() > 0) {
                lent.uses.mixed.note();
            }
        });
        Ok(slf)
    }

    #[doc = documented!("Stack.top_k")]
    fn top_k(mut slf: PyRefMut<'_, Self>, share: f64) -> PyResult<PyRefMut<'_, Self>> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(PyValueError::new_err(format!(
                "top_k: found a share of {share}, needed one above 0 and at most 1"
            )));
        }
        let (py, stack) = (slf.py(), slf.stack_mut()?);
        // 0.29 · 100 is a little less than 29 in binary numbers.
        let exact = share * stack.layout().parameters() as f64 * (1.0 + 1e-12);
        let count = (exact as usize).max(1);
        py.detach(|| stack.keep_largest(count));
        slf.message_bytes = Some(8 * count as u64);
        Ok(slf)
    }

    #[doc = documented!("Stack.clip")]
    fn clip(mut slf: PyRefMut<'_, Self>, radius: f32) -> PyResult<PyRefMut<'_, Self>> {
        if !(radius > 0.0 && radius.is_finite()) {
            return Err(PyValueError::new_err(format!(
                "clip: found a radius of {radius}, needed a finite one above 0"
            )));
        }
        // What is zero stays zero: a message stays as large as it was.
        let (py, stack) = (slf.py(), slf.stack.as_mut().ok_or_else(closed)?);
        py.detach(|| stack.project(radius));
        Ok(slf)
    }

    #[doc = documented!("Stack.gather")]
    fn gather(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<Self> {
        let stack = self.stack()?;
        let rows = number_lists::rows(rows, "gather: `rows`")?;
        let gathered = py.detach(|| stack.gather(&rows).map_err(engine))?;
        Ok(self.of_same_size(gathered))
    }

    #[doc = documented!("Stack.scatter")]
    fn scatter<'py>(
        slf: &Bound<'py, Self>,
        rows: &Bound<'py, PyAny>,
        source: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let source = Self::argument(source, "scatter: `source`")?;
        let rows = number_lists::rows(rows, "scatter: `rows`")?;
        let count = source.try_borrow()?.stack()?.rows();
        if rows.len() != count {
            return Err(PyValueError::new_err(format!(
                "scatter: `rows` names {} rows, needed one for each of the {count} rows of `source`",
                rows.len()
            )));
        }
        Self::overwrite(slf, &rows, source)
    }

    #[doc = documented!("Stack.mean")]
    #[pyo3(signature = (weights=None))]
    fn mean(&self, py: Python<'_>, weights: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let stack = self.stack()?;
        let Some(weights) = weights else {
            return Ok(py.detach(|| Self::of(stack.mean_row(&vec![true; stack.rows()]))));
        };
        let weights = mixing::of_one_row(weights, stack.rows())?;
        py.detach(|| {
            let mut mean = stack.duplicate();
            mean.mix(&weights).map_err(engine)?;
            Ok(Self::of(mean))
        })
    }

    #[doc = documented!("Stack.norms")]
    fn norms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let stack = self.stack()?;
        let norms = py.detach(|| stack.squared_row_norms());
        Ok(PyArray1::from_iter(py, norms.into_iter().map(f64::sqrt)))
    }

    fn __repr__(&self) -> String {
        match &self.stack {
            Some(stack) => format!(
                "Stack({} rows of {} parameters)",
                stack.rows(),
                stack.layout().parameters()
            ),
            None => "Stack(of a round that is over)".to_owned(),
        }
    }
}
