//! `meshfold.run`: from an experiment to finished runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use meshfold_data::DataFolder;
use meshfold_engine::{Device, Instructions};
use meshfold_experiment::{
    ExperimentSource, RunOptions, RunPlan, Selection, SharedDatasets, most_at_once, plan_on,
    run_part, warnings,
};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::arrow::Table;
use crate::errors::Failure;
use crate::events::{Event, Stop};
use crate::gate;
use crate::host::{Host, compare};
use crate::own::part::PyPart;
use crate::own::{OwnClass, own};
use crate::threads;
use crate::warned;

/// How long the calling thread sleeps before it looks whether Ctrl-C was pressed.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a call asks for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Request {
    /// The experiment's file.
    path: PathBuf,
    /// The text of the file; it is read if absent.
    text: Option<String>,
    overrides: Vec<String>,
    results: PathBuf,
    data: Option<PathBuf>,
    device: String,
    threads: Option<usize>,
    cpu: Option<String>,
    at_once: Option<usize>,
    again: bool,
    /// Whether runs wait until call-backs have been called.
    awaited: bool,
    /// One of several parts, such as `3/16`.
    part: Option<String>,
    /// Ids, or beginnings of ids, of the runs that are meant.
    only: Option<Vec<String>>,
    /// Classes that configurations may name.
    own: Vec<OwnClass>,
    /// Parts that it names.
    parts: Vec<Py<PyPart>>,
}

/// The experiment, planned.
pub(crate) struct Planned {
    /// All runs of the sweep.
    sweep: Vec<RunPlan>,
    /// Those that are asked for.
    pub(crate) plans: Vec<RunPlan>,
    /// Whether each of them is to end.
    stops: Vec<Arc<AtomicBool>>,
    is_awaited: bool,
    options: RunOptions,
    pub(crate) folder: DataFolder,
    at_once: usize,
}

impl Request {
    pub(crate) fn plan(&self) -> Result<Planned, Failure> {
        let instructions: Option<Instructions> = self.cpu.as_deref().map(str::parse).transpose()?;
        let device = Device::open(self.device.parse()?, self.threads, instructions)?;
        let source = match &self.text {
            Some(text) => ExperimentSource::new(&self.path, text),
            None => ExperimentSource::read(&self.path)?,
        };
        let source = source.with_overrides(self.overrides.iter().cloned());
        let source = source.with_own(own(&self.own, &self.parts));
        let folder = DataFolder::resolve(self.data.as_deref())?;
        let folder = folder.beside(source.resolve(Path::new("")));
        let sweep = plan_on(&device, &source, &folder)?;
        let plans = self.selection()?.of(&sweep);
        let plans = plans.map_err(|error| Failure::Argument(format!("only: {error}")))?;
        let options = RunOptions {
            device,
            results: self.results.clone(),
            again: self.again,
            commit: meshfold_commands::COMMIT.map(str::to_owned),
        };
        let at_once = self
            .at_once
            .unwrap_or_else(|| most_at_once(&plans, &options));
        Ok(Planned {
            sweep,
            stops: plans.iter().map(|_| Arc::default()).collect(),
            is_awaited: self.awaited,
            plans,
            options,
            folder,
            at_once,
        })
    }
}

impl Request {
    fn selection(&self) -> Result<Selection, Failure> {
        match (&self.part, &self.only) {
            (Some(_), Some(_)) => Err(Failure::Argument(
                "part and only are two ways to choose runs: found both, needed one".to_owned(),
            )),
            (Some(part), None) => {
                let part = part.parse();
                let part = part.map_err(|error| Failure::Argument(format!("part: {error}")))?;
                Ok(Selection::Part(part))
            }
            (None, Some(ids)) => Ok(Selection::Only(ids.clone())),
            (None, None) => Ok(Selection::All),
        }
    }
}

impl Planned {
    /// Carries out all runs and writes what compares them. The runs are done if that cannot be written, so that it is no failure of
    /// theirs: the reason is returned.
    fn carry_out(
        &self,
        stop: &AtomicBool,
        events: Sender<Event>,
    ) -> Result<Option<Failure>, Failure> {
        let host = Host {
            is_sweep: self.sweep.len() > 1,
            datasets: SharedDatasets::new(&self.plans, &self.folder),
            events,
            stop,
            stops: &self.stops,
            is_awaited: self.is_awaited,
        };
        let (plans, sweep) = (&self.plans, &self.sweep);
        let reports = run_part(plans, sweep, &self.options, self.at_once, stop, &host)?;
        Ok(compare(sweep, &reports, &self.options.results).err())
    }

    /// What Python is told before the runs begin: a dictionary for each run.
    fn about<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let about = |(plan, stop): (&RunPlan, &Arc<AtomicBool>)| {
            let run = PyDict::new(py);
            run.set_item("id", &plan.id)?;
            run.set_item("label", plan.label())?;
            run.set_item("name", &plan.config.name)?;
            run.set_item("rounds", plan.config.rounds)?;
            run.set_item("settings", Value::from(plan.settings()).to_string())?;
            run.set_item("config", plan.config.to_json().to_string())?;
            let folder = plan.folder(&self.options.results);
            run.set_item("folder", folder)?;
            run.set_item("stop", Stop(Arc::clone(stop)))?;
            Ok(run)
        };
        self.plans.iter().zip(&self.stops).map(about).collect()
    }
}

/// What the runs of the experiment that `request` names would be like, a row for each, and warnings. Nothing is carried out.
#[pyfunction]
pub(crate) fn plan(py: Python<'_>, request: Request) -> PyResult<(Table, Vec<String>)> {
    warned::listen();
    let planned = py.detach(|| threads::shared(|| request.plan()));
    let mut told = warned::take();
    let planned = planned.map_err(|error| error.raise(py))?;
    told.extend(warnings(&planned.plans));
    let rows: Vec<Map<String, Value>> = planned.plans.iter().map(row).collect();
    let table = Table::of_records(&rows).map_err(|error| error.raise(py))?;
    Ok((table, told))
}

/// The facts of a run that are numbers or texts, with its settings in the sweep; of a choice with settings there is the label.
fn row(plan: &RunPlan) -> Map<String, Value> {
    let summary = serde_json::to_value(plan.summary()).unwrap_or_default();
    let facts = summary.as_object().cloned().unwrap_or_default();
    let is_plain = |value: &Value| !value.is_array() && !value.is_object();
    let mut row = Map::new();
    for name in ["id", "label"] {
        row.insert(name.to_owned(), facts[name].clone());
    }
    let settings = plan.settings();
    for (path, label) in &plan.variation {
        let value = settings.get(path).filter(|value| is_plain(value));
        let value = value.cloned().unwrap_or_else(|| label.clone().into());
        row.insert(path.clone(), value);
    }
    row.insert("rounds".to_owned(), plan.config.rounds.into());
    for (name, value) in facts {
        if is_plain(&value) && !row.contains_key(&name) {
            row.insert(name, value);
        }
    }
    row
}

/// Carries out the experiment that `request` names. `planned(runs, warnings)` is called before the runs begin, and
/// `listener(run, kind, value)` for whatever happens in them, both on the calling thread.
///
/// Ctrl-C, and an exception that one of them raises, end all runs after their round, with a checkpoint where they keep any. The
/// listener is then told `stopping`, and of everything that happened until the end.
///
/// Returns the exception that says why what compares the runs could not be written, or None.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    request: Request,
    planned: &Bound<'_, PyAny>,
    listener: &Bound<'_, PyAny>,
) -> PyResult<Option<PyErr>> {
    if gate::is_closed() {
        return Err(PyRuntimeError::new_err(
            "the interpreter is ending, so that no run can begin",
        ));
    }
    warned::listen();
    let (plan, inside) = py.detach(|| (threads::shared(|| request.plan()), gate::enter()));
    let mut told = warned::take();
    let plan = plan.map_err(|error| error.raise(py))?;
    told.extend(warnings(&plan.plans));
    planned.call1((plan.about(py)?, told))?;
    drop(inside);
    let (plan, listener) = (Arc::new(plan), listener.clone().unbind());
    let (heard, ended, _inside) = py.detach(|| {
        let (events, incoming) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        // The runs borrow nothing of this thread, which Python ends without a word when the interpreter ends.
        let runs = thread::spawn({
            let (plan, stop) = (Arc::clone(&plan), Arc::clone(&stop));
            move || threads::shared(|| plan.carry_out(&stop, events))
        });
        let heard = listen(&incoming, &listener);
        if heard.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        let ended = runs.join();
        if heard.is_err() {
            tell_the_rest(&incoming, &listener);
        }
        (heard, ended, gate::enter())
    });
    heard?;
    match ended {
        Ok(Ok(unwritten)) => Ok(unwritten.map(|failure| failure.raise(py))),
        Ok(Err(failure)) => Err(failure.raise(py)),
        Err(_) => Err(PyRuntimeError::new_err(
            "a thread of the runs panicked, which is a bug of meshfold; what it printed says where",
        )),
    }
}

/// Tells `listener` of what happened after it or a signal raised an exception, which is the one that the caller is told of. Another
/// Ctrl-C in the meantime changes nothing: the runs are ending.
fn tell_the_rest(incoming: &Receiver<Event>, listener: &Py<PyAny>) {
    gate::attach(|py| {
        let listener = listener.bind(py);
        let unless_interrupted = |told: PyResult<()>| match told {
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(()),
            told => told,
        };
        let stopping = listener.call1((0, "stopping", py.None())).map(|_| ());
        let told = unless_interrupted(stopping);
        let told = told.and_then(|()| unless_interrupted(tell_warnings(listener)));
        let told = told.and_then(|()| {
            let mut events = incoming.try_iter();
            events.try_for_each(|event| unless_interrupted(event.tell(listener)))
        });
        if let Err(error) = told {
            error.write_unraisable(py, Some(listener));
        }
    });
}

/// Tells `listener` of the warnings that nobody has been told of.
fn tell_warnings(listener: &Bound<'_, PyAny>) -> PyResult<()> {
    warned::take().into_iter().try_for_each(|warning| {
        listener.call1((0, "warned", warning))?;
        Ok(())
    })
}

/// Tells `listener` of events until there are no more, or until it or a signal raises an exception.
fn listen(incoming: &Receiver<Event>, listener: &Py<PyAny>) -> PyResult<()> {
    loop {
        let (event, is_last) = match incoming.recv_timeout(PATIENCE) {
            Ok(event) => (Some(event), false),
            Err(RecvTimeoutError::Timeout) => (None, false),
            Err(RecvTimeoutError::Disconnected) => (None, true),
        };
        gate::attach(|py| {
            let listener = listener.bind(py);
            tell_warnings(listener)?;
            event.map_or(Ok(()), |event| event.tell(listener))?;
            py.check_signals()
        })?;
        if is_last {
            return Ok(());
        }
    }
}
