//! From an experiment to runs: every value checked, every overlay and partition made, nothing trained yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use meshfold_algorithms::{AlgorithmError, OverlayUse, Rows};
use meshfold_data::{DataFolder, Partition};
use meshfold_engine::{Key, Network, Purpose, stream};
use meshfold_topology::OverlaySummary;
use serde::Serialize;

use crate::config::RunConfig;
use crate::error::{ConfigError, Fault};
use crate::experiment::{Experiment, Resolved};
use crate::fault_path;
use crate::id::run_id;
use crate::label::joined;
use crate::memory::{self, Footprint};
use crate::planned_overlay::{Overlays, PlannedOverlay};
use crate::source::Source;

/// Bytes of a parameter as it is sent: f32.
const PARAMETER_BYTES: u64 = 4;

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
    /// Estimate of the memory that the run takes.
    pub memory_bytes: u64,
    /// Expected local steps of all rows in one round.
    pub local_steps_per_round: f64,
    /// Expected bytes sent in one round, each message counted once.
    pub bytes_per_round: u64,
    /// The overlay and its weights, if the method exchanges over one.
    pub overlay: Option<Arc<PlannedOverlay>>,
    /// Who owns which training example.
    pub partition: Arc<Partition>,
    /// What will work but may not be meant.
    pub warnings: Vec<String>,
}

/// The facts of a [`RunPlan`], in the order in which `meshfold plan --json` lists them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanSummary<'a> {
    /// See [`RunPlan::id`].
    pub id: &'a str,
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

    /// The facts, for `meshfold plan --json`.
    pub fn summary(&self) -> PlanSummary<'_> {
        PlanSummary {
            id: &self.id,
            clients: self.clients,
            rows: self.rows.count,
            parameters: self.parameters,
            memory_bytes: self.memory_bytes,
            local_steps_per_round: self.local_steps_per_round,
            bytes_per_round: self.bytes_per_round,
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
    plan_within(source, folder, memory::available())
}

/// [`plan`] on a machine with `available` bytes of memory left.
fn plan_within(
    source: &Source,
    folder: &DataFolder,
    available: Option<u64>,
) -> Result<Vec<RunPlan>, ConfigError> {
    let mut planner = Planner {
        folder,
        available,
        labels: BTreeMap::new(),
        partitions: BTreeMap::new(),
        overlays: Overlays::default(),
    };
    let mut plans: Vec<RunPlan> = Vec::new();
    let mut place_of: BTreeMap<String, usize> = BTreeMap::new();
    for run in Experiment::read(source)?.runs()? {
        let planned = planner.plan(run)?;
        match place_of.get(&planned.id) {
            Some(&place) => {
                let again = format!(
                    "the sweep asks for this run again as {}; it is run once",
                    planned.label()
                );
                plans[place].warnings.push(again);
            }
            None => {
                place_of.insert(planned.id.clone(), plans.len());
                plans.push(planned);
            }
        }
    }
    Ok(plans)
}

/// What the runs of a sweep share.
struct Planner<'a> {
    folder: &'a DataFolder,
    available: Option<u64>,
    /// Labels of the training examples, by dataset.
    labels: BTreeMap<String, Arc<Vec<u16>>>,
    /// By dataset and partition, and by the seed where it matters.
    partitions: BTreeMap<String, Arc<Partition>>,
    overlays: Overlays,
}

impl Planner<'_> {
    fn plan(&mut self, mut run: Resolved<'_>) -> Result<RunPlan, ConfigError> {
        check_numbers(&run)?;
        check_method(&run)?;
        let network = network(&run)?;
        let partition = self.partition(&run)?;
        let clients = partition.clients();
        let overlay = self.overlays.get(&mut run, clients)?;

        let config = run.config.clone();
        let (method, layout) = (&config.algorithm, network.layout());
        let (rows, parameters) = (method.rows(clients), layout.parameters());
        let dimensions = config.dataset.expected();
        let memory_bytes = Footprint {
            rows: rows.count,
            working_rows: method.working_rows(clients),
            width: layout.width(),
            examples: dimensions.examples_train + dimensions.examples_test,
            features: dimensions.features,
            mixing_weights: overlay.as_ref().map_or(0, |planned| planned.matrix.nnz()),
        }
        .bytes();
        if let Some(available) = self.available.filter(|available| memory_bytes > *available) {
            let fault = Fault::Memory {
                rows: rows.count,
                parameters,
                needed: memory_bytes,
                available,
            };
            return Err(run.error(fault, "model"));
        }
        let graph = overlay.as_ref().map(|planned| &planned.overlay);
        let model_bytes = PARAMETER_BYTES * parameters as u64;
        let forecast = method.forecast(&partition.sizes(), graph, model_bytes);
        Ok(RunPlan {
            id: run_id(&config),
            warnings: warnings(&config, overlay.as_deref()),
            variation: run.variation,
            clients,
            rows,
            parameters,
            memory_bytes,
            local_steps_per_round: forecast.local_steps,
            bytes_per_round: forecast.bytes,
            overlay,
            partition,
            config,
        })
    }

    /// The partition that `run` asks for.
    fn partition(&mut self, run: &Resolved<'_>) -> Result<Arc<Partition>, ConfigError> {
        let RunConfig {
            dataset,
            partition,
            seed,
            ..
        } = &run.config;
        let setting =
            serde_json::to_string(&(dataset, partition)).expect("settings have text keys");
        let seeded = format!("{setting} {seed}");
        let known = self
            .partitions
            .get(&setting)
            .or_else(|| self.partitions.get(&seeded));
        if let Some(known) = known {
            return Ok(Arc::clone(known));
        }
        let blame = |error| {
            let path = fault_path::of_partition(&error, run.choice("partition"));
            run.error(error, &path)
        };
        let dimensions = dataset.expected();
        partition
            .check(dimensions.examples_train, dimensions.classes)
            .map_err(blame)?;
        let labels = self.labels(run)?;
        let mut rng = stream(*seed, Purpose::Partition, Key::default());
        let split = Arc::new(
            partition
                .split(&labels, dimensions.classes, &mut rng)
                .map_err(blame)?,
        );
        // A partition that drew nothing is the same for every seed.
        let key = if rng.get_word_pos() == 0 {
            setting
        } else {
            seeded
        };
        self.partitions.insert(key, Arc::clone(&split));
        Ok(split)
    }

    /// The labels of the training examples of `run`.
    fn labels(&mut self, run: &Resolved<'_>) -> Result<Arc<Vec<u16>>, ConfigError> {
        let dataset = &run.config.dataset;
        let key = serde_json::to_string(dataset).expect("settings have text keys");
        if let Some(labels) = self.labels.get(&key) {
            return Ok(Arc::clone(labels));
        }
        let labels = dataset
            .labels(self.folder)
            .map_err(|error| run.error(error, "dataset"))?;
        Ok(Arc::clone(
            self.labels.entry(key).or_insert(Arc::new(labels)),
        ))
    }
}

/// Checks the values that stand for themselves.
fn check_numbers(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let config = &run.config;
    if !is_folder_name(&config.name) {
        let needed = "the name of a folder: without `/`, `\\` or control characters, not starting with a dot";
        return Err(run.wrong("name", format!("the text {:?}", config.name), needed));
    }
    if config.rounds == 0 {
        return Err(run.wrong("rounds", 0, "at least 1"));
    }
    if config.evaluate.every == 0 {
        return Err(run.wrong(
            "evaluate.every",
            0,
            "at least 1 round from one evaluation to the next",
        ));
    }
    if config
        .checkpoint
        .as_ref()
        .is_some_and(|checkpoint| checkpoint.every == 0)
    {
        return Err(run.wrong(
            "checkpoint.every",
            0,
            "at least 1 round from one checkpoint to the next",
        ));
    }
    let targets = config.evaluate.targets.iter().enumerate();
    if let Some((index, target)) = targets
        .into_iter()
        .find(|(_, target)| !(**target > 0.0 && **target <= 1.0))
    {
        let needed = "an accuracy as a fraction, above 0 and up to 1";
        return Err(run.wrong(&format!("evaluate.targets.{index}"), target, needed));
    }
    if let Err(error) = config.dataset.validate() {
        let path = fault_path::of_dataset(&error, run.choice("dataset"));
        return Err(run.error(error, &path));
    }
    let most = config.dataset.expected().examples_test;
    match config.evaluate.examples.count() {
        Some(count) if count == 0 || count > most => Err(run.wrong(
            "evaluate.examples",
            count,
            format!("1 to {most}, the test examples, or `all`"),
        )),
        _ => Ok(()),
    }
}

/// Checks the method's settings and whether it has the overlay that it needs, and no other.
fn check_method(run: &Resolved<'_>) -> Result<(), ConfigError> {
    let RunConfig {
        algorithm,
        topology,
        weights,
        ..
    } = &run.config;
    let method = algorithm.name();
    algorithm.check().map_err(|error| match error {
        AlgorithmError::Setting { key, found, needed } => {
            let path = format!("algorithm.{method}.{key}");
            let found = run.tree.get(&path).map_or(found, ToString::to_string);
            run.error(AlgorithmError::Setting { key, found, needed }, &path)
        }
        error => run.error(error, &format!("algorithm.{method}")),
    })?;
    match (algorithm.overlay_use(), topology) {
        (OverlayUse::Required, None) => {
            Err(run.error(Fault::OverlayNeeded { method }, "algorithm"))
        }
        (OverlayUse::Refused, Some(_)) => {
            Err(run.error(Fault::OverlayRefused { method }, "topology"))
        }
        (_, None) if weights.is_some() => Err(run.error(Fault::WeightsWithoutOverlay, "weights")),
        _ => Ok(()),
    }
}

/// The network of the run's model for the run's examples.
fn network(run: &Resolved<'_>) -> Result<Network, ConfigError> {
    let dimensions = run.config.dataset.expected();
    Network::new(&run.config.model, dimensions.features, dimensions.classes)
        .map_err(|error| run.error(error, &format!("model.{}.hidden", run.choice("model"))))
}

/// Whether results can be kept in a folder of this name, beside others and inside the folder of results.
fn is_folder_name(name: &str) -> bool {
    let plain = |character: char| !matches!(character, '/' | '\\') && !character.is_control();
    (1..=200).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with('.')
        && name.trim() == name
}

/// What will work but may not be meant.
fn warnings(config: &RunConfig, overlay: Option<&PlannedOverlay>) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(PlannedOverlay { summary, .. }) = overlay {
        let self_weight = summary.min_self_weight;
        if self_weight < 0.0 {
            warnings.push(format!(
                "the weights give a client as little as {self_weight:.4} of its own model, a negative share; \
                 a larger theta of laplacian weights avoids it"
            ));
        }
        if summary.lambda.is_some_and(|lambda| lambda >= 1.0 - 1e-9) && summary.nodes > 1 {
            warnings.push("the weights do not bring the models together: lambda is 1".to_owned());
        }
        if !summary.doubly_stochastic {
            warnings.push(
                "the weights do not preserve the plain mean of the models: columns of the mixing matrix do not sum to 1"
                    .to_owned(),
            );
        }
    }
    if config
        .checkpoint
        .as_ref()
        .is_some_and(|checkpoint| checkpoint.every > config.rounds)
    {
        warnings.push(
            "no checkpoint is written: there are fewer rounds than from one to the next".to_owned(),
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let planned = plan_within(&source, &folder, None).unwrap();
        let needed = planned[0].memory_bytes;
        assert!(plan_within(&source, &folder, Some(needed)).is_ok());
        let error = plan_within(&source, &folder, Some(needed - 1)).unwrap_err();
        let fault = Fault::Memory {
            rows: 3,
            parameters: 79_510,
            needed,
            available: needed - 1,
        };
        assert_eq!(format!("{:?}", error.fault()), format!("{fault:?}"));
        assert_eq!(
            error.to_string(),
            "a run of 3 rows with 79510 parameters needs about 2.8 MiB, 2.8 MiB are available"
        );
        assert_eq!(error.line(), Some(5));
    }

    #[test]
    fn names_that_are_no_folder_are_refused() {
        for name in [
            "",
            ".",
            "..",
            ".hidden",
            "a/b",
            "a\\b",
            "a\n",
            " a",
            &"a".repeat(201),
        ] {
            assert!(!is_folder_name(name), "{name:?}");
        }
        for name in ["mnist one-label", "ü", "a.b", "<script>"] {
            assert!(is_folder_name(name), "{name:?}");
        }
    }
}
