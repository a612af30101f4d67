//! Between which nodes the messages of a run may go, where every edge has a bandwidth of its own.

use meshfold_algorithms::{Assign, Dfedrw, Hierfavg, Method, Source, WalkRows};
use meshfold_topology::{Overlay, Repair};

use crate::config::RunConfig;
use crate::fault::Fault;
use crate::joint_union::{MOST_OVERLAYS, MOST_PARTS};
use crate::network::Clock;
use crate::planned_overlay::{PlannedOverlay, snapshot};
use crate::population::Population;

type Pair = (u32, u32);

/// Checks that every two nodes between which a message may go have a bandwidth, if `clock` knows one of each edge.
///
/// Of a schedule's overlays as many are looked at as [`MOST_OVERLAYS`] and [`MOST_PARTS`] allow.
///
/// # Interpretation
/// Whoever may take part counts, also if no round of this run happens to draw it.
///
/// # Errors
/// [`Fault::Network`] for the first edge without a bandwidth; [`Fault::Topology`] if an overlay of a later round cannot be
/// built.
pub(crate) fn check(
    config: &RunConfig,
    population: &Population,
    planned: Option<&PlannedOverlay>,
    clock: &Clock,
) -> Result<(), Fault> {
    let clients = population.setting.clients as u32;
    match (&config.algorithm, planned) {
        _ if !clock.is_by_edge() => {}
        (Method::Fedavg(_) | Method::Fedprox(_) | Method::Scaffold(_), _) => {
            clock.check_edges((0..clients).map(|client| (clients, client)))?;
        }
        (Method::Hierfavg(hierfavg), _) => clock.check_edges(of_hierfavg(hierfavg, clients))?,
        (Method::Swarm(_), _) => clock.check_edges(all(clients))?,
        (Method::OnePeer(_), _) if config.failures.0.is_empty() && config.stragglers.is_none() => {
            clock.check_edges(of_one_peer(clients, config.rounds))?;
        }
        (Method::OnePeer(_), _) => clock.check_edges(all(clients))?,
        (Method::Dfedrw(dfedrw), _) if leaves_the_overlay(dfedrw) => {
            clock.check_edges(all(clients))?;
        }
        (_, Some(_)) if repairs(config) => clock.check_edges(all(clients))?,
        (method, Some(planned)) => {
            let groups = method.overlay_groups(&population.setting);
            if let Some(groups) = &groups {
                clock.check_edges(of_servers(groups, clients))?;
            }
            let first = groups.map_or(0, |_| clients);
            of_overlays((config, population), planned, clock, first)?;
        }
        (_, None) => {}
    }
    Ok(())
}

/// Checks the edges of one overlay of a schedule after another, whose node 0 is node `first` of the network.
fn of_overlays(
    (config, population): (&RunConfig, &Population),
    planned: &PlannedOverlay,
    clock: &Clock,
    first: u32,
) -> Result<(), Fault> {
    let (topology, nodes) = (&planned.topology, planned.overlay.nodes());
    let of = |overlay: &Overlay| {
        let edges = overlay.edges();
        let moved: Vec<Pair> = edges.map(|(a, b)| (first + a, first + b)).collect();
        clock.check_edges(moved)
    };
    of(&planned.overlay)?;
    let mut parts = 0;
    let later = topology.beginnings(nodes, config.rounds).skip(1);
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
fn all(clients: u32) -> impl Iterator<Item = Pair> {
    (0..clients).flat_map(move |a| (a + 1..clients).map(move |b| (a, b)))
}

/// Clients with their servers, the nodes behind the clients.
fn of_servers(groups: &[Vec<u32>], clients: u32) -> impl Iterator<Item = Pair> {
    (clients..).zip(groups).flat_map(|(server, group)| {
        let of_group = group.iter();
        of_group.map(move |client| (server, *client))
    })
}

/// Clients with their edge servers, any of them where they are dealt at random, and edge servers with the root.
fn of_hierfavg(hierfavg: &Hierfavg, clients: u32) -> Vec<Pair> {
    let servers = hierfavg.servers.count as u32;
    let root = (clients..clients + servers).map(|server| (clients + servers, server));
    let to_clients: Vec<Pair> = match &hierfavg.servers.assign {
        Assign::List(list) => (0..clients)
            .zip(list)
            .map(|(client, server)| (clients + *server as u32, client))
            .collect(),
        Assign::Random | Assign::ByLabel => (clients..clients + servers)
            .flat_map(|server| (0..clients).map(move |client| (server, client)))
            .collect(),
    };
    to_clients.into_iter().chain(root).collect()
}

/// Clients some power of two apart, while all of them take part.
fn of_one_peer(clients: u32, rounds: usize) -> impl Iterator<Item = Pair> {
    let period = u32::BITS - clients.saturating_sub(1).leading_zeros();
    let hops = (0..period).take(rounds).map(|power| 1_u32 << power);
    hops.flat_map(move |hop| (0..clients).map(move |to| ((to + clients - hop) % clients, to)))
}

/// Whether clients hear from others than their neighbours.
fn leaves_the_overlay(dfedrw: &Dfedrw) -> bool {
    dfedrw.rows == WalkRows::Walkers || dfedrw.from != Source::Neighbours
}

/// Whether a protocol may link any two clients when others fail.
fn repairs(config: &RunConfig) -> bool {
    let mut failures = config.failures.0.iter();
    failures.any(|failure| failure.repair == Repair::Protocol)
}
