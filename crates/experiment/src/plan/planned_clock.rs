//! The clock of a run, which tells how long a round takes on the network that it describes.

use meshfold_algorithms::StragglerUnit;
use meshfold_engine::{Amount, Purpose};

use crate::config::error::ConfigError;
use crate::config::experiment::Resolved;
use crate::config::fault::ConfigFault;
use crate::config::fault_path;
use crate::network::{Barrier, Clock, LinkModel, NetworkError, NetworkNodes, SimulatedNetwork};
use crate::plan::message_paths;
use crate::plan::planned_overlay::PlannedOverlay;
use crate::plan::population::Population;

/// Fills in what the file of a trace holds, if the network of `run` has one.
///
/// # Errors
/// [`ConfigError`] at the file.
pub(super) fn read_trace(run: &mut Resolved<'_>) -> Result<(), ConfigError> {
    let network = run.config.network.as_ref();
    let Some(LinkModel::Trace(trace)) = network.map(|network| &network.links) else {
        return Ok(());
    };
    let path = run.source.resolve(&trace.file);
    let read = trace.read(&path).map_err(|error| blame(run, error))?;
    if let Some(network) = &mut run.config.network {
        network.links = LinkModel::Trace(read);
    }
    Ok(())
}

/// The clock of the run, if a network is described: its values are checked, and that all messages have a way.
///
/// # Errors
/// [`ConfigError`] at `network`, or at the topology if one of its overlays cannot be drawn.
pub(super) fn clock(
    run: &Resolved<'_>,
    population: &Population,
    planned: Option<&PlannedOverlay>,
) -> Result<Option<Clock>, ConfigError> {
    let Some(network) = &run.config.network else {
        return Ok(None);
    };
    let training = run.config.algorithm.training();
    let per_epoch = |shard: &usize| training.sgd.steps_on(Amount::Epochs(1), *shard);
    let everyone = NetworkNodes {
        steps_per_epoch: population
            .setting
            .shard_sizes
            .iter()
            .map(per_epoch)
            .collect(),
        servers: population.servers,
    };
    expect_barrier(run, network)?;
    let seed = run.config.seed_of(Purpose::Network);
    let stragglers = run.config.stragglers.as_ref();
    let clock = Clock::new(network, &everyone, seed)
        .map_err(|error| blame(run, error))?
        .until(stragglers.and_then(|stragglers| stragglers.deadline_seconds));
    message_paths::check(&run.config, population, planned, &clock).map_err(|fault| {
        let path = match &fault {
            ConfigFault::Network(error) => format!("network.{}", error.key()),
            ConfigFault::Topology(error) => fault_path::of_topology(error),
            _ => "network".to_owned(),
        };
        run.error(fault, &path)
    })?;
    Ok(Some(clock))
}

/// Requires a global barrier where nothing is known of who waits for whom.
///
/// # Errors
/// [`ConfigError`] at the barrier.
fn expect_barrier(run: &Resolved<'_>, network: &SimulatedNetwork) -> Result<(), ConfigError> {
    let (config, path) = (&run.config, "network.barrier");
    if network.barrier != Some(Barrier::Local) {
        return Ok(());
    }
    let stragglers = config.stragglers.as_ref();
    if stragglers.is_some_and(|stragglers| stragglers.deadline_seconds.is_some()) {
        let needed = "`global` with `stragglers.deadline_seconds`, which all wait for";
        return Err(run.wrong(path, "local", needed));
    }
    if config.algorithm.profile().stragglers == StragglerUnit::Walks {
        let needed = "`global` for a method of walks, which do not wait for each other anyway";
        return Err(run.wrong(path, "local", needed));
    }
    Ok(())
}

/// The complaint about the network of `run`, at the setting that is at fault.
fn blame(run: &Resolved<'_>, error: NetworkError) -> ConfigError {
    let path = format!("network.{}", error.key());
    run.error(error, &path)
}
