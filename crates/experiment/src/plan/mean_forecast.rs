//! The work and the messages of a round, on average over the overlays of a schedule.

use std::collections::BTreeMap;

use meshfold_algorithms::Forecast;
use meshfold_topology::{Outside, Overlay, Topology, TopologyError};

use crate::config::run_config::RunConfig;
use crate::plan::planned_overlay::{PlannedOverlay, snapshot};
use crate::plan::population::Population;

/// The most overlays that are drawn, and the most edges that they may have together, but for the last.
const MOST_OVERLAYS: usize = 1024;
const MOST_EDGES: usize = 1_000_000;
/// Rounds that are looked at, from the first.
const MOST_ROUNDS: usize = 100_000;

/// The mean over the rounds in which nobody fails or falls behind: over all of them where the overlay is one of few, and else over the
/// first. Overlays of a function of the user's own are not drawn: those of the first round stand for all.
///
/// # Errors
/// [`TopologyError`] if an overlay cannot be drawn.
pub(super) fn of(
    config: &RunConfig,
    population: &Population,
    planned: Option<&PlannedOverlay>,
) -> Result<Forecast, TopologyError> {
    let forecast =
        |overlay: Option<&Overlay>| config.algorithm.forecast(&population.setting, overlay);
    let Some(planned) = planned else {
        return Ok(forecast(None));
    };
    let topology = &planned.topology;
    if !topology.varies() || matches!(topology, Topology::Own(_)) {
        return Ok(forecast(Some(&planned.overlay)));
    }
    let (mut of_draws, mut edges) = (BTreeMap::new(), 0);
    let (mut rounds, mut local_steps, mut bytes) = (0.0, 0.0, 0.0);
    for round in 1..=config.rounds.clamp(1, MOST_ROUNDS) {
        let draw = topology.epoch(round, planned.overlay.nodes()).draw;
        let known = of_draws.get(&draw).copied();
        let of_round = match known {
            Some(known) => known,
            None if of_draws.len() == MOST_OVERLAYS || edges > MOST_EDGES => break,
            None => {
                let (snapshot, _) = snapshot(topology, population, round)?;
                edges += snapshot.overlay.edge_count();
                let drawn = forecast(Some(&snapshot.overlay));
                let working = match snapshot.outside {
                    Outside::Frozen => {
                        share_of(&snapshot.members, &snapshot.overlay, config, population)
                    }
                    Outside::Alone => 1.0,
                };
                let drawn = Forecast {
                    local_steps: drawn.local_steps * working,
                    ..drawn
                };
                of_draws.insert(draw, drawn);
                drawn
            }
        };
        rounds += 1.0;
        local_steps += of_round.local_steps;
        bytes += of_round.bytes as f64;
    }
    Ok(Forecast {
        local_steps: local_steps / rounds,
        bytes: (bytes / rounds).round() as u64,
    })
}

/// The share of all local steps that are those of `members`, if they are clients.
fn share_of(
    members: &[bool],
    overlay: &Overlay,
    config: &RunConfig,
    population: &Population,
) -> f64 {
    let setting = &population.setting;
    if overlay.nodes() != setting.clients {
        return 1.0;
    }
    let training = config.algorithm.training();
    let steps = |size: &usize| f64::from(training.steps_on(*size));
    let sizes = setting.shard_sizes.iter().zip(members);
    let of_members = sizes.filter(|(_, member)| **member);
    let all = training.steps_of_all(setting);
    match all > 0.0 {
        true => of_members.map(|(size, _)| steps(size)).sum::<f64>() / all,
        false => 1.0,
    }
}
