//! Plans one run after another, sharing what runs of a sweep have in common.

use std::collections::BTreeMap;
use std::sync::Arc;

use meshfold_data::{DataFolder, Partition};
use meshfold_engine::{Key, Model, Network, Purpose, stream};

use crate::checks;
use crate::config::RunConfig;
use crate::error::ConfigError;
use crate::experiment::Resolved;
use crate::fault::Fault;
use crate::fault_path;
use crate::id::run_id;
use crate::memory::Footprint;
use crate::plan::RunPlan;
use crate::planned_overlay::{Overlays, PlannedOverlay};

/// Bytes of a parameter as it is sent: f32.
const PARAMETER_BYTES: u64 = 4;
/// Widest layer: a matrix between two such layers has 2^48 parameters, far beyond any memory and short of overflow.
const MOST_UNITS: usize = 1 << 24;

/// What the runs of a sweep share.
pub(crate) struct Planner<'a> {
    folder: &'a DataFolder,
    available: Option<u64>,
    /// Labels of the training examples, by dataset.
    labels: BTreeMap<String, Arc<Vec<u16>>>,
    /// By dataset and partition, and by the seed where it matters.
    partitions: BTreeMap<String, Arc<Partition>>,
    overlays: Overlays,
}

impl<'a> Planner<'a> {
    /// Plans for a machine with `available` bytes of memory left, with datasets in `folder`.
    pub(crate) fn new(folder: &'a DataFolder, available: Option<u64>) -> Self {
        Self {
            folder,
            available,
            labels: BTreeMap::new(),
            partitions: BTreeMap::new(),
            overlays: Overlays::default(),
        }
    }

    /// Checks every value of `run` and makes what it needs.
    pub(crate) fn plan(&mut self, mut run: Resolved<'_>) -> Result<RunPlan, ConfigError> {
        checks::numbers(&run)?;
        checks::method(&run)?;
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

/// The network of the run's model for the run's examples.
fn network(run: &Resolved<'_>) -> Result<Network, ConfigError> {
    if let Model::Mlp(mlp) = &run.config.model
        && let Some(index) = mlp.hidden.iter().position(|units| *units > MOST_UNITS)
    {
        let needed = format!("at most {MOST_UNITS} units in a layer");
        return Err(run.wrong(
            &format!("model.mlp.hidden.{index}"),
            mlp.hidden[index],
            needed,
        ));
    }
    let dimensions = run.config.dataset.expected();
    Network::new(&run.config.model, dimensions.features, dimensions.classes).map_err(|error| {
        let path = fault_path::of_model(&error, run.choice("model"));
        run.error(error, &path)
    })
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
