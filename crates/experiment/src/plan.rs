//! Plans the runs of an experiment: checks every value, and makes every overlay and partition. Nothing is trained yet.

mod checks;
pub(crate) mod churn;
pub(crate) mod division;
mod effort;
mod evaluation_checks;
mod failure_checks;
mod fairness;
mod joint_union;
mod local_work;
mod mean_exchange;
mod mean_forecast;
pub(crate) mod memory;
mod message_paths;
pub(crate) mod over_ranks;
mod overlay_checks;
pub(crate) mod overlays_of_rounds;
pub(crate) mod placement;
mod planned_clock;
mod planned_data;
mod planned_model;
pub(crate) mod planned_overlay;
mod planner;
pub(crate) mod population;
pub(crate) mod ramanujan;
mod rate_warnings;
mod read_once;
pub(crate) mod round_graph;
pub(crate) mod run_plan;
pub(crate) mod schedule_summary;
pub(crate) mod selection;
mod stability;
mod start_models;
mod straggler_policies;
mod untrained_labels;
mod value_warnings;
pub(crate) mod warnings;
mod working_memory;

use std::collections::HashMap;

use meshfold_data::DataFolder;
use meshfold_engine::Device;

use crate::config::brief::brief;
use crate::config::error::ConfigError;
use crate::config::experiment::Experiment;
use crate::config::mistakes;
use crate::config::run_config::RunConfig;
use crate::config::source::ExperimentSource;
use crate::config::tree::Node;
use planner::Planner;
use run_plan::RunPlan;

/// All runs of the experiment in `source`, in the order of its sweep. A run that is asked for twice is planned once.
///
/// Labels are read from `folder` where the dataset has files; images are neither read nor drawn.
///
/// # Errors
/// [`ConfigError`] of the first value that is at fault, pointing at where it was written.
pub fn plan(source: &ExperimentSource, folder: &DataFolder) -> Result<Vec<RunPlan>, ConfigError> {
    let planner = Planner::new(folder, None, memory::available());
    plan_by(planner, source)
}

/// [`plan`] for runs on `device`, which decides how much memory they take; [`plan`] assumes the processor with all its
/// cores.
///
/// # Errors
/// As [`plan`].
pub fn plan_on(
    device: &Device,
    source: &ExperimentSource,
    folder: &DataFolder,
) -> Result<Vec<RunPlan>, ConfigError> {
    let planner = Planner::new(folder, Some(device), memory::available());
    plan_by(planner, source)
}

/// [`plan_on`] that also plans without the files of a dataset, from what is
/// [published](meshfold_data::DatasetConfig::published) of it, with a warning. It shows what the runs would need before
/// anything is fetched. Such plans cannot be run.
///
/// # Errors
/// As [`plan`].
pub fn plan_without_data(
    device: &Device,
    source: &ExperimentSource,
    folder: &DataFolder,
) -> Result<Vec<RunPlan>, ConfigError> {
    let planner = Planner::new(folder, Some(device), memory::available());
    plan_by(planner.without_data(), source)
}

/// [`plan`] for runs on other machines with devices like `device`, the processor with all its cores if absent. No run
/// is refused because this machine lacks memory.
///
/// # Errors
/// As [`plan`].
pub fn plan_elsewhere(
    device: Option<&Device>,
    source: &ExperimentSource,
    folder: &DataFolder,
) -> Result<Vec<RunPlan>, ConfigError> {
    plan_by(Planner::new(folder, device, None), source)
}

/// All runs of the experiment in `source`, as `planner` plans them.
fn plan_by(
    mut planner: Planner<'_>,
    source: &ExperimentSource,
) -> Result<Vec<RunPlan>, ConfigError> {
    let all_mistakes =
        |first| mistakes::all::<RunConfig>(source, first, |tree| mistakes_alone(source, tree));
    let experiment = Experiment::read(source).map_err(all_mistakes)?;
    let runs = experiment.runs().map_err(all_mistakes)?;
    if let Some(error) = ConfigError::of_all(runs.iter().flat_map(checks::values)) {
        return Err(error);
    }
    let mut plans: Vec<RunPlan> = Vec::with_capacity(runs.len());
    let mut place_of: HashMap<String, usize> = HashMap::with_capacity(runs.len());
    // The first run that asks for the skew of cliques and has none.
    let mut asks_in_vain = None;
    for (index, run) in runs.into_iter().enumerate() {
        let asks = checks::asks_for_cliques(&run);
        let is_same_on_any_overlay = run.leaves_overlay_out;
        let planned = planner.plan(run)?;
        if asks && !planned.has_cliques() {
            asks_in_vain.get_or_insert(index);
        }
        match place_of.get(&planned.id) {
            Some(_) if is_same_on_any_overlay => {}
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

/// What is wrong with single values of the run whose values `tree` has.
fn mistakes_alone(source: &ExperimentSource, tree: &Node) -> Vec<ConfigError> {
    let experiment = Experiment::of_one(source, tree.clone());
    let run = experiment.run(0);
    run.map_or_else(|_| Vec::new(), |run| checks::single_values(&run))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fault::ConfigFault;

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
        let (source, folder) = (
            ExperimentSource::new("tiny.yaml", YAML),
            DataFolder::new("unused"),
        );
        let within = |available| plan_by(Planner::new(&folder, None, available), &source);
        let planned = within(None).unwrap();
        let needed = planned[0].memory_bytes;
        within(Some(needed)).unwrap();
        let error = within(Some(needed - 1)).unwrap_err();
        let fault = ConfigFault::Memory {
            rows: 3,
            parameters: 79_510,
            over: None,
            needed,
            available: needed - 1,
            enough: {
                let footprint = planned[0].footprint;
                footprint.ranks_within(needed - 1, false, &|_, _| footprint.working_bytes)
            },
        };
        assert_eq!(format!("{:?}", error.fault()), format!("{fault:?}"));
        let said = error.to_string();
        let start = "a run of 3 rows with 79510 parameters needs about ";
        assert!(said.starts_with(start), "{said}");
        assert!(said.ends_with(" MiB are available"), "{said}");
        assert_eq!(error.line(), Some(5));
    }
    #[test]
    fn a_run_that_fits_several_machines_is_told_how_many() {
        let wide = YAML.replace("hidden: [100]", "hidden: [4000]");
        assert_ne!(wide, YAML);
        let wide = wide.replace("clients: 3", "clients: 30");
        let folder = DataFolder::new("unused");
        let source = ExperimentSource::new("wide.yaml", wide);
        let within = |available| plan_by(Planner::new(&folder, None, available), &source);
        let half = within(None).unwrap()[0].memory_bytes / 2;
        let help = within(Some(half)).unwrap_err().fault().help().unwrap();
        let ranks = help
            .split("over ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        let ranks: usize = ranks.unwrap().parse().unwrap();
        let over = |ranks| within(None).unwrap()[0].over_ranks(ranks).memory_bytes;
        assert!(over(ranks) <= half && over(ranks - 1) > half, "{help}");
    }
}
