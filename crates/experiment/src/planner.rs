//! Plans one run after another, sharing what runs of a sweep have in common.

use std::collections::HashMap;
use std::sync::Arc;

use meshfold_algorithms::RowKind;
use meshfold_data::{
    DataError, DataFolder, DatasetConfig, Outline, OwnFiles, Partition, Published,
};
use meshfold_engine::{Device, Key, Network, OwnModels, Purpose, WorkloadSize, stream};
use serde::Serialize;

use crate::checks;
use crate::config::RunConfig;
use crate::effort::{self, Effort, Pace, Workload};
use crate::error::ConfigError;
use crate::experiment::Resolved;
use crate::failing;
use crate::fault::Fault;
use crate::fault_path;
use crate::id::run_id;
use crate::local_work;
use crate::memory::Footprint;
use crate::overlay_memory;
use crate::plan::RunPlan;
use crate::planned_network::Networks;
use crate::planned_overlay::{Overlays, PlannedOverlay};
use crate::population::{self, Population, Populations};
use crate::practice::Quantity;
use crate::stability;

/// What the runs of a sweep share.
pub(crate) struct Planner<'a> {
    folder: &'a DataFolder,
    own_models: &'a OwnModels,
    /// What is run on; the processor with all its cores if absent.
    device: Option<&'a Device>,
    /// Threads of the processor that a run has.
    threads: usize,
    pace: Pace,
    available: Option<u64>,
    /// Whether a dataset whose files are missing is known by what is published of it.
    published: bool,
    /// By dataset.
    outlines: HashMap<String, Known>,
    networks: Networks,
    /// By dataset and partition, and by the seed where it matters. None is let go of while others are planned.
    partitions: HashMap<String, Arc<Partition>>,
    populations: Populations,
    overlays: Overlays,
    /// Whether it was said that making an overlay takes long.
    said_slow: bool,
}

/// A dataset as far as it is known.
#[derive(Clone)]
struct Known {
    outline: Arc<Outline>,
    /// Its files, if they are the user's own.
    files: Arc<OwnFiles>,
    /// Where its files are missing: which, and the figures that stand for them.
    warning: Option<String>,
}

impl<'a> Planner<'a> {
    /// Plans for `device`, the processor with all its cores if absent, on a machine with `available` bytes of memory left,
    /// with datasets in `folder`.
    pub(crate) fn new(
        folder: &'a DataFolder,
        own_models: &'a OwnModels,
        device: Option<&'a Device>,
        available: Option<u64>,
    ) -> Self {
        Self {
            folder,
            own_models,
            device,
            threads: effort::threads(device),
            pace: Pace::of(device),
            available,
            published: false,
            outlines: HashMap::new(),
            networks: Networks::default(),
            partitions: HashMap::new(),
            populations: Populations::default(),
            overlays: Overlays::within(available),
            said_slow: false,
        }
    }

    /// Plans with what is published of datasets whose files are missing.
    pub(crate) fn without_data(self) -> Self {
        Self {
            published: true,
            ..self
        }
    }

    /// Checks every value of `run` and makes what it needs.
    pub(crate) fn plan(&mut self, mut run: Resolved<'_>) -> Result<RunPlan, ConfigError> {
        checks::numbers(&run)?;
        checks::method(&run)?;
        checks::theory(&run)?;
        let dataset = json(&run.config.dataset);
        let Known {
            outline,
            files,
            warning,
        } = self.outline(&run, &dataset)?;
        let network = self
            .networks
            .get(&run, self.own_models, (&dataset, &outline))?;
        let partition = self.partition(&run, &dataset, &outline)?;
        let clients = partition.clients();
        checks::clients(&run, clients)?;
        let (train, test) = dealt_sizes(&outline, &partition);
        checks::test_examples(&run, test)?;
        let layout = network.layout();
        let population = self.populations.get(
            &partition,
            (&outline, run.config.partition.pools()),
            &run.config.algorithm,
            population::Model {
                seed: run.config.seed,
                parameters: layout.parameters(),
                blocks: layout.blocks().len(),
            },
        );
        local_work::check(&run, &population)?;
        self.tell_of_swaps(&run, &population);
        let overlay = self.overlays.get(&mut run, &population)?;
        let mut warnings = checks::overlay(&run, &population, overlay.as_deref())?;
        let clock = checks::network(&mut run, &population, overlay.as_deref())?;

        let config = &run.config;
        let method = &config.algorithm;
        let (rows, parameters) = (method.rows(clients), layout.parameters());
        let mixing_weights = overlay.as_ref().map_or(0, |planned| planned.matrix.nnz());
        let memory_bytes = Footprint {
            rows: rows.count,
            working_rows: method
                .working_rows(clients)
                .saturating_add(config.evaluate.extra_rows(rows.count)),
            width: layout.width(),
            examples: train + test,
            owned_examples: match outline.has_owners() {
                true => outline.train() + outline.test(),
                false => 0,
            },
            feature_bytes: outline.feature_bytes(),
            dealt_bytes: dealt_bytes(&outline, &partition),
            reading_bytes: config.dataset.reading_bytes(&outline, self.threads),
            overlay_bytes: overlay
                .as_ref()
                .map_or(0, |planned| overlay_memory::held(planned, config)),
            planning_bytes: overlay
                .as_ref()
                .map_or(0, |planned| overlay_memory::while_planned(planned, config)),
            page_bytes: overlay
                .as_ref()
                .map_or(0, |planned| overlay_memory::of_the_page(planned, config)),
            working_bytes: self.working_bytes(config, &network, (&partition, test), &outline),
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
        let graph = overlay.as_ref().map(|planned| &*planned.overlay);
        let forecast = method.forecast(&population.setting, graph);
        let effort = Effort::of(&Workload {
            config,
            network: &network,
            population: &population,
            forecast,
            rows: rows.count,
            mixing_weights,
            tests: test,
        });
        let seconds = effort.seconds(&self.pace);
        warnings.extend(effort::warning(seconds, &self.pace));
        warnings.extend(local_work::deadline(&run, &population, clock.as_ref()));
        warnings.extend(failing::warnings(config, clients, overlay.as_deref()));
        warnings.extend(self::warnings(config, overlay.as_deref()));
        warnings.extend(warning);
        let mut planned = RunPlan {
            id: run_id(config),
            warnings,
            variation: run.variation.clone(),
            clients,
            rows,
            parameters,
            model: network,
            memory_bytes,
            local_steps_per_round: forecast.local_steps,
            bytes_per_round: forecast.bytes,
            // Numbers beyond the type become its largest.
            multiply_adds: effort.multiply_adds as u64,
            seconds,
            overlay,
            dataset: outline,
            files,
            partition,
            population,
            clock,
            config: RunConfig::clone(config),
        };
        let unstable = stability::warning(&planned).map_err(|error| {
            let path = fault_path::of_topology(&error, run.choice("topology"));
            run.error(error, &path)
        })?;
        planned.warnings.extend(unstable);
        Ok(planned)
    }

    /// What training and judging on `tests` test examples take besides models and examples.
    fn working_bytes(
        &self,
        config: &RunConfig,
        network: &Network,
        (partition, tests): (&Partition, usize),
        outline: &Outline,
    ) -> u64 {
        let (method, clients) = (&config.algorithm, partition.clients());
        let sgd = method.training().sgd;
        let largest = partition.sizes().into_iter();
        let workload = WorkloadSize {
            // Where few rows stand for many clients, those that train are among the working rows.
            rows: method
                .rows(clients)
                .count
                .max(method.working_rows(clients).min(clients)),
            batch: sgd.batch_on(largest.max().unwrap_or(0)),
            tests: config.evaluate.most_examples(tests),
            stored: outline.feature_bytes(),
            sgd: &sgd,
        };
        match self.device {
            Some(device) => device.working_bytes(network, &workload),
            None => network.working_bytes(&workload, self.threads),
        }
    }

    /// Says that the overlay of `run` takes long to make, before it is: nothing else would be heard of until it is done.
    fn tell_of_swaps(&mut self, run: &Resolved<'_>, population: &Population) {
        let topology = run.config.topology.as_ref().filter(|_| !self.said_slow);
        let slow = topology.and_then(|topology| effort::slow_overlay(topology, population.nodes()));
        if let Some(words) = slow {
            self.said_slow = true;
            tracing::warn!("{words}");
        }
    }

    /// The partition of `dataset` that `run` asks for.
    fn partition(
        &mut self,
        run: &Resolved<'_>,
        dataset: &str,
        outline: &Outline,
    ) -> Result<Arc<Partition>, ConfigError> {
        let (partition, seed) = (&run.config.partition, &run.config.seed);
        let merges = run.config.algorithm.merges_clients();
        let setting = format!("{dataset} {} {merges}", json(partition));
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
        let examples = outline.labelled(partition.pools());
        let mut rng = stream(*seed, Purpose::Partition, Key::default());
        let mut split = partition.split(examples, &mut rng).map_err(blame)?;
        if merges {
            split = split.merged();
        }
        let split = Arc::new(split);
        // A partition that drew nothing is the same for every seed.
        let key = if rng.get_word_pos() == 0 {
            setting
        } else {
            seeded
        };
        self.partitions.insert(key, Arc::clone(&split));
        Ok(split)
    }

    /// Sizes, labels and owners of the examples of `run`, which are those of `dataset`.
    fn outline(&mut self, run: &Resolved<'_>, dataset: &str) -> Result<Known, ConfigError> {
        if let Some(known) = self.outlines.get(dataset) {
            return Ok(known.clone());
        }
        let known = self.known(&run.config.dataset);
        let known = known.map_err(|error| run.error(error, "dataset"))?;
        self.outlines.insert(dataset.to_owned(), known.clone());
        Ok(known)
    }

    /// What the files of `dataset` say of it, or its makers where files are missing and that is enough.
    fn known(&self, dataset: &DatasetConfig) -> Result<Known, DataError> {
        let missing = match dataset.outline(self.folder) {
            Err(error) if self.published && error.is_missing() => error,
            outline => {
                return Ok(Known {
                    outline: Arc::new(outline?),
                    files: Arc::new(dataset.own_files(self.folder)),
                    warning: None,
                });
            }
        };
        let Some(Published { outline, figures }) = dataset.published()? else {
            return Err(missing);
        };
        let warning =
            format!("planned without the data, from published figures ({figures}): {missing}");
        Ok(Known {
            outline: Arc::new(outline),
            files: Arc::default(),
            warning: Some(warning),
        })
    }
}

/// A setting as a text that tells it from others.
pub(crate) fn json(setting: &impl Serialize) -> String {
    serde_json::to_string(setting).expect("settings have text keys")
}

/// Training and test examples on the device once `partition` has dealt those of the dataset.
fn dealt_sizes(outline: &Outline, partition: &Partition) -> (usize, usize) {
    let (train, test) = (outline.train(), outline.test());
    match partition.held_out() {
        None => (train, test),
        Some(held_out) => (train + test, held_out.len()),
    }
}

/// Bytes of the features that `partition` copies to hold out a test set of its own, and of those that it holds out.
fn dealt_bytes(outline: &Outline, partition: &Partition) -> usize {
    let examples = outline.train() + outline.test();
    partition.held_out().map_or(0, |held_out| {
        let each = outline.feature_bytes() / examples.max(1);
        outline.feature_bytes() + held_out.len() * each
    })
}

/// What will work but may not be meant.
fn warnings(config: &RunConfig, overlay: Option<&PlannedOverlay>) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(planned) = overlay {
        let summary = &planned.summary;
        let self_weight = summary.min_self_weight;
        if self_weight < 0.0 {
            warnings.push(format!(
                "the weights give a client as little as {self_weight:.4} of its own model, a negative share; \
                 a larger theta of laplacian weights avoids it"
            ));
        }
        let stuck = summary.lambda.is_some_and(|lambda| lambda >= 1.0 - 1e-9);
        if stuck && summary.nodes > 1 && !planned.topology.varies() {
            warnings.push("the weights do not bring the models together: lambda is 1".to_owned());
        }
        if !summary.doubly_stochastic && config.algorithm.own_weights().is_none() {
            warnings.push(
                "the weights do not preserve the plain mean of the models: columns of the mixing matrix do not sum to 1"
                    .to_owned(),
            );
        }
    }
    if config
        .checkpoint
        .as_ref()
        .is_some_and(|checkpoint| checkpoint.every >= config.rounds && !checkpoint.keep)
    {
        warnings.push(
            "no checkpoint is written unless the run is interrupted: the first one would be due when it ends"
                .to_owned(),
        );
    }
    warnings.extend(of_clients_alone(config));
    warnings
}

/// What is asked for of models that clients hold, where they hold none.
fn of_clients_alone(config: &RunConfig) -> Vec<String> {
    let (method, evaluate) = (&config.algorithm, &config.evaluate);
    let kind = method.rows(1).kind;
    let asked = [
        (
            evaluate.theory.contains(&Quantity::Inexactness),
            "`theory: inexactness`",
        ),
        (evaluate.train, "`train`"),
    ];
    let in_vain = asked
        .into_iter()
        .filter(|(asked, _)| *asked && kind != RowKind::Client);
    let warning = |(_, key): (bool, &str)| {
        format!(
            "{key} of evaluate is not recorded: it is of models that clients hold, those of {} are each a {}'s",
            method.name(),
            kind.name()
        )
    };
    in_vain.map(warning).collect()
}
