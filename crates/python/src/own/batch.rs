//! Examples of rows, as methods in Python see them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use meshfold_data::{Examples, Partition};
use meshfold_engine::{Amount, ExampleSet, Learner, RowExamples, RowWork};
use numpy::ndarray::Dimension;
use numpy::{Element, PyArray, PyArray1, PyArray2, PyArray3, PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::stack::engine;
use super::uses::Uses;

#[doc = documented!("Batch")]
#[pyclass(name = "Batch", module = "meshfold", frozen)]
pub(crate) struct PyBatch {
    pub(super) examples: RowExamples,
    /// The client that each row works for; row `i` for client `i` if absent.
    pub(super) clients: Option<Vec<u32>>,
    /// What the judged positions are to be, a list `[B, T]` for each list of examples.
    targets: Vec<Vec<u16>>,
    /// The training, validation or test examples that these are of.
    of: Arc<Examples>,
    /// Judged positions of an example.
    pub(super) positions: usize,
    /// Outputs of each.
    pub(super) outputs: usize,
    /// Numbers of the representation of each, if the model has one.
    pub(super) representation: Option<usize>,
    round: usize,
    /// The places of each list's examples in arrays, if some stand behind a gap.
    places: Option<Vec<Vec<usize>>>,
    /// The examples that arrays have room for, `B`.
    pub(super) width: usize,
    /// Whether they are of the test set or of local test sets.
    are_tests: bool,
    /// The learning rate of each row with which gradients were first taken on it.
    rates: Mutex<Vec<Option<f32>>>,
}

impl PyBatch {
    /// The batch `examples` of round `round`, whose rows work for `clients`. Arrays have them at `places` of `width`, or, if that is not
    /// said, from the first place on.
    pub(super) fn new(
        examples: RowExamples,
        clients: Option<Vec<u32>>,
        places: Option<(Vec<Vec<usize>>, usize)>,
        learner: &Learner,
        round: usize,
    ) -> PyResult<Self> {
        let (splits, network) = (learner.splits(), learner.network());
        let targets = learner.targets(&examples).map_err(engine)?;
        let of = match examples.set() {
            ExampleSet::Train => &splits.train,
            ExampleSet::Validation => splits.validation.as_ref().unwrap_or(&splits.test),
            ExampleSet::Test => &splits.test,
        };
        let (places, width) = match places {
            Some((places, width)) => (Some(places), width),
            None => (
                None,
                examples.lists().iter().map(Vec::len).max().unwrap_or(0),
            ),
        };
        Ok(Self {
            targets,
            places,
            width,
            examples,
            clients,
            of: Arc::clone(of),
            positions: network.positions(),
            outputs: network.outputs(),
            representation: network.representation(),
            round,
            are_tests: false,
            rates: Mutex::default(),
        })
    }

    /// The same of test examples.
    pub(super) fn of_tests(self) -> Self {
        Self {
            are_tests: true,
            ..self
        }
    }

    /// Takes note of gradients of `rows` that their user has hardly meant: on test examples, or on training examples of other clients.
    pub(super) fn note_uses(&self, rows: &[RowWork], partition: &Partition, uses: &Uses) {
        if self.are_tests {
            return uses.tests.note();
        }
        let is_chosen = self.examples.rates().is_none();
        if !is_chosen || self.examples.set() != ExampleSet::Train || uses.foreign.is_noted() {
            return;
        }
        let nobody = u32::MAX;
        let owners = || partition.per_example(nobody, |client| client as u32);
        let owners = uses.owners.get_or_init(owners);
        let is_foreign = |(row, work): (usize, &RowWork)| {
            let of_another =
                |index: &u32| ![work.client, nobody].contains(&owners[*index as usize]);
            work.amount != Amount::Idle && self.examples.of_row(row).iter().any(of_another)
        };
        if rows.iter().enumerate().any(is_foreign) {
            uses.foreign.note();
        }
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

    /// The rows of `rows` on which gradients were taken before.
    pub(super) fn counted(&self, rows: usize) -> Vec<bool> {
        let known = self.known();
        (0..rows)
            .map(|row| known.get(row).is_some_and(Option::is_some))
            .collect()
    }

    /// The learning rates of rows whose next step has the rates `next`: those of the first gradients on the batch, or those that it was drawn
    /// with.
    pub(super) fn rates(&self, next: Vec<f32>) -> Vec<f32> {
        let (known, drawn) = (self.known(), self.examples.rates());
        let rate = |(row, next): (usize, f32)| {
            let first = known.get(row).copied().flatten();
            let drawn = || drawn.as_ref().map(|drawn| drawn[row]);
            first.or_else(drawn).unwrap_or(next)
        };
        next.into_iter().enumerate().map(rate).collect()
    }

    /// Takes note of gradients with `rates`, `[R]`, that have counted for the rows that made `steps`.
    pub(super) fn count(&self, rates: &[f32], steps: &[u32]) {
        let mut known = self.known();
        let rows = known.len().max(rates.len());
        known.resize(rows, None);
        for ((known, rate), _) in known
            .iter_mut()
            .zip(rates)
            .zip(steps)
            .filter(|(_, steps)| **steps > 0)
        {
            known.get_or_insert(*rate);
        }
    }

    fn known(&self) -> MutexGuard<'_, Vec<Option<f32>>> {
        self.rates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One array `[R, B, ..]` of the lists `of`, which have `each` numbers for each example; `nothing` stands where there is none.
    fn padded<T: Copy>(&self, of: &[Vec<T>], each: usize, nothing: T) -> Vec<T> {
        let mut all = vec![nothing; of.len() * self.width * each];
        for (row, list) in of.iter().enumerate() {
            for (example, numbers) in list.chunks_exact(each.max(1)).enumerate() {
                let at = (row * self.width + self.place(row, example)) * each;
                all[at..at + each].copy_from_slice(numbers);
            }
        }
        all
    }

    /// The place of example `example` of row `row` in arrays.
    pub(super) fn place(&self, row: usize, example: usize) -> usize {
        match &self.places {
            None => example,
            // One list is for all rows.
            Some(places) => places[row.min(places.len() - 1)][example],
        }
    }

    /// The shape of `each` numbers for the judged positions of `rows` rows, `[R, B, each]` or `[R, B, T, each]`.
    pub(super) fn shape(&self, rows: usize, each: usize) -> Vec<usize> {
        match self.positions {
            1 => vec![rows, self.width, each],
            positions => vec![rows, self.width, positions, each],
        }
    }

    /// One array `[R, B]` of a number for each example of each row.
    pub(super) fn of_examples<'py>(
        &self,
        py: Python<'py>,
        rows: &[Vec<f32>],
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let all = self.padded(rows, 1, 0.0);
        PyArray1::from_vec(py, all).reshape(vec![rows.len(), self.width])
    }

    /// One array of `each` numbers for the judged positions of each row, `[B, T, each]`.
    pub(super) fn of_positions<'py>(
        &self,
        py: Python<'py>,
        rows: &[Vec<f32>],
        each: usize,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let all = self.padded(rows, self.positions * each, 0.0);
        PyArray1::from_vec(py, all).reshape(self.shape(rows.len(), each))
    }
}

/// `array`, which nobody is to write to: it is no part of a batch.
fn read_only<'py, T: Element, D: Dimension>(
    array: Bound<'py, PyArray<T, D>>,
) -> Bound<'py, PyArray<T, D>> {
    array.readwrite().make_nonwriteable();
    array
}

#[pymethods]
impl PyBatch {
    #[doc = documented!("Batch.learning_rates")]
    #[getter]
    fn learning_rates<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f32>>> {
        let rates = self.examples.rates()?;
        Some(PyArray1::from_vec(py, rates))
    }

    #[doc = documented!("Batch.indices")]
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let example = |index: &u32| self.of.example_of(*index as usize) as i64;
        let lists = self.examples.lists().iter();
        let lists: Vec<Vec<i64>> = lists
            .map(|list| list.iter().map(example).collect())
            .collect();
        let all = PyArray1::from_vec(py, self.padded(&lists, 1, -1));
        all.reshape([lists.len(), self.width]).map(read_only)
    }

    #[doc = documented!("Batch.features")]
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let (lists, each) = (self.examples.lists(), self.of.width());
        let mut all = vec![0.0; lists.len() * self.width * each];
        for (row, list) in lists.iter().enumerate() {
            for (example, index) in list.iter().enumerate() {
                let at = (row * self.width + self.place(row, example)) * each;
                self.of.read(*index as usize, &mut all[at..at + each]);
            }
        }
        let all = PyArray1::from_vec(py, all);
        all.reshape([lists.len(), self.width, each]).map(read_only)
    }

    #[doc = documented!("Batch.labels")]
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<i64>>> {
        let lists = self.targets.iter();
        let labels = |list: &Vec<u16>| list.iter().map(|label| i64::from(*label)).collect();
        let lists: Vec<Vec<i64>> = lists.map(labels).collect();
        let mut shape = self.shape(lists.len(), 1);
        shape.pop();
        let all = PyArray1::from_vec(py, self.padded(&lists, self.positions, -1));
        all.reshape(shape).map(read_only)
    }

    #[doc = documented!("Batch.sizes")]
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let lists = self.examples.lists().iter();
        read_only(PyArray1::from_iter(py, lists.map(|list| list.len() as i64)))
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
            self.width,
            self.on()
        )
    }
}
