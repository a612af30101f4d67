//! Examples, what models make of them, gradients and scores.

use meshfold_algorithms::velocity::{DecayedGradients, decayed_gradients, decayed_gradients_on};
use meshfold_engine::{
    Amount, EngineError, ExampleSet, GradientsOn, Learner, RowExamples, RowWork, Split, Stack,
};
use numpy::{PyArray1, PyArrayDyn, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use super::super::batch::PyBatch;
use super::super::number_lists;
use super::super::row_work::RowRequest;
use super::super::slopes::Slopes;
use super::super::stack::{PyStack, engine};
use super::{Lent, PyRound};

/// Numbers of each row, or why there are none.
type Lists = Result<Vec<Vec<f32>>, EngineError>;

/// An array of Python's, or why there is none.
type Array<'py> = PyResult<Bound<'py, PyArrayDyn<f32>>>;

/// Losses and accuracies, `[R]` each.
type Scores<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// What a call of `round.examples` names by `on`.
#[derive(Clone, Copy, PartialEq)]
enum On {
    Of(ExampleSet),
    LocalTests,
}

impl On {
    fn read(on: &str) -> PyResult<Self> {
        match on {
            "train" => Ok(Self::Of(ExampleSet::Train)),
            "validation" => Ok(Self::Of(ExampleSet::Validation)),
            "test" => Ok(Self::Of(ExampleSet::Test)),
            "local_test" => Ok(Self::LocalTests),
            _ => Err(PyValueError::new_err(format!(
                "examples: `on` is `{on}`, needed `train`, `local_test`, `validation` or `test`"
            ))),
        }
    }

    /// How many examples there are to choose from.
    fn count(self, lent: &Lent<'_>) -> PyResult<usize> {
        let splits = lent.round.learner.splits();
        match self {
            Self::Of(ExampleSet::Train) | Self::LocalTests => Ok(splits.train.len()),
            Self::Of(ExampleSet::Test) => Ok(splits.test.len()),
            Self::Of(ExampleSet::Validation) => match &splits.validation {
                Some(validation) => Ok(validation.len()),
                None => Err(PyValueError::new_err(
                    "examples: there are no validation examples: keep some apart by `validation` in the dataset, such as \
                     `dataset: {mnist: {validation: 1000}}`",
                )),
            },
        }
    }
}

/// Lists of examples as a call of Python's gives them.
struct Chosen {
    /// Whether there is one list for all rows.
    is_one: bool,
    lists: Vec<Vec<u32>>,
    /// Where they stand in arrays, and what these have room for, if some of an array are left out.
    places: Option<(Vec<Vec<usize>>, usize)>,
}

/// The `indices` of `count` examples.
fn chosen(indices: &Bound<'_, PyAny>, count: usize) -> PyResult<Chosen> {
    let arrays = indices.py().import("meshfold._arrays")?;
    let read = arrays.call_method1("index_lists", (indices, "examples: `indices`", count))?;
    type Read<'py> = (bool, Vec<PyReadonlyArray1<'py, i64>>);
    let (is_one, rows): Read<'_> = read.extract()?;
    let rows = rows.iter().map(|row| Ok(row.as_slice()?.to_vec()));
    let rows = rows.collect::<PyResult<Vec<Vec<i64>>>>()?;
    let there =
        |row: &Vec<i64>| -> Vec<usize> { (0..row.len()).filter(|at| row[*at] >= 0).collect() };
    let places: Vec<Vec<usize>> = rows.iter().map(there).collect();
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let of_places =
        |(row, places): (&Vec<i64>, &Vec<usize>)| places.iter().map(|at| row[*at] as u32).collect();
    let lists = rows.iter().zip(&places).map(of_places).collect();
    let has_gaps = rows
        .iter()
        .zip(&places)
        .any(|(row, places)| row.len() != places.len());
    Ok(Chosen {
        is_one,
        lists,
        places: has_gaps.then_some((places, width)),
    })
}

impl PyRound {
    /// The batch that `verb` was given, if it was, for `rows` rows.
    pub(super) fn batch_of<'a>(
        &self,
        verb: &str,
        rows: usize,
        batch: Option<&'a Bound<'_, PyAny>>,
    ) -> PyResult<Option<&'a PyBatch>> {
        let Some(batch) = batch else {
            return Ok(None);
        };
        let batch = PyBatch::argument(batch, verb, self.number)?.get();
        batch.expect_rows(verb, rows)?;
        Ok(Some(batch))
    }

    /// What `of` makes of `batch` and `models`, for `verb`, in one `array`.
    fn look<'py>(
        &self,
        py: Python<'py>,
        verb: &str,
        models: &Bound<'py, PyAny>,
        batch: &Bound<'py, PyAny>,
        of: fn(&Learner, &Stack, &RowExamples) -> Lists,
        array: impl FnOnce(&PyBatch, Python<'py>, &[Vec<f32>]) -> Array<'py>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let models = PyStack::argument(models, &format!("{verb}: `models`"))?;
        let is_side = self.is_side(models);
        let models = models.try_borrow()?;
        let models = models.stack()?;
        let batch = PyBatch::argument(batch, verb, self.number)?.get();
        batch.expect_rows(verb, models.rows())?;
        if is_side && self.has_links {
            self.uses.other_outputs.note();
        }
        let found = self.with(py, |lent| {
            of(lent.round.learner, models, &batch.examples).map_err(engine)
        })?;
        array(batch, py, &found)
    }

    /// What `verb` asks of `rows` rows, whose clients `batch` or `clients` name.
    pub(super) fn request(
        &self,
        verb: &str,
        rows: usize,
        batch: Option<&PyBatch>,
        clients: Option<&Bound<'_, PyAny>>,
        steps: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<RowRequest> {
        let of_batch = batch.and_then(|batch| batch.clients.clone());
        match (of_batch, clients) {
            (Some(_), Some(_)) => Err(PyValueError::new_err(format!(
                "{verb}: found `clients` with a batch that says whose rows these are, needed one of them"
            ))),
            (Some(clients), None) => Ok(RowRequest::of_clients(Some(clients))),
            (None, clients) => RowRequest::read(verb, rows, self.setting.clients, clients, steps),
        }
    }
}

#[pymethods]
impl PyRound {
    #[doc = documented!("Round.batch")]
    #[pyo3(signature = (*, rows=None, clients=None))]
    fn batch(
        &self,
        py: Python<'_>,
        rows: Option<&Bound<'_, PyAny>>,
        clients: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyBatch> {
        let all = self.setting.clients;
        let clients =
            clients.map(|clients| number_lists::clients(clients, "batch: `clients`", all));
        let clients = clients.transpose()?;
        let count = clients.as_ref().map_or(all, Vec::len);
        let request = RowRequest::of_clients(clients.clone()).only("batch", count, rows)?;
        self.with(py, move |mut lent| {
            let rows = request.rows(&mut lent.round, lent.training);
            let work = lent.round.work(&rows, lent.training);
            let learner = &mut lent.round.learner;
            let examples = learner.next_batches(&work).map_err(engine)?;
            PyBatch::new(examples, clients, None, learner, lent.round.number)
        })
    }

    #[doc = documented!("Round.examples")]
    #[pyo3(signature = (indices=None, *, on="train", clients=None))]
    fn examples(
        &self,
        py: Python<'_>,
        indices: Option<&Bound<'_, PyAny>>,
        on: &str,
        clients: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyBatch> {
        let (on, all) = (On::read(on)?, self.setting.clients);
        let clients =
            clients.map(|clients| number_lists::clients(clients, "examples: `clients`", all));
        let clients = clients.transpose()?;
        let count = self.with(py, |lent| on.count(&lent))?;
        let chosen = indices.map(|indices| chosen(indices, count)).transpose()?;
        let set = match on {
            On::Of(set) => set,
            On::LocalTests => self.with(py, |lent| {
                Ok(ExampleSet::of_local_tests(lent.round.learner.partition()))
            })?,
        };
        if on == On::LocalTests && chosen.is_some() {
            return Err(PyValueError::new_err(
                "examples: found `indices` with `on=\"local_test\"`, needed none: a local test set is taken whole",
            ));
        }
        if let (
            Some(clients),
            Some(Chosen {
                is_one: false,
                lists,
                ..
            }),
        ) = (&clients, &chosen)
            && clients.len() != lists.len()
        {
            return Err(PyValueError::new_err(format!(
                "examples: found `clients` for {} rows and `indices` for {}, needed as many",
                clients.len(),
                lists.len()
            )));
        }
        self.with(py, move |lent| {
            let learner = &lent.round.learner;
            let partition = learner.partition();
            if on == On::LocalTests && !partition.has_local_tests() {
                return Err(PyValueError::new_err(
                    "examples: the clients have no local test sets: give them some by `evaluate: {local_test: 0.2}`",
                ));
            }
            let of_clients = |list: &dyn Fn(usize) -> Vec<u32>| match &clients {
                Some(clients) => clients.iter().map(|client| list(*client as usize)).collect(),
                None => (0..all).map(list).collect(),
            };
            let mut places = None;
            let examples = match chosen {
                Some(Chosen { is_one: true, mut lists, places: of_list }) => {
                    places = of_list;
                    let list = lists.pop().unwrap_or_default();
                    match &clients {
                        Some(clients) => RowExamples::each(set, vec![list; clients.len()]),
                        None => RowExamples::same(set, list),
                    }
                }
                Some(Chosen { lists, places: of_lists, .. }) => {
                    places = of_lists;
                    RowExamples::each(set, lists)
                }
                None if on == On::LocalTests => RowExamples::each(
                    set,
                    of_clients(&|client| partition.local_test(client).to_vec()),
                ),
                None if set == ExampleSet::Train => {
                    RowExamples::each(set, of_clients(&|client| partition.shard(client).to_vec()))
                }
                None => RowExamples::same(set, (0..count as u32).collect()),
            };
            let batch = PyBatch::new(examples, clients, places, learner, lent.round.number)?;
            Ok(match on {
                On::LocalTests | On::Of(ExampleSet::Test) => batch.of_tests(),
                On::Of(ExampleSet::Train | ExampleSet::Validation) => batch,
            })
        })
    }

    #[doc = documented!("Round.outputs")]
    fn outputs<'py>(
        &self,
        py: Python<'py>,
        models: &Bound<'py, PyAny>,
        batch: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let array = |batch: &PyBatch, py, rows: &_| batch.of_positions(py, rows, batch.outputs);
        self.look(py, "outputs", models, batch, Learner::outputs, array)
    }

    #[doc = documented!("Round.representations")]
    fn representations<'py>(
        &self,
        py: Python<'py>,
        models: &Bound<'py, PyAny>,
        batch: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let array = |batch: &PyBatch, py, rows: &_| {
            batch.of_positions(py, rows, batch.representation.unwrap_or(0))
        };
        let of = Learner::representations;
        self.look(py, "representations", models, batch, of, array)
    }

    #[doc = documented!("Round.losses")]
    fn losses<'py>(
        &self,
        py: Python<'py>,
        models: &Bound<'py, PyAny>,
        batch: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        self.look(
            py,
            "losses",
            models,
            batch,
            Learner::example_losses,
            PyBatch::of_examples,
        )
    }

    #[doc = documented!("Round.gradients")]
    #[pyo3(signature = (models, *, same_batches=false, rows=None, clients=None, batch=None, slopes=None, representation_slopes=None, aside=false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn gradients<'py>(
        &self,
        py: Python<'py>,
        models: &Bound<'py, PyAny>,
        same_batches: bool,
        rows: Option<&Bound<'py, PyAny>>,
        clients: Option<&Bound<'py, PyAny>>,
        batch: Option<&Bound<'py, PyAny>>,
        slopes: Option<&Bound<'py, PyAny>>,
        representation_slopes: Option<&Bound<'py, PyAny>>,
        aside: bool,
    ) -> PyResult<(PyStack, Bound<'py, PyArray1<f32>>)> {
        let models = PyStack::argument(models, "gradients: `models`")?;
        let is_side = self.is_side(models);
        let models = models.try_borrow()?;
        let models = models.stack()?;
        let count = models.rows();
        let batch = self.batch_of("gradients", count, batch)?;
        let request = self.request("gradients", count, batch, clients, None)?;
        let request = request.only("gradients", count, rows)?;
        let wrong = match (batch, same_batches) {
            (Some(_), true) => {
                "found `batch` with `same_batches=True`, needed one of them: a batch can be used again as it is"
            }
            (None, _) if aside => {
                "found `aside=True` and no `batch`, needed both: `batch = round.examples(...)` or `round.batch()`"
            }
            _ => "",
        };
        if !wrong.is_empty() {
            return Err(PyValueError::new_err(format!("gradients: {wrong}")));
        }
        let slopes = Slopes::read("gradients", count, batch, slopes, representation_slopes)?;
        self.uses.gradients.note();
        let number = self.number;
        let taken = self.with(py, move |mut lent| {
            let training = lent.training;
            if same_batches {
                lent.round.learner.rewind_batches(number).map_err(|_| {
                    PyRuntimeError::new_err(
                        "gradients: there are no mini-batches to take again: call round.gradients in this round first, and after any \
                         round.train. After round.batch, give the batch again: `batch=`",
                    )
                })?;
            }
            let rows: Vec<RowWork> = request.rows(&mut lent.round, training);
            if is_side {
                lent.uses.side_calls.note(number, "round.gradients", &rows);
            }
            let round = &mut lent.round;
            let gradients = match batch {
                None => decayed_gradients(models, round, &rows, training),
                Some(batch) => {
                    if !aside {
                        batch.note_uses(&rows, round.learner.partition(), lent.uses);
                    }
                    let work = round.work(&rows, training);
                    let rates = round.learner.rates(&work).map_err(engine)?;
                    let (rates, counted) = (batch.rates(rates), batch.counted(count));
                    let on = slopes.of(GradientsOn {
                        counted: &counted,
                        rates: Some(&rates),
                        aside,
                        ..GradientsOn::of(&batch.examples)
                    });
                    let taken = decayed_gradients_on(models, round, &rows, training, &on);
                    if let (Ok(taken), false) = (&taken, aside) {
                        let moves = |(row, work): (usize, &RowWork)| {
                            let sees = !batch.examples.of_row(row).is_empty();
                            u32::from(sees && work.amount != Amount::Idle)
                        };
                        let moved: Vec<u32> = rows.iter().enumerate().map(moves).collect();
                        batch.count(&taken.rates, &moved);
                    }
                    taken
                }
            };
            gradients.map_err(|error| PyRuntimeError::new_err(error.to_string()))
        })?;
        let DecayedGradients { gradients, rates } = taken;
        Ok((PyStack::of(gradients), PyArray1::from_vec(py, rates)))
    }

    #[doc = documented!("Round.evaluate")]
    #[pyo3(signature = (models, *, on="train", clients=None))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        models: &Bound<'py, PyAny>,
        on: &str,
        clients: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Scores<'py>> {
        let models = PyStack::argument(models, "evaluate: `models`")?.try_borrow()?;
        let models = models.stack()?;
        let of_clients;
        let split = match (on, clients) {
            ("train" | "local_test", clients) => {
                let (rows, count) = (models.rows(), self.setting.clients);
                let request = RowRequest::read("evaluate", rows, count, clients, None)?;
                of_clients = request.clients(count);
                match on {
                    "train" => Split::Shards(&of_clients),
                    _ => Split::LocalTests(&of_clients),
                }
            }
            ("validation", None) => Split::Validation,
            ("test", None) => Split::Test,
            ("validation" | "test", Some(_)) => {
                return Err(PyValueError::new_err(
                    "evaluate: `clients` is for training examples and local test sets: all share the others",
                ));
            }
            _ => {
                return Err(PyValueError::new_err(format!(
                    "evaluate: `on` is `{on}`, needed `train`, `local_test`, `validation` or `test`"
                )));
            }
        };
        let scores = self.with(py, move |mut lent| {
            let learner = &mut lent.round.learner;
            if matches!(split, Split::LocalTests(_)) && !learner.partition().has_local_tests() {
                return Err(PyValueError::new_err(
                    "evaluate: the clients have no local test sets: give them some by `evaluate: {local_test: 0.2}`",
                ));
            }
            let judged = learner.evaluate(models, split, None);
            let mut scores = judged.map_err(engine)?;
            if let Split::LocalTests(clients) = split {
                let partition = learner.partition();
                for (score, client) in scores.iter_mut().zip(clients) {
                    if partition.local_test(*client as usize).is_empty() {
                        (score.loss, score.accuracy) = (f64::NAN, f64::NAN);
                    }
                }
            }
            Ok(scores)
        })?;
        let losses = scores.iter().map(|score| score.loss);
        let accuracies = scores.iter().map(|score| score.accuracy);
        Ok((
            PyArray1::from_iter(py, losses),
            PyArray1::from_iter(py, accuracies),
        ))
    }
}
