//! Methods that are written in Python.

use std::mem::replace;
use std::sync::{Arc, OnceLock};

use meshfold_algorithms::training::{Training, TrainingKeys};
use meshfold_algorithms::{
    Algorithm, AlgorithmError, Forecast, KeptStack, MessageScope, MethodSpec, Participation,
    Profile, Round, ServerNodes, Setting, StepsPerRound, no_limits,
};
use meshfold_engine::Stack;
use meshfold_topology::Overlay;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyModule;
use serde_json::{Map, Value};

use crate::gate;

use super::absent_rows::AbsentRows;
use super::planned_round::PyPlannedRound;
use super::round::{self, PyRound};
use super::stack::PyStack;
use super::start::PyStart;
use super::traceback::traceback;
use super::uses::Uses;

/// What the configuration of a method in Python says.
pub(crate) struct PyMethod {
    name: String,
    class: Arc<Py<PyAny>>,
    /// The method's own keys, as JSON.
    keys: String,
    training: TrainingKeys,
    /// Whether models are exchanged over an overlay.
    overlay: bool,
    /// Whether there is a server that clients send to and hear from.
    server: bool,
    /// Whether the mixing weights of the configuration have an effect.
    mixes_by_weights: bool,
    /// Whether it simulates time itself.
    has_own_clock: bool,
    /// Whether clients send whole models.
    sends_models: bool,
    /// Whether it is made for an overlay whose links stay.
    needs_lasting_overlay: bool,
    /// Whether messages between neighbours may be lost.
    may_lose_messages: bool,
    /// Whether it reads the one latency and the one bandwidth of the network.
    needs_even_links: bool,
    /// Stacks that it holds besides the models, at most.
    stacks: usize,
}

impl PyMethod {
    /// The method of `class` with `keys`.
    pub(super) fn new(
        name: &str,
        class: &Arc<Py<PyAny>>,
        keys: &Map<String, Value>,
        training: TrainingKeys,
    ) -> PyResult<Self> {
        gate::attach(|py| {
            let of_class = class.bind(py);
            Ok(Self {
                name: name.to_owned(),
                class: Arc::clone(class),
                keys: Value::Object(keys.clone()).to_string(),
                training,
                overlay: of_class.getattr("overlay")?.extract()?,
                server: of_class.getattr("server")?.extract()?,
                mixes_by_weights: of_class.getattr("mixes_by_weights")?.extract()?,
                has_own_clock: of_class.getattr("has_own_clock")?.extract()?,
                sends_models: of_class.getattr("sends_models")?.extract()?,
                needs_lasting_overlay: of_class.getattr("needs_lasting_overlay")?.extract()?,
                may_lose_messages: of_class.getattr("may_lose_messages")?.extract()?,
                needs_even_links: of_class.getattr("needs_even_links")?.extract()?,
                stacks: of_class.getattr("stacks")?.extract()?,
            })
        })
    }

    /// What the method says that a round takes: the local steps of all clients, and the bytes that they send. What it does not say is
    /// absent.
    fn told(&self, setting: &Setting, overlay: Option<&Overlay>) -> (Option<f64>, Option<f64>) {
        let about = PyPlannedRound::of(setting, &self.settings(), &self.training(), overlay);
        gate::attach(|py| {
            let arguments = (self.class.bind(py), &self.keys, about);
            let told = py.import("meshfold._own").and_then(|own| {
                let told = own.call_method1("forecast", arguments)?;
                told.extract()
            });
            told.unwrap_or_else(|error| {
                let (name, why) = (&self.name, traceback(py, &error));
                tracing::warn!(target: "meshfold", "the plan expects the usual steps and bytes: the `forecast` of the method `{name}` failed: {why}");
                (None, None)
            })
        })
    }

    /// The keys of all methods and the method's own, as JSON.
    fn settings(&self) -> Arc<str> {
        let mut all = common_keys(&self.training);
        all.extend(object(&self.keys));
        Value::Object(all).to_string().into()
    }
}

/// The keys of all methods, as `training` has them.
pub(super) fn common_keys(training: &TrainingKeys) -> Map<String, Value> {
    let mut keys = object(&serde_json::to_string(training).expect("keys are plain values"));
    // Configurations leave it out where it is false.
    keys.insert("nesterov".to_owned(), training.nesterov.into());
    keys
}

/// The keys in `json`.
fn object(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).expect("keys are an object")
}

impl MethodSpec for PyMethod {
    fn profile(&self) -> Profile<'_> {
        let exchange = match self.overlay {
            true => Profile::gossip(),
            false => Profile::without_overlay(),
        };
        Profile {
            servers: match self.server {
                true => ServerNodes::One,
                false => ServerNodes::None,
            },
            mixes_by_weights: self.mixes_by_weights,
            has_own_clock: self.has_own_clock,
            counts_itself: true,
            shows_models: self.sends_models,
            needs_lasting_overlay: self.needs_lasting_overlay,
            needs_even_links: self.needs_even_links,
            may_lose_messages: self.may_lose_messages
                && (self.overlay || self.server || self.has_own_clock),
            ..exchange
        }
    }

    fn training(&self) -> Training {
        self.training.training_keys()
    }

    fn steps_per_round(&self, setting: &Setting) -> StepsPerRound {
        self.training().steps_per_round(setting)
    }

    fn message_scope(&self, setting: &Setting, _: usize, _: bool) -> MessageScope {
        match (self.overlay, self.server) {
            (true, _) => MessageScope::Neighbours,
            (false, true) => MessageScope::of_one_server(setting.clients),
            (false, false) => MessageScope::Nobody,
        }
    }

    /// Its own keys were checked when they were read.
    fn check_keys(&self) -> Result<(), AlgorithmError> {
        Ok(())
    }

    no_limits!(check_clients, check_overlay, unstable_at);

    fn working_rows(&self, clients: usize) -> usize {
        self.stacks.saturating_mul(clients)
    }

    fn forecast(&self, setting: &Setting, overlay: Option<&Overlay>) -> Forecast {
        let forecast = match self.overlay || !self.server {
            true => Forecast::of_exchange(&self.training(), setting, overlay),
            // To all clients and back.
            false => Participation::default().forecast(&self.training(), setting, 2),
        };
        let (local_steps, bytes) = self.told(setting, overlay);
        Forecast {
            local_steps: local_steps.unwrap_or(forecast.local_steps),
            bytes: bytes.map_or(forecast.bytes, |bytes| bytes.round() as u64),
        }
    }

    fn begin(&self, setting: &Setting) -> Box<dyn Algorithm> {
        Box::new(PyMethodState {
            name: self.name.clone(),
            class: Arc::clone(&self.class),
            keys: self.keys.clone(),
            settings: self.settings(),
            server: self.server,
            keeps_rows: self.overlay && !self.server && !self.has_own_clock,
            has_own_clock: self.has_own_clock,
            training: self.training(),
            uses: Arc::default(),
            begun_in: None,
            setting: Arc::new(setting.clone()),
            object: None,
            kept: Vec::new(),
            handles: Vec::new(),
            broken: OnceLock::new(),
        })
    }
}

/// Prefix of a stack's name in checkpoints, before the name of the attribute.
const ATTRIBUTE: &str = "self.";

/// What follows the name of an attribute in the name of the bytes that a row of its stack has in a message.
const MESSAGE_BYTES: &str = " message_bytes";

/// A method in the course of a run. Between rounds its stacks are [`KeptStack`]s; in a round the object in Python has them.
struct PyMethodState {
    name: String,
    class: Arc<Py<PyAny>>,
    keys: String,
    /// Those keys and the ones of all methods, as JSON.
    settings: Arc<str>,
    /// Whether there is a server.
    server: bool,
    /// Whether each row is the model of a client, which stays as it is in rounds without that client.
    keeps_rows: bool,
    /// Whether the method simulates time itself.
    has_own_clock: bool,
    training: Training,
    setting: Arc<Setting>,
    /// What it has made use of in the rounds that were carried out.
    uses: Arc<Uses>,
    /// The first of these rounds, once it is done.
    begun_in: Option<usize>,
    /// The object; none before the start.
    object: Option<Py<PyAny>>,
    kept: Vec<KeptStack>,
    /// What Python knows the stacks of `kept` as.
    handles: Vec<Py<PyStack>>,
    /// Why the next round must fail: what the method keeps could not be saved or restored.
    broken: OnceLock<AlgorithmError>,
}

impl PyMethodState {
    /// What Python raised, with its traceback.
    fn failed(&self, py: Python<'_>, error: &PyErr) -> AlgorithmError {
        AlgorithmError::Own {
            method: self.name.clone(),
            reason: traceback(py, error),
        }
    }

    /// Gives the object its stacks.
    fn give(&mut self, py: Python<'_>) {
        for (kept, handle) in self.kept.iter_mut().zip(&self.handles) {
            handle.borrow_mut(py).fill(kept.take());
        }
    }

    /// Takes the stacks of the object, those of its attributes.
    fn take(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(object) = &self.object else {
            return Ok(());
        };
        let stacks: Vec<(String, Py<PyStack>)> = py
            .import("meshfold._kept")?
            .call_method1("stacks_of", (object.bind(py),))?
            .extract()?;
        (self.kept, self.handles) = (Vec::new(), Vec::new());
        for (name, handle) in stacks {
            let Some(stack) = handle.borrow_mut(py).empty() else {
                continue;
            };
            let mut kept = KeptStack::new(format!("{ATTRIBUTE}{name}"), stack.rows());
            kept.replace(stack);
            self.kept.push(kept);
            self.handles.push(handle);
        }
        Ok(())
    }

    /// Calls `method` of the object with `models`, and what `arguments` makes.
    fn call(
        &mut self,
        models: &mut Stack,
        method: &str,
        round: Option<PyRound>,
    ) -> Result<(), AlgorithmError> {
        let empty = Stack::zeros(models.device(), models.layout(), 0);
        let lent = replace(models, empty);
        gate::attach(|py| {
            self.give(py);
            let (handle, called) = self.called(py, lent, method, round);
            let returned = handle.and_then(|handle| handle.borrow_mut(py).empty());
            let taken = self.take(py);
            if let Some(stack) = returned {
                *models = stack;
            }
            called.and(taken).map_err(|error| self.failed(py, &error))
        })
    }

    fn called(
        &self,
        py: Python<'_>,
        models: Stack,
        method: &str,
        round: Option<PyRound>,
    ) -> (Option<Py<PyStack>>, PyResult<()>) {
        let handle = match Py::new(py, PyStack::of(models)) {
            Ok(handle) => handle,
            Err(error) => return (None, Err(error)),
        };
        let call = || {
            let Some(object) = &self.object else {
                return Ok(());
            };
            let models = handle.bind(py);
            let returned = match round {
                None => {
                    let about = PyStart::of(&self.setting, &self.settings);
                    let own = py.import("meshfold._own")?;
                    own.call_method1("start", (object, models, about))
                }
                Some(round) => {
                    round.is_of(models);
                    let rebound = py.import("meshfold._rebound")?;
                    rebound.call_method1("call_round", (object, models, round))
                }
            };
            expect_nothing(&returned?, method)
        };
        let called = call();
        (Some(handle), called)
    }
}

/// Whether two stacks of as many rows have other bits. Some rows at a time are copied to the host.
fn differ(one: &Stack, other: &Stack) -> Result<bool, AlgorithmError> {
    const AT_ONCE: usize = 64;
    if one.rows() != other.rows() {
        return Ok(false);
    }
    let rows: Vec<u32> = (0..one.rows() as u32).collect();
    for some in rows.chunks(AT_ONCE) {
        let [one, other] = [one.gather(some)?.to_host(), other.gather(some)?.to_host()];
        let mut numbers = one.iter().zip(&other);
        if numbers.any(|(one, other)| one.to_bits() != other.to_bits()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Makes sure that `method` has returned nothing: models are changed in place.
fn expect_nothing(returned: &Bound<'_, PyAny>, method: &str) -> PyResult<()> {
    if returned.is_none() {
        return Ok(());
    }
    let kind = returned.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "`{method}` returned a {kind}, needed nothing: change `models` in place, for example by `models.set(...)`"
    )))
}

impl Algorithm for PyMethodState {
    fn start(&mut self, models: &Stack) -> Result<(), AlgorithmError> {
        let made = gate::attach(|py| {
            let made = py
                .import("meshfold._own")
                .and_then(|module| module.call_method1("make", (self.class.bind(py), &self.keys)));
            match made {
                Ok(object) => Ok(object.unbind()),
                Err(error) => Err(self.failed(py, &error)),
            }
        })?;
        self.object = Some(made);
        let mut given = models.duplicate();
        self.call(&mut given, "start", None)?;
        if differ(&given, models)? {
            self.ask(|module, _| {
                let lost = module.py().import("meshfold._lost_start")?;
                lost.call_method1("tell_of", (self.class.bind(module.py()),))
                    .map(drop)
            })?;
        }
        Ok(())
    }

    fn round(&mut self, models: &mut Stack, round: &mut Round<'_>) -> Result<(), AlgorithmError> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        let training = self.training.clone();
        let about = PyRound::of(
            round,
            &self.setting,
            &self.settings,
            self.server,
            &self.uses,
        );
        let uses = Arc::clone(&self.uses);
        let absent = match self.keeps_rows && !uses.moved.is_noted() {
            true => AbsentRows::of(models, round)?,
            false => None,
        };
        round::lend(round, &training, &uses, || {
            self.call(models, "round", Some(about))
        })?;
        if absent.is_some_and(|absent| absent.differ_in(models)) {
            uses.moved.note();
        }
        self.begun_in.get_or_insert(round.number);
        Ok(())
    }

    fn trained_aside(&self, round: usize, row: usize) -> Option<String> {
        self.uses.side_calls.of(round, row)
    }

    fn kept(&self) -> &[KeptStack] {
        &self.kept
    }

    fn kept_mut(&mut self) -> &mut [KeptStack] {
        &mut self.kept
    }

    /// Any attribute may be a stack, also one that is none at the start.
    fn may_keep_stack(&self, name: &str, rows: usize) -> bool {
        rows > 0 && name.starts_with(ATTRIBUTE)
    }

    fn restore_stack(&mut self, name: &str, stack: Stack) {
        let mut kept = KeptStack::new(name.to_owned(), stack.rows());
        kept.replace(stack);
        match self.kept.iter().position(|kept| kept.name() == name) {
            Some(place) => {
                self.kept[place] = kept;
                self.set_message_bytes(place, None);
            }
            None => match self.hand_out(name.trim_start_matches(ATTRIBUTE)) {
                Ok(handle) => {
                    self.kept.push(kept);
                    self.handles.push(handle);
                }
                Err(error) => self.break_by(error),
            },
        }
    }

    /// Attributes that no checkpoint can hold were refused when they were made. If one cannot be read all the same, the checkpoint
    /// is made one that nothing resumes from, and the run fails.
    fn numbers(&self) -> Vec<(String, Vec<f64>)> {
        let numbers = self.ask(|module, object| {
            let numbers = module.call_method1("numbers_of", (object,))?;
            numbers.extract()
        });
        let mut numbers = numbers.unwrap_or_else(|error| {
            self.break_by(error);
            vec![("incomplete".to_owned(), Vec::new())]
        });
        numbers.extend(self.message_bytes());
        numbers
    }

    fn may_keep(&self, name: &str, numbers: &[f64]) -> bool {
        if name.ends_with(MESSAGE_BYTES) {
            return matches!(numbers, [bytes] if *bytes >= 0.0);
        }
        let may = self.ask(|module, object| {
            let may = module.call_method1("may_keep", (object, name, numbers.to_vec()))?;
            may.extract()
        });
        may.unwrap_or(false)
    }

    fn restore_numbers(&mut self, name: &str, numbers: Vec<f64>) {
        if let Some(attribute) = name.strip_suffix(MESSAGE_BYTES) {
            let is_it = |kept: &KeptStack| kept.name().strip_prefix(ATTRIBUTE) == Some(attribute);
            if let (Some(place), [bytes]) = (self.kept.iter().position(is_it), &*numbers) {
                self.set_message_bytes(place, Some(*bytes as u64));
            }
            return;
        }
        let restored = self.ask(|module, object| {
            module
                .call_method1("restore_numbers", (object, name, numbers))
                .map(drop)
        });
        if let Err(error) = restored {
            self.break_by(error);
        }
    }
}

impl PyMethodState {
    /// The bytes of a row in a message of the stacks for which they are not those of a whole model, as numbers of a checkpoint.
    fn message_bytes(&self) -> Vec<(String, Vec<f64>)> {
        let stacks = || self.kept.iter().zip(&self.handles);
        gate::attach(|py| {
            let of_stack = |(kept, handle): (&KeptStack, &Py<PyStack>)| {
                let attribute = kept.name().trim_start_matches(ATTRIBUTE);
                let bytes = handle.borrow(py).message_bytes()?;
                Some((format!("{attribute}{MESSAGE_BYTES}"), vec![bytes as f64]))
            };
            stacks().filter_map(of_stack).collect()
        })
    }

    fn set_message_bytes(&self, place: usize, bytes: Option<u64>) {
        gate::attach(|py| {
            self.handles[place].borrow_mut(py).set_message_bytes(bytes);
        });
    }

    /// Lets the next round fail with the first of such errors.
    fn break_by(&self, error: AlgorithmError) {
        let _ = self.broken.set(error);
    }

    /// A stack without rows as the attribute `name` of the object; it is filled in a round.
    fn hand_out(&self, name: &str) -> Result<Py<PyStack>, AlgorithmError> {
        self.ask(|_, object| {
            let handle = Py::new(object.py(), PyStack::closed())?;
            object.setattr(name, &handle)?;
            Ok(handle)
        })
    }

    /// What `ask` finds out from the functions of `meshfold._kept` about the object.
    fn ask<T>(
        &self,
        ask: impl FnOnce(&Bound<'_, PyModule>, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, AlgorithmError> {
        let object = self.object.as_ref().expect("`start` makes the object");
        gate::attach(|py| {
            py.import("meshfold._kept")
                .and_then(|module| ask(&module, object.bind(py)))
                .map_err(|error| self.failed(py, &error))
        })
    }
}

impl Drop for PyMethodState {
    /// A run that was resumed knows only a part of what the method does.
    fn drop(&mut self) {
        if self.begun_in == Some(1) {
            for warning in self
                .uses
                .warnings(&self.name, &self.training, self.has_own_clock)
            {
                tracing::warn!(target: "meshfold", "{warning}");
            }
        }
    }
}
