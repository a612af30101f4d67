//! Checks that the overlays of a schedule connect their nodes together, and finds over how many rounds.

use meshfold_algorithms::OverlayUse;
use meshfold_topology::{GrowingUnion, Survey, TopologyError};

use crate::config::run_config::RunConfig;
use crate::plan::planned_overlay::{PlannedOverlay, snapshot};
use crate::plan::population::Population;

/// The most overlays of a schedule that are looked at.
pub(crate) const MOST_OVERLAYS: usize = 2000;
/// The most nodes and edges that they may have together.
pub(crate) const MOST_PARTS: usize = 5_000_000;

/// What is known of the union of a schedule's overlays.
enum Union {
    /// Those up to this round are connected.
    Connected(usize),
    /// Those of all rounds are not: this node is never linked with node 0, both ways.
    Apart(u32),
    /// Those up to this round are not, and later ones were not looked at: this node is not linked with node 0.
    Unknown(usize, u32),
}

/// What may not be meant of overlays that change in the course of a run of `config`.
///
/// # Errors
/// [`TopologyError`] if an overlay that was looked at cannot be built.
pub(crate) fn warning(
    planned: &PlannedOverlay,
    population: &Population,
    config: &RunConfig,
) -> Result<Option<String>, TopologyError> {
    if !planned.topology.varies() {
        return Ok(None);
    }
    let rounds = config.rounds;
    let who = match config.algorithm.profile().overlay {
        OverlayUse::Servers(_) => "server",
        OverlayUse::Clients | OverlayUse::Refused => "client",
    };
    let nothing = match planned.topology.is_directed() {
        true => "no path there and back links",
        false => "nothing links",
    };
    let in_a_row = planned
        .schedule
        .and_then(|schedule| schedule.rounds_to_connect);
    Ok(match (union(planned, population, rounds)?, in_a_row) {
        (Union::Connected(_), Some(1)) | (Union::Connected(1), None) => None,
        (Union::Connected(_), Some(some)) => {
            let lambda = match planned.lambda_is_of_round_1() {
                true => "that of the first overlay",
                false => "per exchange, over a whole period",
            };
            Some(format!(
                "not every overlay of the schedule connects the {who}s; any {some} rounds in a row do. λ is {lambda}"
            ))
        }
        (Union::Connected(last), None) => Some(format!(
            "not every overlay of the schedule connects the {who}s; the first {last} rounds together do"
        )),
        (Union::Apart(node), Some(some)) => Some(format!(
            "the overlays of the run's rounds, {rounds}, do not connect the {who}s, not even all together: {nothing} \
             {who} {node} with {who} 0; any {some} rounds in a row would"
        )),
        (Union::Apart(node), None) => Some(format!(
            "the overlays of all {rounds} rounds together do not connect the {who}s: {nothing} {who} {node} with {who} 0"
        )),
        (Union::Unknown(last, node), _) => Some(format!(
            "the overlays of the first {last} rounds do not connect the {who}s, not even all together: {nothing} {who} \
             {node} with {who} 0; later ones were not looked at"
        )),
    })
}

/// Adds one overlay after another until they connect the nodes.
fn union(
    planned: &PlannedOverlay,
    population: &Population,
    rounds: usize,
) -> Result<Union, TopologyError> {
    let (topology, nodes) = (&planned.topology, planned.overlay.nodes());
    let survey = topology.survey();
    // Entries of a list are all built once, so that none is found at fault in the midst of a run.
    let all = survey == Survey::All && planned.schedule.is_none();
    let mut union = GrowingUnion::new(nodes);
    let (mut connected, mut parts) = (None, 0);
    for (index, round) in topology.change_rounds(nodes, rounds).enumerate() {
        if index >= MOST_OVERLAYS || parts > MOST_PARTS {
            let apart = union.first_apart();
            let unknown = apart.map(|node| Union::Unknown(round - 1, node));
            return Ok(connected.or(unknown).unwrap_or(Union::Connected(round)));
        }
        let later;
        let overlay = match round {
            1 => &planned.overlay,
            _ => {
                later = snapshot(topology, population, round)?.0.overlay;
                &later
            }
        };
        parts += nodes + overlay.edge_count();
        union.add(overlay);
        if union.is_connected() && connected.is_none() {
            connected = Some(Union::Connected(round));
        }
        if (connected.is_some() && !all) || survey == Survey::First {
            break;
        }
    }
    let apart = union.first_apart().map(Union::Apart);
    Ok(connected.or(apart).unwrap_or(Union::Connected(1)))
}
