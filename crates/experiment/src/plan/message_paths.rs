//! Between which nodes the messages of a run may go, where every edge has a bandwidth of its own.

use meshfold_algorithms::{MessageScope, Pair, ServerNodes};
use meshfold_topology::{Overlay, Repair};

use crate::config::fault::ConfigFault;
use crate::config::run_config::RunConfig;
use crate::network::Clock;
use crate::plan::joint_union::{MOST_OVERLAYS, MOST_PARTS};
use crate::plan::planned_overlay::{PlannedOverlay, snapshot};
use crate::plan::population::Population;

/// Checks that every two nodes between which a message may go have a bandwidth, if `clock` knows one of each edge.
///
/// Of a schedule's overlays as many are looked at as [`MOST_OVERLAYS`] and [`MOST_PARTS`] allow.
///
/// # Interpretation
/// Whoever may take part counts, also if no round of this run happens to draw it.
///
/// # Errors
/// [`ConfigFault::Network`] for the first edge without a bandwidth; [`ConfigFault::Topology`] if an overlay of a later round cannot be
/// built.
pub(crate) fn check(
    config: &RunConfig,
    population: &Population,
    planned: Option<&PlannedOverlay>,
    clock: &Clock,
) -> Result<(), ConfigFault> {
    if !clock.is_by_edge() {
        return Ok(());
    }
    let (method, setting) = (&config.algorithm, &population.setting);
    let undisturbed = config.failures.0.is_empty() && config.stragglers.is_none();
    match (
        method.message_scope(setting, config.rounds, undisturbed),
        planned,
    ) {
        (MessageScope::Nobody, _) => {}
        (MessageScope::Pairs(pairs), _) => clock.check_edges(pairs)?,
        (MessageScope::AnyTwo, _) => clock.check_edges(any_two(setting.clients as u32))?,
        (MessageScope::Neighbours, Some(_)) if repairs(config) => {
            clock.check_edges(any_two(setting.clients as u32))?;
        }
        (MessageScope::Neighbours, Some(planned)) => {
            let clients = setting.clients as u32;
            let groups = method.overlay_groups(setting);
            if let Some(groups) = &groups {
                clock.check_edges(of_servers(groups, clients))?;
            }
            if method.profile().servers == ServerNodes::One {
                clock.check_edges((0..clients).map(|client| (clients, client)))?;
            }
            let first = groups.map_or(0, |_| clients);
            of_overlays(config, population, planned, clock, first)?;
        }
        (MessageScope::Neighbours, None) => {}
    }
    Ok(())
}

/// Checks the edges of one overlay of a schedule after another, whose node 0 is node `first` of the network.
fn of_overlays(
    config: &RunConfig,
    population: &Population,
    planned: &PlannedOverlay,
    clock: &Clock,
    first: u32,
) -> Result<(), ConfigFault> {
    let (topology, nodes) = (&planned.topology, planned.overlay.nodes());
    let of = |overlay: &Overlay| {
        let edges = overlay.edges();
        clock.check_edges(edges.map(|(a, b)| (first + a, first + b)))
    };
    of(&planned.overlay)?;
    let mut parts = 0;
    let later = topology.change_rounds(nodes, config.rounds).skip(1);
    for round in later.take(MOST_OVERLAYS) {
        let overlay = snapshot(topology, population, round)?.0.overlay;
        of(&overlay)?;
        parts += nodes + overlay.edge_count();
        if parts > MOST_PARTS {
            break;
        }
    }
    Ok(())
}

/// Every two of `clients` clients.
fn any_two(clients: u32) -> impl Iterator<Item = Pair> {
    (0..clients).flat_map(move |a| (a + 1..clients).map(move |b| (a, b)))
}

/// Clients with their servers, the nodes behind the clients.
fn of_servers(groups: &[Vec<u32>], clients: u32) -> impl Iterator<Item = Pair> {
    (clients..).zip(groups).flat_map(|(server, group)| {
        let of_group = group.iter();
        of_group.map(move |client| (server, *client))
    })
}

/// Whether a protocol may link any two clients when others fail.
fn repairs(config: &RunConfig) -> bool {
    let mut failures = config.failures.0.iter();
    failures.any(|failure| failure.repair == Repair::Protocol)
}
