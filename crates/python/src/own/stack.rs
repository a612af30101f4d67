//! Stacks: the models of all clients, and whatever else has a row for each.

use meshfold_engine::{EngineError, Stack};
use numpy::{PyArray1, PyArrayDyn};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::round::in_progress;
use super::row_edges::{self, RowEdges};
use super::{mixing, number_lists, scale, views, writes};

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

    /// Adds `scales[i] * other_i` to each row of `slf`, which `other` may be itself.
    fn add(slf: &Bound<'_, Self>, other: &Bound<'_, Self>, scales: &[f32]) -> PyResult<()> {
        let other = beside(other, &[slf])?;
        let (other, mut changed) = (other.stack()?, slf.try_borrow_mut()?);
        let stack = changed.stack_mut()?;
        let py = slf.py();
        py.detach(|| stack.add_scaled(other, scales).map_err(engine))
    }

    /// [`add`](Self::add) with one scale for all rows.
    fn add_all(slf: &Bound<'_, Self>, other: &Bound<'_, Self>, scale: f32) -> PyResult<()> {
        let scales = slf.try_borrow()?.ones(scale)?;
        Self::add(slf, other, &scales)
    }

    /// Overwrites row `rows[i]` with row `i` of `source`, which may be the stack itself.
    fn overwrite(slf: &Bound<'_, Self>, rows: &[u32], source: &Bound<'_, Self>) -> PyResult<()> {
        let source = beside(source, &[slf])?;
        let (source, mut changed) = (source.stack()?, slf.try_borrow_mut()?);
        let stack = changed.stack_mut()?;
        let py = slf.py();
        py.detach(|| stack.scatter(rows, source).map_err(engine))
    }

    fn scaled(&self, py: Python<'_>, scales: &[f32]) -> PyResult<Self> {
        let stack = self.stack()?;
        py.detach(|| {
            let mut scaled = stack.duplicate();
            scaled.scale_rows(scales).map_err(engine)?;
            Ok(self.of_same_size(scaled))
        })
    }

    /// A stack with as many parameters in a message of a row as this one.
    fn of_same_size(&self, stack: Stack) -> Self {
        Self {
            stack: Some(stack),
            message_bytes: self.message_bytes,
        }
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

    fn rows(&self) -> PyResult<usize> {
        Ok(self.stack()?.rows())
    }

    /// The stack, and the `edges` that `verb` was given, from its rows to `rows` new ones; to as many if absent.
    fn with_edges(
        &self,
        verb: &str,
        edges: &Bound<'_, PyAny>,
        rows: Option<usize>,
    ) -> PyResult<(&Stack, RowEdges)> {
        let stack = self.stack()?;
        let edges = RowEdges::read(verb, edges, stack.rows(), rows.unwrap_or(stack.rows()))?;
        Ok((stack, edges))
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

    fn __getitem__(&self, _rows: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a stack has no items: models.gather([0, 1]) is a stack of some of its rows, and models.numpy() an array of all",
        ))
    }

    fn __rmatmul__(&self, _matrix: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "no product of a matrix and a stack: models.mix(matrix) mixes in place, and models.copy() keeps what was before",
        ))
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
    fn mix<'py>(slf: Bound<'py, Self>, mixing: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let weights = mixing::read(mixing, slf.try_borrow()?.rows()?)?;
        let (py, mut changed) = (slf.py(), slf.try_borrow_mut()?);
        let stack = changed.stack_mut()?;
        py.detach(|| stack.mix(&weights).map_err(engine))?;
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

    #[doc = documented!("Stack.weighted_sums")]
    #[pyo3(signature = (edges, weights, rows=None))]
    fn weighted_sums(
        &self,
        py: Python<'_>,
        edges: &Bound<'_, PyAny>,
        weights: &Bound<'_, PyAny>,
        rows: Option<usize>,
    ) -> PyResult<Self> {
        let (stack, edges) = self.with_edges("weighted_sums", edges, rows)?;
        let weights = row_edges::weights(weights, "weighted_sums: `weights`", edges.count)?;
        let sums = py.detach(|| stack.weighted_sums(&edges.lists, &weights));
        sums.map(Self::of).map_err(engine)
    }

    #[doc = documented!("Stack.trimmed_means")]
    #[pyo3(signature = (edges, trim, rows=None))]
    fn trimmed_means(
        &self,
        py: Python<'_>,
        edges: &Bound<'_, PyAny>,
        trim: &Bound<'_, PyAny>,
        rows: Option<usize>,
    ) -> PyResult<Self> {
        let (stack, edges) = self.with_edges("trimmed_means", edges, rows)?;
        let (name, count) = ("trimmed_means: `trim`", edges.lists.len());
        let trims = number_lists::one_or_each(trim, name, count, "row")?;
        let trims: Result<Vec<u32>, _> = trims.into_iter().map(u32::try_from).collect();
        let trims = trims.map_err(|_| {
            PyValueError::new_err(format!("{name} has a number below 0 or above {}", u32::MAX))
        })?;
        let means = py.detach(|| stack.trimmed_means(&edges.lists, &trims));
        means.map(Self::of).map_err(engine)
    }

    #[doc = documented!("Stack.medians")]
    #[pyo3(signature = (edges, rows=None))]
    fn medians(
        &self,
        py: Python<'_>,
        edges: &Bound<'_, PyAny>,
        rows: Option<usize>,
    ) -> PyResult<Self> {
        let (stack, edges) = self.with_edges("medians", edges, rows)?;
        let medians = py.detach(|| stack.medians(&edges.lists));
        medians.map(Self::of).map_err(engine)
    }

    #[doc = documented!("Stack.deviations")]
    #[pyo3(signature = (edges, rows=None))]
    fn deviations(
        &self,
        py: Python<'_>,
        edges: &Bound<'_, PyAny>,
        rows: Option<usize>,
    ) -> PyResult<Self> {
        let (stack, edges) = self.with_edges("deviations", edges, rows)?;
        let deviations = py.detach(|| stack.deviations(&edges.lists));
        deviations.map(Self::of).map_err(engine)
    }

    #[doc = documented!("Stack.distances")]
    #[pyo3(signature = (pairs, other=None))]
    fn distances<'py>(
        &self,
        py: Python<'py>,
        pairs: &Bound<'py, PyAny>,
        other: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let stack = self.stack()?;
        let other = other.map(|other| Self::argument(other, "distances: `other`"));
        let other = other.transpose()?.map(Bound::try_borrow).transpose()?;
        let other = other.as_deref().unwrap_or(self).stack()?;
        let counts = (stack.rows(), other.rows());
        let pairs = row_edges::pairs(pairs, "distances: `pairs`", counts)?;
        let squares = py.detach(|| stack.squared_pair_distances(other, &pairs));
        let distances = squares.map_err(engine)?.into_iter().map(f64::sqrt);
        Ok(PyArray1::from_iter(py, distances))
    }

    #[doc = documented!("Stack.norms")]
    fn norms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let stack = self.stack()?;
        let norms = py.detach(|| stack.squared_row_norms());
        Ok(PyArray1::from_iter(py, norms.into_iter().map(f64::sqrt)))
    }

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
