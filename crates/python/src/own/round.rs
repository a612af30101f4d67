//! A round as methods in Python see it.

use std::sync::Arc;

use meshfold_algorithms::training::Training;
use meshfold_algorithms::velocity::{DecayedGradients, decayed_gradients};
use meshfold_algorithms::{Round, Setting};
use meshfold_engine::{Amount, Anchor, Mixing, RowWork, Velocity};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use scoped_tls_hkt::{ReborrowMut, scoped_thread_local};

use super::figure;
use super::stack::{PyStack, beside, engine};
use super::uses::Uses;

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

/// The most weights in an array: 2 GiB.
const MOST_WEIGHTS: usize = 1 << 28;

/// The largest message: more bytes, summed over rounds, might be too many for a count.
const MOST_BYTES: u64 = 1_000_000_000_000;

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

    /// The weights, `[R, R]`: row `i` has those by which client `i` averages.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (rows, columns) = self.shape();
        if rows.saturating_mul(columns) > MOST_WEIGHTS {
            return Err(PyValueError::new_err(format!(
                "an array of {rows} x {columns} weights is too large: needed at most {MOST_WEIGHTS}; `round.edges` has the links"
            )));
        }
        let mut weights = vec![0.0; rows * columns];
        for (row, of_row) in weights.chunks_exact_mut(columns.max(1)).enumerate() {
            for (column, weight) in self.0.row(row) {
                of_row[column as usize] = weight;
            }
        }
        PyArray1::from_vec(py, weights).reshape([rows, columns])
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
    /// The keys of the configuration, as JSON.
    settings: Arc<str>,
    has_links: bool,
    uses: Arc<Uses>,
}

impl PyRound {
    /// What is known of `round` without asking it.
    pub(super) fn of(
        round: &Round<'_>,
        setting: &Setting,
        settings: &Arc<str>,
        uses: &Arc<Uses>,
    ) -> Self {
        Self {
            settings: Arc::clone(settings),
            has_links: round
                .overlay
                .is_some_and(|overlay| overlay.edge_count() > 0),
            uses: Arc::clone(uses),
            number: round.number,
            seed: round.seed,
            clients: setting.clients,
            mixing: round.mixing.cloned(),
            alive: round.alive.to_vec(),
            model_bytes: setting.model_bytes(),
        }
    }

    /// The method looks at the links of the round.
    fn note_links(&self) {
        if self.has_links {
            self.uses.links.note();
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
        self.note_links();
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
        self.note_links();
        let edges = with(py, |lent| {
            let overlay = lent.round.overlay.ok_or_else(no_overlay)?;
            let edges = overlay.edges().flat_map(|(from, to)| [from, to]);
            Ok(edges.collect::<Vec<u32>>())
        })?;
        let count = edges.len() / 2;
        PyArray1::from_vec(py, edges).reshape([count, 2])
    }

    /// The keys of the configuration: those of all methods and the method's own.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.uses.settings.note();
        py.import("json")?.call_method1("loads", (&*self.settings,))
    }

    /// The learning rate of each client's next local step, `[N]`; 0 for clients that take no part.
    #[getter]
    fn learning_rates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let rates = with(py, |lent| {
            let of_client = |(client, alive): (u32, &bool)| RowWork {
                client,
                amount: match alive {
                    true => Amount::Steps(1),
                    false => Amount::Idle,
                },
            };
            let rows: Vec<RowWork> = (0..).zip(lent.round.alive).map(of_client).collect();
            let work = lent.round.work(&rows, lent.training);
            Ok(lent.round.learner.rates(&work))
        })?;
        Ok(PyArray1::from_vec(py, rates))
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
        self.uses.train.note();
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
        self.uses.gradients.note();
        let taken = with(py, move |mut lent| {
            let rows: Vec<RowWork> = lent.round.client_rows(lent.training);
            let training = lent.training;
            decayed_gradients(models, &mut lent.round, &rows, training)
                .map_err(|error| PyRuntimeError::new_err(error.to_string()))
        })?;
        let DecayedGradients { gradients, rates } = taken;
        Ok((PyStack::of(gradients), PyArray1::from_vec(py, rates)))
    }

    /// Counts a message from every client alive to each neighbour that listens to it: a row of `stack`, or so many `bytes`, a number
    /// for all clients or one for each.
    #[pyo3(signature = (stack=None, *, bytes=None))]
    fn send(
        &self,
        py: Python<'_>,
        stack: Option<PyRef<'_, PyStack>>,
        bytes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if self.mixing.is_none() {
            return Err(no_overlay());
        }
        let sizes = match (&stack, bytes) {
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err(
                    "send: give a stack or a number of bytes, not both",
                ));
            }
            (_, Some(bytes)) => sizes(bytes, self.clients)?,
            (Some(stack), None) => {
                vec![stack.message_bytes().unwrap_or(self.model_bytes); self.clients]
            }
            (None, None) => vec![self.model_bytes; self.clients],
        };
        self.uses.send.note();
        with(py, move |mut lent| {
            lent.round.exchange_sizes(&sizes);
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

/// The bytes of a message of each client, `[N]`: whole numbers, or one for all clients.
fn sizes(bytes: &Bound<'_, PyAny>, clients: usize) -> PyResult<Vec<u64>> {
    let no_sizes = || {
        PyTypeError::new_err(format!(
            "send: `bytes` needs whole numbers: one for all clients, or one for each of {clients}"
        ))
    };
    let sizes: Vec<i128> = if bytes.len().is_err() {
        vec![bytes.extract().map_err(|_| no_sizes())?; clients]
    } else {
        let arrays = bytes.py().import("meshfold._arrays")?;
        let array = arrays.call_method1("plain", (bytes, "send: `bytes`"))?;
        let of_clients = array.call_method0("tolist")?.extract();
        of_clients.map_err(|_| no_sizes())?
    };
    if sizes.len() != clients {
        return Err(PyValueError::new_err(format!(
            "send: `bytes` has {} numbers, needed one for all clients, or one for each of {clients}",
            sizes.len()
        )));
    }
    let size = |size: i128| u64::try_from(size).ok().filter(|size| *size <= MOST_BYTES);
    let checked = sizes.into_iter().map(|found| {
        size(found).ok_or_else(|| {
            PyValueError::new_err(format!(
                "send: found a message of {found} bytes, needed a whole number from 0 to {MOST_BYTES}"
            ))
        })
    });
    checked.collect()
}
