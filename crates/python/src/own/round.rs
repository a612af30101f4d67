//! A round as methods in Python see it.

use meshfold_algorithms::training::Training;
use meshfold_algorithms::velocity::{DecayedGradients, decayed_gradients};
use meshfold_algorithms::{Round, Setting};
use meshfold_engine::{Anchor, Mixing, RowWork, Velocity};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use scoped_tls_hkt::{ReborrowMut, scoped_thread_local};

use super::figure;
use super::stack::{PyStack, beside, engine};

/// The round in progress on this thread, and how its clients train.
struct Lent<'a> {
    round: Round<'a>,
    training: &'a Training,
}

impl<'a, 'b: 'a> ReborrowMut<'a> for Lent<'b> {
    type Result = Lent<'a>;

    fn reborrow_mut(&'a mut self) -> Lent<'a> {
        Lent {
            round: self.round.reborrow(),
            training: self.training,
        }
    }
}

scoped_thread_local!(static mut LENT: for<'a> Lent<'a>);

/// Lends `round` to what Python does in `call`, on this thread.
pub(super) fn lend<T>(round: &mut Round<'_>, training: &Training, call: impl FnOnce() -> T) -> T {
    let round = round.reborrow();
    LENT.set(Lent { round, training }, call)
}

/// Calls `use_it` with the round in progress, without the interpreter's lock.
fn with<T: Send>(
    py: Python<'_>,
    use_it: impl FnOnce(Lent<'_>) -> PyResult<T> + Send,
) -> PyResult<T> {
    py.detach(|| {
        if !LENT.is_set() {
            return Err(PyRuntimeError::new_err(
                "this round is over, or belongs to another thread: use it within Method.round alone",
            ));
        }
        LENT.with(use_it)
    })
}

/// Mixing weights `[R, R]`.
#[pyclass(name = "Mixing", module = "meshfold", frozen)]
pub(crate) struct PyMixing(pub(super) Mixing);

#[pymethods]
impl PyMixing {
    /// Rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.rows(), self.0.columns())
    }

    fn __repr__(&self) -> String {
        format!("Mixing({} x {})", self.0.rows(), self.0.columns())
    }
}

/// One communication round.
#[pyclass(name = "Round", module = "meshfold", frozen)]
pub(crate) struct PyRound {
    /// Number of the round, from 1.
    #[pyo3(get)]
    number: usize,
    /// Seed of what methods draw: `seeds.methods`, or else the run's seed.
    #[pyo3(get)]
    seed: u64,
    /// Number of clients.
    #[pyo3(get)]
    clients: usize,
    mixing: Option<Mixing>,
    alive: Vec<bool>,
    model_bytes: u64,
}

impl PyRound {
    /// What is known of `round` without asking it.
    pub(super) fn of(round: &Round<'_>, setting: &Setting) -> Self {
        Self {
            number: round.number,
            seed: round.seed,
            clients: setting.clients,
            mixing: round.mixing.cloned(),
            alive: round.alive.to_vec(),
            model_bytes: setting.model_bytes(),
        }
    }
}

fn no_overlay() -> PyErr {
    PyRuntimeError::new_err("this method says `overlay = False`, so its rounds have no neighbours")
}

#[pymethods]
impl PyRound {
    /// The mixing weights of this round's overlay.
    #[getter]
    fn mixing(&self) -> PyResult<PyMixing> {
        self.mixing.clone().map(PyMixing).ok_or_else(no_overlay)
    }

    /// Which clients take part, `[N]`.
    #[getter]
    fn alive<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_slice(py, &self.alive)
    }

    /// The links of this round, `[E, 2]`: on an undirected overlay each edge once, on a directed one from sender to receiver.
    #[getter]
    fn edges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u32>>> {
        let edges = with(py, |lent| {
            let overlay = lent.round.overlay.ok_or_else(no_overlay)?;
            let edges = overlay.edges().flat_map(|(from, to)| [from, to]);
            Ok(edges.collect::<Vec<u32>>())
        })?;
        let count = edges.len() / 2;
        PyArray1::from_vec(py, edges).reshape([count, 2])
    }

    /// Local work of all clients alive, as the configuration's keys have it.
    #[pyo3(signature = (models, *, velocity=None, correction=None, anchor=None, mu=0.0))]
    fn train(
        &self,
        py: Python<'_>,
        models: &Bound<'_, PyStack>,
        velocity: Option<&Bound<'_, PyStack>>,
        correction: Option<&Bound<'_, PyStack>>,
        anchor: Option<&Bound<'_, PyStack>>,
        mu: f32,
    ) -> PyResult<()> {
        if velocity.is_some_and(|velocity| velocity.is(models)) {
            return Err(PyValueError::new_err(
                "train: the velocity is the models themselves, needed a stack of its own, such as `models.zeros_like()` made in `start`",
            ));
        }
        let changed: Vec<&Bound<'_, PyStack>> = [models].into_iter().chain(velocity).collect();
        let read = |stack| beside(stack, &changed);
        let correction = correction.map(read).transpose()?;
        let anchor = anchor.map(read).transpose()?;
        let mut models = models.try_borrow_mut()?;
        let models = models.stack_mut()?;
        let mut velocity = velocity.map(|kept| kept.try_borrow_mut()).transpose()?;
        let velocity = velocity.as_mut().map(|kept| kept.stack_mut()).transpose()?;
        let correction = correction.as_ref().map(|stack| stack.stack()).transpose()?;
        let anchor = anchor.as_ref().map(|stack| stack.stack()).transpose()?;
        with(py, move |mut lent| {
            let rows = lent.round.client_rows(lent.training);
            let mut work = lent.round.work(&rows, lent.training);
            work.correction = correction;
            work.anchor = anchor.map(|models| Anchor { models, mu });
            let velocity = velocity.map_or(Velocity::Fresh, Velocity::Kept);
            let steps = lent.round.learner.train(models, velocity, &work);
            let steps = steps.map_err(engine)?;
            lent.round.count_steps(&rows, &steps);
            Ok(())
        })
    }

    /// The gradients of the clients' next mini-batches at `models`, `[R, P]`, and the learning rate of each, `[R]`. Rows of clients
    /// that take no part are zero.
    fn gradients<'py>(
        &self,
        py: Python<'py>,
        models: &PyStack,
    ) -> PyResult<(PyStack, Bound<'py, PyArray1<f32>>)> {
        let models = models.stack()?;
        let taken = with(py, move |mut lent| {
            let rows: Vec<RowWork> = lent.round.client_rows(lent.training);
            let training = lent.training;
            decayed_gradients(models, &mut lent.round, &rows, training)
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))
        })?;
        let DecayedGradients { gradients, rates } = taken;
        Ok((PyStack::of(gradients), PyArray1::from_vec(py, rates)))
    }

    /// Counts a message from every client alive to each neighbour that listens to it: a row of `stack`, or so many `bytes`.
    #[pyo3(signature = (stack=None, *, bytes=None))]
    fn send(
        &self,
        py: Python<'_>,
        stack: Option<PyRef<'_, PyStack>>,
        bytes: Option<u64>,
    ) -> PyResult<()> {
        if self.mixing.is_none() {
            return Err(no_overlay());
        }
        let bytes = match (&stack, bytes) {
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err(
                    "send: give a stack or a number of bytes, not both",
                ));
            }
            (_, Some(bytes)) => bytes,
            (Some(stack), None) => stack.message_bytes().unwrap_or(self.model_bytes),
            (None, None) => self.model_bytes,
        };
        with(py, move |mut lent| {
            lent.round.exchange_models(bytes);
            Ok(())
        })
    }

    /// Notes a figure of the method's own for the record of this round: a number, or one for each row.
    fn record(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let figure = figure::read(name, value)?;
        with(py, move |mut lent| {
            let recorded = lent.round.record(name, figure);
            recorded.map_err(|error| PyValueError::new_err(error.to_string()))
        })
    }

    fn __repr__(&self) -> String {
        format!("Round(number={}, clients={})", self.number, self.clients)
    }
}
