//! Examples of rows, as methods in Python see them.

use std::iter::repeat_n;
use std::sync::atomic::{AtomicBool, Ordering};

use meshfold_engine::{ExampleSet, Learner, RowExamples};
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::stack::engine;

#[doc = documented!("Batch")]
#[pyclass(name = "Batch", module = "meshfold", frozen)]
pub(crate) struct PyBatch {
    pub(super) examples: RowExamples,
    /// The client that each row works for; row `i` for client `i` if absent.
    pub(super) clients: Option<Vec<u32>>,
    /// What the judged positions are to be, a list `[B, T]` for each list of examples.
    targets: Vec<Vec<u16>>,
    /// Training, validation or test examples.
    count: usize,
    /// Judged positions of an example, and outputs of each.
    outputs: [usize; 2],
    round: usize,
    /// Whether gradients were taken on it.
    used: AtomicBool,
}

impl PyBatch {
    /// The batch `examples` of round `round`, whose rows work for `clients`.
    pub(super) fn new(
        examples: RowExamples,
        clients: Option<Vec<u32>>,
        learner: &Learner,
        round: usize,
    ) -> PyResult<Self> {
        let (splits, network) = (learner.splits(), learner.network());
        let of = match examples.set() {
            ExampleSet::Train => Some(&splits.train),
            ExampleSet::Validation => splits.validation.as_ref(),
            ExampleSet::Test => Some(&splits.test),
        };
        Ok(Self {
            targets: learner.targets(&examples).map_err(engine)?,
            examples,
            clients,
            count: of.map_or(0, |examples| examples.len()),
            outputs: [network.positions(), network.outputs()],
            round,
            used: AtomicBool::new(false),
        })
    }

    /// `given` as a batch of round `round`; errors name `verb`.
    pub(super) fn argument<'a, 'py>(
        given: &'a Bound<'py, PyAny>,
        verb: &str,
        round: usize,
    ) -> PyResult<&'a Bound<'py, Self>> {
        let Ok(batch) = given.cast::<Self>() else {
            return Err(PyTypeError::new_err(format!(
                "{verb}: `batch` is of type {}, needed a `meshfold.Batch`, made by `round.batch()` or `round.examples(...)`",
                given.get_type().name()?
            )));
        };
        let found = batch.get().round;
        if found != round {
            return Err(PyRuntimeError::new_err(format!(
                "{verb}: the batch is of round {found}: make one in each round"
            )));
        }
        Ok(batch)
    }

    /// Whether it is for `rows` rows; errors name `verb`.
    pub(super) fn expect_rows(&self, verb: &str, rows: usize) -> PyResult<()> {
        match self.examples.rows() {
            Some(found) if found != rows => Err(PyValueError::new_err(format!(
                "{verb}: the batch is for {found} rows, and the stack has {rows}"
            ))),
            _ => Ok(()),
        }
    }

    /// Takes note of gradients on it; returns whether there were any before.
    pub(super) fn is_used_again(&self) -> bool {
        self.used.swap(true, Ordering::Relaxed)
    }

    /// The examples of the row that has most, `B`.
    fn longest(&self) -> usize {
        let lists = self.examples.lists().iter();
        lists.map(Vec::len).max().unwrap_or(0)
    }

    /// The shape of outputs of `rows` rows, `[R, B, C]` or `[R, B, T, C]`.
    fn shape(&self, rows: usize) -> Vec<usize> {
        match self.outputs {
            [1, outputs] => vec![rows, self.longest(), outputs],
            [positions, outputs] => vec![rows, self.longest(), positions, outputs],
        }
    }

    /// The outputs `[B, T, C]` of each row in one array.
    pub(super) fn outputs<'py>(
        &self,
        py: Python<'py>,
        rows: &[Vec<f32>],
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let shape = self.shape(rows.len());
        let each: usize = shape[1..].iter().product();
        let padded = rows.iter().flat_map(|row| {
            let padding = repeat_n(0.0, each - row.len());
            row.iter().copied().chain(padding)
        });
        PyArray1::from_vec(py, padded.collect()).reshape(shape)
    }

    /// The `slopes` of `rows` rows, `[B, T, C]` each, without those where a row has no example.
    pub(super) fn slopes(&self, slopes: &Bound<'_, PyAny>, rows: usize) -> PyResult<Vec<Vec<f32>>> {
        let arrays = slopes.py().import("meshfold._arrays")?;
        let shape = self.shape(rows);
        let each: usize = shape[1..].iter().product();
        let shape = pyo3::types::PyTuple::new(slopes.py(), shape)?;
        let checked = arrays.call_method1("floats", (slopes, "gradients: `slopes`", shape))?;
        let checked: PyReadonlyArrayDyn<'_, f32> = checked.extract()?;
        let (all, [positions, outputs]) = (checked.as_slice()?, self.outputs);
        let row = |row: usize| {
            let own = self.examples.of_row(row).len() * positions * outputs;
            all[row * each..][..own].to_vec()
        };
        Ok((0..rows).map(row).collect())
    }
}

#[pymethods]
impl PyBatch {
    #[doc = documented!("Batch.indices")]
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let (lists, longest) = (self.examples.lists(), self.longest());
        let padded = lists.iter().flat_map(|list| {
            let indices = list
                .iter()
                .map(|index| (*index as usize % self.count) as i64);
            indices.chain(repeat_n(-1, longest - list.len()))
        });
        PyArray1::from_vec(py, padded.collect()).reshape([lists.len(), longest])
    }

    #[doc = documented!("Batch.labels")]
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<i64>>> {
        let [positions, _] = self.outputs;
        let each = self.longest() * positions;
        let padded = self.targets.iter().flat_map(|row| {
            let labels = row.iter().map(|label| i64::from(*label));
            labels.chain(repeat_n(-1, each - row.len()))
        });
        let mut shape = self.shape(self.targets.len());
        shape.pop();
        PyArray1::from_vec(py, padded.collect()).reshape(shape)
    }

    #[doc = documented!("Batch.sizes")]
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let lists = self.examples.lists().iter();
        PyArray1::from_iter(py, lists.map(|list| list.len() as i64))
    }

    #[doc = documented!("Batch.on")]
    #[getter]
    fn on(&self) -> &'static str {
        match self.examples.set() {
            ExampleSet::Train => "train",
            ExampleSet::Validation => "validation",
            ExampleSet::Test => "test",
        }
    }

    fn __repr__(&self) -> String {
        let rows = match self.examples.rows() {
            Some(rows) => format!("{rows} rows"),
            None => "all rows".to_owned(),
        };
        format!(
            "Batch({rows} of up to {} {} examples)",
            self.longest(),
            self.on()
        )
    }
}
