//! Rows with the runs that their values are read from.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use meshfold_data::DataFolder;
use meshfold_engine::Device;
use meshfold_experiment::{ConfigError, ConfigFault, ExperimentSource, RunPlan, plan_on};

use crate::error::ReproductionError;
use crate::reading::Reading;
use crate::rows::{Row, Value};
use crate::settings;

/// Rows with the runs that they need.
#[derive(Debug)]
pub struct Planned<'a> {
    /// The runs, each once.
    pub plans: Vec<RunPlan>,
    /// The rows in the order asked for.
    pub rows: Vec<PlannedRow<'a>>,
}

/// A row with the runs of its readings.
#[derive(Debug)]
pub struct PlannedRow<'a> {
    /// The row.
    pub row: &'a Row,
    /// The readings of the paper's text. The first one decides.
    pub readings: Vec<PlannedReading<'a>>,
    /// Why the data of the row cannot be had.
    pub missing: Option<String>,
}

/// One reading of the paper's text.
#[derive(Debug)]
pub struct PlannedReading<'a> {
    /// What is read otherwise; `None` for the reading that decides.
    pub name: Option<&'a str>,
    /// The values by name.
    pub values: BTreeMap<String, PlannedValue>,
}

/// A value and the runs that it is read from.
#[derive(Debug)]
pub struct PlannedValue {
    /// How it is read.
    pub read: Reading,
    /// The runs by their places in [`Planned::plans`], ascending by seed.
    pub runs: Vec<usize>,
}

/// What rows are planned with.
#[derive(Clone, Copy, Debug)]
pub struct Planning<'a> {
    /// The device that runs are for.
    pub device: &'a Device,
    /// The folder that the experiments' files are in.
    pub experiments: &'a Path,
    /// The folder of the datasets.
    pub data: &'a DataFolder,
    /// Seeds from 1 on in place of those of the files.
    pub seeds: Option<u64>,
    /// Whether the other readings are planned, too.
    pub all_readings: bool,
}

/// The runs of an experiment, with their configurations as plain values, or why its data are missing.
type Experiment = Result<Vec<(usize, serde_json::Value)>, String>;

/// What plans rows, and remembers the experiments that it has planned.
struct Planner<'a> {
    planning: Planning<'a>,
    plans: Vec<RunPlan>,
    place_of: HashMap<String, usize>,
    experiments: HashMap<(PathBuf, Vec<String>), Experiment>,
}

impl<'a> Planned<'a> {
    /// Plans the experiments of `rows`.
    ///
    /// # Errors
    /// [`ReproductionError::Plan`], [`ReproductionError::NoRun`] and [`ReproductionError::Several`].
    pub fn of(rows: &[&'a Row], planning: Planning<'_>) -> Result<Self, ReproductionError> {
        let mut planner = Planner {
            planning,
            plans: Vec::new(),
            place_of: HashMap::new(),
            experiments: HashMap::new(),
        };
        let rows: Result<Vec<_>, _> = rows.iter().map(|row| planner.row(row)).collect();
        Ok(Self {
            rows: rows?,
            plans: planner.plans,
        })
    }
}

impl Planner<'_> {
    fn row<'r>(&mut self, row: &'r Row) -> Result<PlannedRow<'r>, ReproductionError> {
        let mut planned = PlannedRow {
            row,
            readings: Vec::new(),
            missing: row.needs.clone(),
        };
        let others = match self.planning.all_readings {
            true => row.also.as_slice(),
            false => &[],
        };
        let readings = [None].into_iter().chain(others.iter().map(Some));
        for other in readings {
            let mut values = BTreeMap::new();
            for (name, value) in row.all_values() {
                let value =
                    other.map_or_else(|| value.clone(), |other| value.read_as(&name, other));
                match self.value(row, &name, &value)? {
                    Ok(planned) => {
                        values.insert(name, planned);
                    }
                    Err(missing) => planned.missing = Some(missing),
                }
            }
            let name = other.map(|other| other.reading.as_str());
            planned.readings.push(PlannedReading { name, values });
        }
        Ok(planned)
    }

    /// A value's runs, or why its data are missing.
    fn value(
        &mut self,
        row: &Row,
        name: &str,
        value: &Value,
    ) -> Result<Result<PlannedValue, String>, ReproductionError> {
        let checked = "rows are checked when they are read";
        let (read, file) = (
            value.read.as_ref().expect(checked),
            value.experiment.as_ref().expect(checked),
        );
        let key = (file.clone(), value.set.clone());
        if !self.experiments.contains_key(&key) {
            let planned = self.experiment(row, file, &value.set)?;
            self.experiments.insert(key.clone(), planned);
        }
        let runs = match &self.experiments[&key] {
            Ok(runs) => runs,
            Err(missing) => return Ok(Err(missing.clone())),
        };
        let has = |(place, config): &&(usize, serde_json::Value)| {
            settings::has(&self.plans[*place], config, &value.only)
        };
        let chosen = || runs.iter().filter(has);
        let differing =
            settings::differing(&chosen().map(|(_, config)| config).collect::<Vec<_>>());
        if !differing.is_empty() {
            return Err(ReproductionError::Several {
                row: row.id.clone(),
                value: name.to_owned(),
                experiment: file.clone(),
                differing,
            });
        }
        let mut runs: Vec<usize> = chosen().map(|(place, _)| *place).collect();
        if runs.is_empty() {
            return Err(ReproductionError::NoRun {
                row: row.id.clone(),
                value: name.to_owned(),
                experiment: file.clone(),
                settings: settings::shown(&value.only),
            });
        }
        runs.sort_by_key(|place| self.plans[*place].config.seed);
        Ok(Ok(PlannedValue {
            read: read.clone(),
            runs,
        }))
    }

    fn experiment(
        &mut self,
        row: &Row,
        file: &Path,
        set: &[String],
    ) -> Result<Experiment, ReproductionError> {
        let failed = |source: ConfigError| ReproductionError::Plan {
            row: row.id.clone(),
            source: Box::new(source),
        };
        let source =
            ExperimentSource::read(self.planning.experiments.join(file)).map_err(failed)?;
        let seeds = self.planning.seeds.map(|seeds| {
            let seeds: Vec<String> = (1..=seeds).map(|seed| seed.to_string()).collect();
            format!("sweep.grid.seed=[{}]", seeds.join(", "))
        });
        let source = source.with_overrides(set.iter().cloned().chain(seeds));
        let data = self
            .planning
            .data
            .clone()
            .beside(source.resolve(Path::new("")));
        let plans = match plan_on(self.planning.device, &source, &data) {
            Ok(plans) => plans,
            Err(error) if matches!(error.fault(), ConfigFault::Data(_)) => {
                // The first words name the file; the others say where to get it, which `meshfold data fetch` says as well.
                let reason = error.fault().to_string();
                let first = reason.split(';').next().unwrap_or(&reason);
                return Ok(Err(first.to_owned()));
            }
            Err(error) => return Err(failed(error)),
        };
        Ok(Ok(plans
            .into_iter()
            .map(|plan| self.remember(plan))
            .collect()))
    }

    /// The place of the run among all, and its configuration.
    fn remember(&mut self, plan: RunPlan) -> (usize, serde_json::Value) {
        let config = plan.config.to_json();
        let next = self.plans.len();
        let place = *self.place_of.entry(plan.id.clone()).or_insert(next);
        if place == next {
            self.plans.push(plan);
        }
        (place, config)
    }
}
