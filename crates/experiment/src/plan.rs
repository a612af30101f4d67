//! From an experiment to runs: every value checked, every overlay and partition made, nothing trained yet.

use std::collections::HashMap;
use std::sync::Arc;

use meshfold_algorithms::Rows;
use meshfold_data::{DataFolder, DatasetSummary, OwnFiles, Partition};
use meshfold_engine::{Device, Network, OwnModels};
use meshfold_topology::OverlaySummary;
use serde::Serialize;

use crate::brief::brief;
use crate::checks;
use crate::config::RunConfig;
use crate::error::ConfigError;
use crate::experiment::Experiment;
use crate::label::joined;
use crate::memory;
use crate::network::Clock;
use crate::planned_overlay::PlannedOverlay;
use crate::planner::Planner;
use crate::population::Population;
use crate::source::Source;

/// A run that can be carried out.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// Hash of the configuration without its name: the same id is the same run.
    pub id: String,
    /// Every value of the run.
    pub config: RunConfig,
    /// The paths that the sweep sets in this run and a short text of each value; empty if there is no sweep.
    pub variation: Vec<(String, String)>,
    /// Number of clients `N`.
    pub clients: usize,
    /// The models that exist between rounds, `R`.
    pub rows: Rows,
    /// Parameters of a model, `P`.
    pub parameters: usize,
    /// The model, fitted to the examples.
    pub model: Network,
    /// Estimate of the most memory that the run holds at once, in bytes: of the machine, and of a GPU that it runs on.
    pub memory_bytes: u64,
    /// Expected local steps of all rows in a round in which nobody fails or falls behind.
    pub local_steps_per_round: f64,
    /// Expected bytes sent in such a round, each message counted once.
    pub bytes_per_round: u64,
    /// Estimate of the multiply-adds of the whole run, if nobody fails or falls behind: those of the local steps, of mixing
    /// and of judging the models. It is good enough to compare runs, and to tell seconds from days.
    pub multiply_adds: u64,
    /// About how many seconds the run takes alone on the device that it is planned for, which may be wrong by a factor of
    /// ten.
    pub seconds: f64,
    /// The overlay and its weights, if the method exchanges over one.
    pub overlay: Option<Arc<PlannedOverlay>>,
    /// Sizes, labels and owners of the examples.
    pub dataset: Arc<DatasetSummary>,
    /// The files of the dataset, if they are the user's own.
    pub files: Arc<OwnFiles>,
    /// Who owns which training example.
    pub partition: Arc<Partition>,
    /// The clients, and the nodes of the overlay, by what they hold.
    pub population: Population,
    /// What tells how long a round takes, if a network is described.
    pub clock: Option<Clock>,
    /// What will work but may not be meant.
    pub warnings: Vec<String>,
}

/// The facts of a [`RunPlan`], in the order in which `meshfold plan --json` lists them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanSummary<'a> {
    /// See [`RunPlan::id`].
    pub id: &'a str,
    /// See [`RunPlan::label`].
    pub label: String,
    /// See [`RunPlan::clients`].
    pub clients: usize,
    /// Number of rows `R`.
    pub rows: usize,
    /// See [`RunPlan::parameters`].
    pub parameters: usize,
    /// See [`RunPlan::memory_bytes`].
    pub memory_bytes: u64,
    /// See [`RunPlan::local_steps_per_round`].
    pub local_steps_per_round: f64,
    /// See [`RunPlan::bytes_per_round`].
    pub bytes_per_round: u64,
    /// See [`RunPlan::multiply_adds`].
    pub multiply_adds: u64,
    /// Figures of the overlay, if there is one.
    pub overlay: Option<&'a OverlaySummary>,
}

impl RunPlan {
    /// What sets the run apart in its sweep, such as `topology=ring, seed=2`; the name if there is no sweep.
    pub fn label(&self) -> String {
        if self.variation.is_empty() {
            self.config.name.clone()
        } else {
            joined(&self.variation)
        }
    }

    /// Whether the run exchanges over an overlay of cliques.
    fn has_cliques(&self) -> bool {
        let planned = self.overlay.as_ref();
        planned.is_some_and(|planned| planned.overlay.groups().is_some())
    }

    /// The facts, for `meshfold plan --json`.
    pub fn summary(&self) -> PlanSummary<'_> {
        PlanSummary {
            id: &self.id,
            label: self.label(),
            clients: self.clients,
            rows: self.rows.count,
            parameters: self.parameters,
            memory_bytes: self.memory_bytes,
            local_steps_per_round: self.local_steps_per_round,
            bytes_per_round: self.bytes_per_round,
            multiply_adds: self.multiply_adds,
            overlay: self.overlay.as_ref().map(|planned| &planned.summary),
        }
    }
}

/// All runs of the experiment in `source`, in the order of its sweep, a run that is asked for twice once.
///
/// Labels are read from `folder` where the dataset has files; images are neither read nor drawn.
///
/// # Errors
/// [`ConfigError`] of the first value that is at fault, pointing at where it was written.
pub fn plan(source: &Source, folder: &DataFolder) -> Result<Vec<RunPlan>, ConfigError> {
    plan_with(source, folder, &OwnModels::new())
}

/// [`plan`] where `model: {own: NAME}` may name one of `own_models`. [`run`](crate::run()) then knows it from the plan.
///
/// The id of a run has the name of such a model, but nothing of what the model does: who changes that takes another name,
/// or runs again.
///
/// # Errors
/// As [`plan`].
pub fn plan_with(
    source: &Source,
    folder: &DataFolder,
    own_models: &OwnModels,
) -> Result<Vec<RunPlan>, ConfigError> {
    let planner = Planner::new(folder, own_models, None, memory::available());
    plan_by(planner, source)
}

/// [`plan_with`] for runs on `device`, which decides how much memory they take; the others plan for the processor with
/// all its cores.
///
/// # Errors
/// As [`plan`].
pub fn plan_on(
    device: &Device,
    source: &Source,
    folder: &DataFolder,
    own_models: &OwnModels,
) -> Result<Vec<RunPlan>, ConfigError> {
    let planner = Planner::new(folder, own_models, Some(device), memory::available());
    plan_by(planner, source)
}

/// [`plan_on`] that knows a dataset whose files are missing by what is [published](meshfold_data::DatasetConfig::published)
/// of it, with a warning: what the runs would need, before anything is fetched. They cannot be run.
///
/// # Errors
/// As [`plan`].
pub fn plan_without_data(
    device: &Device,
    source: &Source,
    folder: &DataFolder,
    own_models: &OwnModels,
) -> Result<Vec<RunPlan>, ConfigError> {
    let planner = Planner::new(folder, own_models, Some(device), memory::available());
    plan_by(planner.without_data(), source)
}

/// All runs of the experiment in `source`, as `planner` plans them.
fn plan_by(mut planner: Planner<'_>, source: &Source) -> Result<Vec<RunPlan>, ConfigError> {
    let experiment = Experiment::read(source)?;
    let runs = experiment.runs()?;
    let mut plans: Vec<RunPlan> = Vec::with_capacity(runs.len());
    let mut place_of: HashMap<String, usize> = HashMap::with_capacity(runs.len());
    // The first run that asks for the skew of cliques and has none.
    let mut asks_in_vain = None;
    for (index, run) in runs.into_iter().enumerate() {
        let asks = checks::asks_for_cliques(&run);
        let planned = planner.plan(run)?;
        if asks && !planned.has_cliques() {
            asks_in_vain.get_or_insert(index);
        }
        match place_of.get(&planned.id) {
            Some(&place) => {
                let again = format!(
                    "the sweep asks for this run again as {}; it is run once",
                    brief(&planned.label())
                );
                plans[place].warnings.push(again);
            }
            None => {
                place_of.insert(planned.id.clone(), plans.len());
                plans.push(planned);
            }
        }
    }
    match asks_in_vain {
        Some(index) if !plans.iter().any(RunPlan::has_cliques) => {
            let run = experiment.runs()?.swap_remove(index);
            Err(checks::no_cliques(&run))
        }
        _ => Ok(plans),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    const YAML: &str = "\
name: tiny
dataset: {glyphs: {train: 60, test: 10}}
partition: {iid: {clients: 3}}
topology: complete
model: {mlp: {hidden: [100]}}
algorithm: {dsgd: {batch_size: 20, learning_rate: 0.05}}
rounds: 5
";

    #[test]
    fn a_run_that_does_not_fit_in_memory_is_refused_with_the_figure() {
        let (source, folder) = (Source::new("tiny.yaml", YAML), DataFolder::new("unused"));
        let none = OwnModels::new();
        let within = |available| plan_by(Planner::new(&folder, &none, None, available), &source);
        let planned = within(None).unwrap();
        let needed = planned[0].memory_bytes;
        assert!(within(Some(needed)).is_ok());
        let error = within(Some(needed - 1)).unwrap_err();
        let fault = Fault::Memory {
            rows: 3,
            parameters: 79_510,
            needed,
            available: needed - 1,
        };
        assert_eq!(format!("{:?}", error.fault()), format!("{fault:?}"));
        let said = error.to_string();
        let start = "a run of 3 rows with 79510 parameters needs about ";
        assert!(said.starts_with(start), "{said}");
        assert!(said.ends_with(" MiB are available"), "{said}");
        assert_eq!(error.line(), Some(5));
    }
}
