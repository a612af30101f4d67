//! A round as methods in Python see it.

mod counted;
mod examples;
mod network;
mod training;

pub(crate) use network::PyNetwork;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use meshfold_algorithms::training::Training;
use meshfold_algorithms::{NetworkSpeeds, Round, Setting};
use meshfold_engine::{Amount, Mixing, RowWork};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use scoped_tls_hkt::{ReborrowMut, scoped_thread_local};

use super::mixing::PyMixing;
use super::stack::{PyStack, engine};
use super::uses::Uses;
use super::{figure, start};

/// The round in progress on this thread, and how its clients train.
pub(super) struct Lent<'a> {
    pub(super) round: Round<'a>,
    training: &'a Training,
    pub(super) uses: &'a Uses,
}

impl<'a, 'b: 'a> ReborrowMut<'a> for Lent<'b> {
    type Result = Lent<'a>;

    fn reborrow_mut(&'a mut self) -> Lent<'a> {
        Lent {
            round: self.round.reborrow(),
            training: self.training,
            uses: self.uses,
        }
    }
}

scoped_thread_local!(static mut LENT: for<'a> Lent<'a>);

/// Lends `round` to what Python does in `call`, on this thread.
pub(super) fn lend<T>(
    round: &mut Round<'_>,
    training: &Training,
    uses: &Uses,
    call: impl FnOnce() -> T,
) -> T {
    let round = round.reborrow();
    let lent = Lent {
        round,
        training,
        uses,
    };
    LENT.set(lent, call)
}

/// Calls `look` with the round in progress on this thread, if there is one.
pub(super) fn in_progress(look: impl FnOnce(&Lent<'_>)) {
    if LENT.is_set() {
        LENT.with(|lent| look(&lent));
    }
}

#[doc = documented!("Round")]
#[pyclass(name = "Round", module = "meshfold", frozen)]
pub(crate) struct PyRound {
    #[doc = documented!("Round.number")]
    #[pyo3(get)]
    number: usize,
    #[doc = documented!("Round.seed")]
    #[pyo3(get)]
    seed: u64,
    #[doc = documented!("Round.recorded")]
    #[pyo3(get)]
    recorded: bool,
    setting: Arc<Setting>,
    mixing: Option<Mixing>,
    alive: Vec<bool>,
    /// The keys of the configuration, as JSON.
    settings: Arc<str>,
    network: Option<NetworkSpeeds>,
    has_links: bool,
    /// Whether the method has a server.
    has_server: bool,
    uses: Arc<Uses>,
    /// How many stacks have been quantised: each is rounded by other draws.
    quantized: AtomicU32,
    /// Where the stack of the clients' models is.
    models: AtomicUsize,
}

impl PyRound {
    /// What is known of `round` without asking it.
    pub(super) fn of(
        round: &Round<'_>,
        setting: &Arc<Setting>,
        settings: &Arc<str>,
        has_server: bool,
        uses: &Arc<Uses>,
    ) -> Self {
        if has_server {
            uses.server.note();
        }
        if round.straggler_context.is_some() {
            uses.stragglers.note();
        }
        if round.times_steps {
            uses.times_steps.note();
        }
        if round.is_to_show() {
            uses.sought.note();
        }
        if round.network.is_some() {
            uses.has_network.note();
        }
        if round.lost_messages.probability > 0.0 {
            uses.loses.note();
        }
        Self {
            settings: Arc::clone(settings),
            network: round.network.cloned(),
            has_links: round
                .overlay
                .is_some_and(|overlay| overlay.edge_count() > 0),
            has_server,
            uses: Arc::clone(uses),
            quantized: AtomicU32::new(0),
            models: AtomicUsize::new(0),
            number: round.number,
            seed: round.seed,
            recorded: round.is_recorded,
            setting: Arc::clone(setting),
            mixing: round.mixing.cloned(),
            alive: round.alive.to_vec(),
        }
    }

    /// Takes note of the stack of the clients' models.
    pub(super) fn is_of(&self, models: &Bound<'_, PyStack>) {
        self.models
            .store(models.as_ptr() as usize, Ordering::Relaxed);
    }

    /// Whether `stack` is another one than that of the clients' models.
    fn is_side(&self, stack: &Bound<'_, PyStack>) -> bool {
        stack.as_ptr() as usize != self.models.load(Ordering::Relaxed)
    }

    /// Calls `use_it` with the round, which must be in progress, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        use_it: impl FnOnce(Lent<'_>) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let number = self.number;
        py.detach(|| {
            let is_in_progress = || LENT.with(|lent| lent.round.number == number);
            if !(LENT.is_set() && is_in_progress()) {
                return Err(PyRuntimeError::new_err(format!(
                    "round {number} is over, or belongs to another thread: use it within Method.round alone"
                )));
            }
            LENT.with(use_it)
        })
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
    #[doc = documented!("Round.clients")]
    #[getter]
    fn clients(&self) -> usize {
        self.setting.clients
    }

    #[doc = documented!("Round.rounds")]
    #[getter]
    fn rounds(&self) -> usize {
        self.setting.rounds
    }

    #[doc = documented!("Round.shard_sizes")]
    #[getter]
    fn shard_sizes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        start::shard_sizes(py, &self.setting)
    }

    #[doc = documented!("Round.label_counts")]
    #[getter]
    fn label_counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let (counts, classes) = self.with(py, |lent| {
            let learner = lent.round.learner;
            let examples = &learner.splits().train;
            let (labels, classes) = (examples.labels(), examples.classes());
            let counts = learner.partition().label_counts(labels, classes);
            let counts = counts.into_iter().flatten().map(|count| count as i64);
            Ok((counts.collect(), classes))
        })?;
        PyArray1::from_vec(py, counts).reshape([self.setting.clients, classes])
    }

    #[doc = documented!("Round.directed")]
    #[getter]
    fn directed(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |lent| {
            let overlay = lent.round.overlay.ok_or_else(no_overlay)?;
            Ok(overlay.is_directed())
        })
    }

    #[doc = documented!("Round.local_steps")]
    #[getter]
    fn local_steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.uses.local.note();
        self.uses.local_steps.note();
        let steps = self.with(py, |mut lent| Ok(lent.round.local_steps(lent.training)))?;
        Ok(PyArray1::from_iter(py, steps.into_iter().map(i64::from)))
    }

    #[doc = documented!("Round.mixing")]
    #[getter]
    fn mixing(&self) -> PyResult<PyMixing> {
        self.note_links();
        self.mixing.clone().map(PyMixing).ok_or_else(no_overlay)
    }

    #[doc = documented!("Round.alive")]
    #[getter]
    fn alive<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_slice(py, &self.alive)
    }

    #[doc = documented!("Round.gone")]
    #[getter]
    fn gone<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let gone = self.with(py, |lent| Ok(lent.round.gone.to_vec()))?;
        Ok(PyArray1::from_vec(py, gone))
    }

    #[doc = documented!("Round.edges")]
    #[getter]
    fn edges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        self.note_links();
        let edges = self.with(py, |lent| {
            let overlay = lent.round.overlay.ok_or_else(no_overlay)?;
            let edges = overlay.edges().flat_map(|(from, to)| [from, to]);
            Ok(edges.map(i64::from).collect::<Vec<i64>>())
        })?;
        let count = edges.len() / 2;
        PyArray1::from_vec(py, edges).reshape([count, 2])
    }

    #[doc = documented!("Round.network")]
    #[getter]
    fn network(&self) -> Option<PyNetwork> {
        self.uses.network.note();
        self.network.clone().map(PyNetwork)
    }

    #[doc = documented!("Round.loss_probability")]
    #[getter]
    fn loss_probability(&self, py: Python<'_>) -> PyResult<f64> {
        self.uses.loss_probability.note();
        self.with(py, |lent| Ok(lent.round.lost_messages.probability))
    }

    /// The seed of what fails, for methods that lose messages themselves.
    #[getter]
    fn _loss_seed(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |lent| Ok(lent.round.lost_messages.seed))
    }

    #[doc = documented!("Round.settings")]
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.uses.settings.note();
        start::keys(py, &self.settings)
    }

    #[doc = documented!("Round.learning_rates")]
    #[getter]
    fn learning_rates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let rates = self.with(py, |lent| {
            let of_client = |(client, alive): (u32, &bool)| RowWork {
                client,
                amount: match alive {
                    true => Amount::Steps(1),
                    false => Amount::Idle,
                },
            };
            let rows: Vec<RowWork> = (0..).zip(lent.round.alive).map(of_client).collect();
            let work = lent.round.work(&rows, lent.training);
            lent.round.learner.rates(&work).map_err(engine)
        })?;
        Ok(PyArray1::from_vec(py, rates))
    }

    #[doc = documented!("Round.record")]
    fn record(&self, py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let figure = figure::read(name, value)?;
        self.with(py, move |mut lent| {
            let recorded = lent.round.record(name, figure);
            recorded.map_err(|error| PyValueError::new_err(error.to_string()))
        })
    }

    fn __repr__(&self) -> String {
        format!(
            "Round(number={}, clients={})",
            self.number, self.setting.clients
        )
    }
}
