//! Plans one run after another, sharing what runs of a sweep have in common.

use std::sync::Arc;

use meshfold_algorithms::{Forecast, Rows};
use meshfold_data::{DataFolder, Partition};
use meshfold_engine::{Device, Network, Purpose, Ranks};
use meshfold_topology::TopologyError;

use crate::config::error::ConfigError;
use crate::config::experiment::Resolved;
use crate::config::fault::ConfigFault;
use crate::config::fault_path;
use crate::config::id::run_id;
use crate::config::run_config::RunConfig;
use crate::network::Clock;
use crate::plan::checks;
use crate::plan::effort::{self, DeviceSpeed, Effort, Workload};
use crate::plan::evaluation_checks;
use crate::plan::failure_checks;
use crate::plan::local_work;
use crate::plan::mean_forecast;
use crate::plan::memory::{self, Footprint, RankShare};
use crate::plan::overlay_checks;
use crate::plan::placement::{Placement, Placements};
use crate::plan::planned_clock;
use crate::plan::planned_data::{
    DealtExamples, KnownDataset, PlannedData, dealt_bytes, dealt_sizes, held_out_bytes, json,
    shared_bytes,
};
use crate::plan::planned_model::Networks;
use crate::plan::planned_overlay::{Overlays, PlannedOverlay};
use crate::plan::population::{self, Population, Populations};
use crate::plan::rate_warnings;
use crate::plan::run_plan::RunPlan;
use crate::plan::stability;
use crate::plan::start_models;
use crate::plan::value_warnings;
use crate::plan::working_memory::WorkingMemory;

/// What the runs of a sweep share.
pub(crate) struct Planner<'a> {
    /// The device of the runs; the processor with all its cores if absent.
    device: Option<&'a Device>,
    /// Threads of the processor that a run has.
    threads: usize,
    speed: DeviceSpeed,
    available: Option<u64>,
    data: PlannedData<'a>,
    networks: Networks,
    populations: Populations,
    overlays: Overlays,
    placements: Placements,
    /// Whether there was a warning that making an overlay takes long.
    warned_of_slow_overlay: bool,
}

/// The examples of a run, who owns which, and the model that is trained on them.
struct Learning {
    dataset: KnownDataset,
    network: Network,
    partition: Arc<Partition>,
    /// Of labels that are tested and that nobody can learn.
    untrained_labels: Option<String>,
    /// Training and test examples on the device.
    train: usize,
    test: usize,
    population: Population,
    rows: Rows,
}

/// How the models of a run are exchanged.
struct Exchange {
    overlay: Option<Arc<PlannedOverlay>>,
    clock: Option<Clock>,
    warnings: Vec<String>,
}

/// What a run costs.
struct Cost {
    forecast: Forecast,
    effort: Effort,
    seconds: f64,
}

impl<'a> Planner<'a> {
    /// Plans for `device`, the processor with all its cores if absent, on a machine with `available` bytes of memory left,
    /// with datasets in `folder`.
    pub(crate) fn new(
        folder: &'a DataFolder,
        device: Option<&'a Device>,
        available: Option<u64>,
    ) -> Self {
        Self {
            device,
            threads: effort::threads(device),
            speed: DeviceSpeed::of(device),
            available,
            data: PlannedData::new(folder, device.and_then(Device::ranks)),
            networks: Networks::default(),
            populations: Populations::default(),
            overlays: Overlays::within(available),
            placements: Placements::default(),
            warned_of_slow_overlay: false,
        }
    }

    /// Plans with what is published of datasets whose files are missing.
    pub(crate) fn without_data(mut self) -> Self {
        self.data.published = true;
        self
    }

    /// Makes what `run` needs, and checks its values against that. Values by themselves are [checked](checks::values)
    /// before.
    ///
    /// # Errors
    /// [`ConfigError`] of the first value that is at fault.
    pub(crate) fn plan(&mut self, mut run: Resolved<'_>) -> Result<RunPlan, ConfigError> {
        let learning = self.learning(&run)?;
        start_models::check(&mut run, learning.rows, learning.network.layout())?;
        let exchange = self.exchange(&mut run, &learning.population)?;
        let footprint = self.footprint(&run.config, &learning, exchange.overlay.as_deref());
        let placement = self.placement(&run.config, &learning, exchange.overlay.as_ref());
        let working = self.working(&run.config, &learning);
        let shares = placement.as_deref().map(|placement| {
            let (rows, overlay) = (learning.rows.count, exchange.overlay.as_deref());
            let partition = &*learning.partition;
            RankShare::of_all(placement, rows, partition, overlay, working.on_gpu())
        });
        let shares = shares.unwrap_or_default();
        let memory_bytes = self.memory_bytes(&run, &learning, (&footprint, &working), &shares)?;
        let overlay = exchange.overlay.as_deref();
        let cost = self
            .cost(&run.config, &learning, overlay)
            .map_err(|error| {
                let path = fault_path::of_topology(&error);
                run.error(error, &path)
            })?;
        let warnings = self.warnings(&run, &learning, &exchange, &cost);
        let config = &run.config;
        let mut planned = RunPlan {
            id: run_id(config),
            warnings,
            variation: run.variation.clone(),
            clients: learning.partition.clients(),
            rows: learning.rows,
            parameters: learning.network.layout().parameters(),
            model: learning.network,
            memory_bytes,
            footprint,
            placement,
            local_steps_per_round: cost.forecast.local_steps,
            bytes_per_round: cost.forecast.bytes,
            // Numbers beyond the type become its largest.
            multiply_adds: cost.effort.multiply_adds as u64,
            seconds: cost.seconds,
            overlay: exchange.overlay,
            dataset: learning.dataset.outline,
            files: learning.dataset.files,
            partition: learning.partition,
            population: learning.population,
            clock: exchange.clock,
            config: RunConfig::clone(config),
            own: run.source.own().clone(),
        };
        let unstable = stability::warning(&planned).map_err(|error| {
            let path = fault_path::of_topology(&error);
            run.error(error, &path)
        })?;
        planned.warnings.extend(unstable);
        Ok(planned)
    }

    /// The examples, who owns which, and the model that is trained on them.
    fn learning(&mut self, run: &Resolved<'_>) -> Result<Learning, ConfigError> {
        let config = &run.config;
        let key = json(&config.dataset);
        let dataset = self.data.outline(run, &key)?;
        let outline = &dataset.outline;
        let network = self.networks.get(run, &key, outline)?;
        checks::precision(run, self.device)?;
        let DealtExamples {
            partition,
            warning: untrained_labels,
        } = self.data.partition(run, &key, outline)?;
        checks::clients(run, partition.clients())?;
        let (train, test) = dealt_sizes(outline, &partition);
        checks::augmented_examples(run, outline.input(), train)?;
        evaluation_checks::test_examples(run, test)?;
        evaluation_checks::validation(run, outline.validation())?;
        evaluation_checks::client_views(run, outline)?;
        let rows = config.algorithm.rows(partition.clients());
        evaluation_checks::membership(run, outline, &network, rows.kind)?;
        let population = self.populations.get(
            &partition,
            outline,
            config.partition.pools(),
            &config.algorithm,
            population::Model {
                seed: config.seed_of(Purpose::Participation),
                overlay_seed: config.seed_of(Purpose::Overlay),
                rounds: config.rounds,
                layout: Arc::clone(network.layout()),
            },
        );
        local_work::check(run, &population)?;
        Ok(Learning {
            rows,
            dataset,
            network,
            partition,
            untrained_labels,
            train,
            test,
            population,
        })
    }

    /// The overlay that models are exchanged over, and how long its messages take; fills in what the files of edge lists and
    /// of a trace hold.
    fn exchange(
        &mut self,
        run: &mut Resolved<'_>,
        population: &Population,
    ) -> Result<Exchange, ConfigError> {
        self.warn_of_slow_overlay(run, population);
        let overlay = self.overlays.get(run, population)?;
        let warnings = overlay_checks::check(run, population, overlay.as_deref())?;
        planned_clock::read_trace(run)?;
        let clock = planned_clock::clock(run, population, overlay.as_deref())?;
        Ok(Exchange {
            overlay,
            clock,
            warnings,
        })
    }

    /// Where the rows of a run lie, if the device is one of several ranks.
    fn placement(
        &mut self,
        config: &RunConfig,
        learning: &Learning,
        overlay: Option<&Arc<PlannedOverlay>>,
    ) -> Option<Arc<Placement>> {
        let ranks = self.device.and_then(Device::ranks)?.count();
        let population = &learning.population;
        Some(self.placements.get(config, population, overlay, ranks))
    }

    /// What fills the memory of one process that has all rows.
    fn footprint(
        &self,
        config: &RunConfig,
        learning: &Learning,
        overlay: Option<&PlannedOverlay>,
    ) -> Footprint {
        let (outline, partition) = (&*learning.dataset.outline, &*learning.partition);
        let (clients, rows) = (partition.clients(), learning.rows.count);
        let working_rows = config.algorithm.working_rows(clients);
        Footprint {
            rows,
            working_rows: working_rows.saturating_add(config.evaluate.extra_rows(rows, clients)),
            width: learning.network.layout().width(),
            examples: learning.train + learning.test + outline.validation(),
            owned_examples: match outline.has_owners() {
                true => outline.train() + outline.test(),
                false => 0,
            },
            feature_bytes: outline.feature_bytes(),
            shared_bytes: shared_bytes(outline, partition),
            held_out_bytes: held_out_bytes(outline, partition),
            message_bytes: 0,
            piece_bytes: self.data.piece_bytes(config, outline, partition),
            dealt_bytes: dealt_bytes(outline, partition),
            reading_bytes: config.dataset.reading_bytes(outline, self.threads),
            overlay_bytes: overlay.map_or(0, |planned| memory::overlay::held(planned, config)),
            planning_bytes: overlay.map_or(0, memory::overlay::while_planned),
            page_bytes: overlay.map_or(0, memory::overlay::of_the_page),
            working_bytes: self.working(config, learning).bytes(),
        }
    }

    /// Estimate of the most memory that this process holds at once in the run of `footprint`, in bytes.
    ///
    /// # Errors
    /// [`ConfigFault::Memory`] if that is more than is left.
    fn memory_bytes(
        &self,
        run: &Resolved<'_>,
        learning: &Learning,
        (footprint, working): (&Footprint, &WorkingMemory<'_>),
        shares: &[RankShare],
    ) -> Result<u64, ConfigError> {
        let ranks = self.device.and_then(Device::ranks);
        let of_a_rank = |share: &RankShare, stored: usize| working.of_a_rank(share, stored);
        let needed = footprint.of_ranks(shares, &of_a_rank);
        let sharing = ranks.map_or(1, Ranks::on_this_machine) as u64;
        let available = self.available.map(|available| available / sharing);
        match available.filter(|available| needed > *available) {
            Some(available) => {
                let all = available * sharing;
                let fault = ConfigFault::Memory {
                    rows: learning.rows.count,
                    parameters: learning.network.layout().parameters(),
                    over: ranks.map(Ranks::count),
                    needed,
                    available,
                    enough: footprint.ranks_within(all, working.on_gpu(), &of_a_rank),
                };
                Err(run.error(fault, "model"))
            }
            None => Ok(needed),
        }
    }

    /// What the run costs in messages, computation and time.
    fn cost(
        &self,
        config: &RunConfig,
        learning: &Learning,
        overlay: Option<&PlannedOverlay>,
    ) -> Result<Cost, TopologyError> {
        let forecast = mean_forecast::of(config, &learning.population, overlay)?;
        let effort = Effort::of(&Workload {
            config,
            network: &learning.network,
            population: &learning.population,
            forecast,
            rows: learning.rows.count,
            mixing_weights: overlay.map_or(0, |planned| planned.matrix.nnz()),
            tests: learning.test,
            local_tests: learning.partition.local_test_examples(),
            validation: learning.dataset.outline.validation(),
        });
        Ok(Cost {
            seconds: effort.seconds(&self.speed),
            forecast,
            effort,
        })
    }

    /// Warnings, except those that need the finished plan.
    fn warnings(
        &self,
        run: &Resolved<'_>,
        learning: &Learning,
        exchange: &Exchange,
        cost: &Cost,
    ) -> Vec<String> {
        let (config, overlay) = (&run.config, exchange.overlay.as_deref());
        let clients = learning.partition.clients();
        let mut warnings = exchange.warnings.clone();
        warnings.extend(effort::warning(cost.seconds, &self.speed));
        warnings.extend(local_work::deadline(
            run,
            &learning.population,
            exchange.clock.as_ref(),
        ));
        warnings.extend(failure_checks::warnings(config, clients, overlay));
        let outline = &learning.dataset.outline;
        warnings.extend(value_warnings::of(config, clients, outline, overlay));
        warnings.extend(rate_warnings::of(config, &learning.population.setting));
        if run.leaves_overlay_out {
            let method = config.algorithm.name();
            warnings.push(format!(
                "`topology` is left out, for {method} exchanges over no overlay"
            ));
        }
        warnings.extend(learning.untrained_labels.clone());
        warnings.extend(evaluation_checks::untested_clients(&learning.partition));
        warnings.extend(learning.dataset.warning.clone());
        warnings
    }

    /// What training and judging take besides models and examples.
    fn working<'b>(&self, config: &RunConfig, learning: &'b Learning) -> WorkingMemory<'b>
    where
        'a: 'b,
    {
        let examples = (&*learning.dataset.outline, learning.test);
        let (network, partition) = (&learning.network, &*learning.partition);
        WorkingMemory::of(self.device, config, network, partition, examples)
    }

    /// Warns that the overlay of `run` takes long, before making it: nothing else would be heard until it is done.
    fn warn_of_slow_overlay(&mut self, run: &Resolved<'_>, population: &Population) {
        let topology = run
            .config
            .topology
            .as_ref()
            .filter(|_| !self.warned_of_slow_overlay);
        let slow = topology.and_then(|topology| effort::slow_overlay(topology, population.nodes()));
        if let Some(words) = slow {
            self.warned_of_slow_overlay = true;
            tracing::warn!("{words}");
        }
    }
}
