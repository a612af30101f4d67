//! Runs as they stand on disk.

use std::borrow::Cow;
use std::path::PathBuf;

use meshfold_comparison::{CombinedTable, TableError};
use meshfold_experiment::results::{Holdings, MethodState, RecordedRun, TrainedModels};
use meshfold_report::{Gathered, write_gathered};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use serde_json::Value;

use crate::arrow::Table;
use crate::errors::{Failure, results};
use crate::own::stack::PyStack;
use crate::threads;

/// Stacks and numbers that a method kept, by name.
type State = (Vec<(String, PyStack)>, Vec<(String, Vec<f64>)>);

/// Runs that were read from their folders. Places are those of the runs in it, from 0.
#[pyclass(frozen, module = "meshfold._meshfold")]
#[derive(Debug)]
pub(crate) struct Recorded {
    gathered: Gathered,
}

/// What is known of a run without its records.
#[derive(Serialize)]
struct About<'a> {
    id: &'a str,
    name: &'a str,
    is_finished: bool,
    failure: Option<&'a str>,
    config: &'a Value,
    overlay: Value,
    lambda: Option<f64>,
    summary: Value,
}

impl Recorded {
    /// The run at `place`, whose folder is still there.
    fn run(&self, place: usize) -> Result<&RecordedRun, Failure> {
        let runs = &self.gathered.runs;
        let run = runs
            .get(place)
            .ok_or_else(|| results(format_args!("there is no run {place} of {}", runs.len())))?;
        expect_folder(run)?;
        Ok(run)
    }
}

/// Requires that the folder of `run` has not gone since it was read.
fn expect_folder(run: &RecordedRun) -> Result<(), Failure> {
    match run.folder.is_dir() {
        true => Ok(()),
        false => Err(results(format_args!(
            "{} is gone: it was there when the run was read",
            run.folder.display()
        ))),
    }
}

#[pymethods]
impl Recorded {
    /// Reads the runs in `folders`, each the folder of a run or one that holds such folders.
    #[new]
    fn read(py: Python<'_>, folders: Vec<PathBuf>) -> PyResult<Self> {
        let gathered = py.detach(|| threads::shared(|| Gathered::of(&folders)));
        match gathered {
            Ok(gathered) => Ok(Self { gathered }),
            Err(error) => Err(Failure::from(error).raise(py)),
        }
    }

    fn __len__(&self) -> usize {
        self.gathered.runs.len()
    }

    /// What was left out because it is damaged or no run, a sentence each.
    #[getter]
    fn left_out(&self) -> Vec<String> {
        let left_out = self.gathered.left_out.iter();
        left_out.map(ToString::to_string).collect()
    }

    /// What is known of the run at `place` without its records, as JSON.
    fn about(&self, py: Python<'_>, place: usize) -> PyResult<String> {
        let run = self.run(place).map_err(|error| error.raise(py))?;
        let summary = std::fs::read_to_string(run.folder.join("summary.json"));
        let config = run.settings.all();
        let about = About {
            id: &run.id,
            name: run.settings.name(),
            is_finished: run.is_finished,
            failure: run.failure.as_deref(),
            config,
            lambda: run.lambda(),
            overlay: serde_json::to_value(&run.overlay_summary).unwrap_or_default(),
            summary: summary.map_or(Value::Null, |text| {
                serde_json::from_str(&text).unwrap_or_default()
            }),
        };
        serde_json::to_string(&about).map_err(|error| results(error).raise(py))
    }

    /// The folder of the run at `place`.
    fn folder(&self, py: Python<'_>, place: usize) -> PyResult<PathBuf> {
        let run = self.gathered.runs.get(place);
        let run = run.ok_or_else(|| results(format_args!("there is no run {place}")).raise(py))?;
        Ok(run.folder.clone())
    }

    /// A row for each evaluation of the runs at `places`.
    fn metrics(&self, py: Python<'_>, places: Vec<usize>) -> PyResult<Table> {
        self.table(py, &places, |runs| CombinedTable::metrics_in_memory(runs))
    }

    /// The trained models of the run at `place`.
    fn models(&self, py: Python<'_>, place: usize) -> PyResult<PyStack> {
        let run = self.run(place).map_err(|error| error.raise(py))?;
        let models = py.detach(|| TrainedModels::of(&run.folder));
        let models = models.map_err(|error| results(error).raise(py))?;
        Ok(PyStack::of(models.models))
    }

    /// What the method of the run at `place` kept: its stacks and its numbers, by name.
    fn state(&self, py: Python<'_>, place: usize) -> PyResult<State> {
        let run = self.run(place).map_err(|error| error.raise(py))?;
        let state = py.detach(|| MethodState::of(&run.folder));
        let state = state.map_err(|error| results(error).raise(py))?;
        let stacks = state.stacks.into_iter();
        let stacks = stacks.map(|(name, stack)| (name, PyStack::of(stack)));
        Ok((stacks.collect(), state.numbers))
    }

    /// A row for each client at each evaluation of the runs at `places`.
    fn clients(&self, py: Python<'_>, places: Vec<usize>) -> PyResult<Table> {
        self.table(py, &places, |runs| CombinedTable::clients(runs))
    }

    /// The two ends of each edge of the overlay of the run at `place`, one after the other; `None` without an overlay.
    fn edges<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let overlay = self.run(place).and_then(|run| Ok(run.overlay()?));
        let overlay = overlay.map_err(|error| error.raise(py))?;
        Ok(overlay.map(|overlay| {
            let ends = overlay.edges();
            let ends = ends.flat_map(|(from, to)| [from as u64, to as u64]);
            let bytes: Vec<u8> = ends.flat_map(u64::to_le_bytes).collect();
            PyBytes::new(py, &bytes)
        }))
    }

    /// What each client holds, as JSON: `{"labels": [[..], ..]}`, or the columns of a text; `None` if it was not written.
    fn partition(&self, py: Python<'_>, place: usize) -> PyResult<Option<String>> {
        let read = self
            .run(place)
            .and_then(|run| Ok((run.partition()?, run.names()?)));
        let (holdings, names) = read.map_err(|error| error.raise(py))?;
        Ok(holdings.map(|holdings| match holdings {
            Holdings::Labels(counts) => {
                serde_json::json!({"labels": counts.counts, "names": names}).to_string()
            }
            Holdings::Text(counts) => serde_json::json!({
                "examples": counts.examples,
                "tokens": counts.tokens,
                "vocabulary": counts.vocabulary,
                "names": names,
            })
            .to_string(),
        }))
    }

    /// Writes the report about the runs at `places` to `path`.
    fn report(&self, py: Python<'_>, places: Vec<usize>, path: PathBuf) -> PyResult<()> {
        let written = py.detach(|| {
            let gathered = Gathered {
                runs: self.some(&places)?.into_owned(),
                left_out: Vec::new(),
            };
            Ok(threads::shared(|| write_gathered(&gathered, &path))?)
        });
        written.map_err(|error: Failure| error.raise(py))
    }

    /// No runs.
    #[staticmethod]
    fn empty() -> Self {
        Self {
            gathered: Gathered::default(),
        }
    }
}

/// How runs are put in a table.
type Combine = for<'a> fn(&'a [RecordedRun]) -> Result<CombinedTable<'a>, TableError>;

impl Recorded {
    fn table(&self, py: Python<'_>, places: &[usize], combine: Combine) -> PyResult<Table> {
        let table = py.detach(|| {
            let runs = self.some(places)?;
            threads::shared(|| Table::of(&combine(&runs).map_err(results)?))
        });
        table.map_err(|error| error.raise(py))
    }

    /// The runs at `places`; all of them are not copied.
    pub(crate) fn some(&self, places: &[usize]) -> Result<Cow<'_, [RecordedRun]>, Failure> {
        let runs = &self.gathered.runs;
        if places.iter().copied().eq(0..runs.len()) {
            runs.iter().try_for_each(expect_folder)?;
            return Ok(Cow::Borrowed(runs));
        }
        let some = places.iter().map(|place| self.run(*place).cloned());
        some.collect::<Result<Vec<_>, _>>().map(Cow::Owned)
    }
}
