//! Estimates the memory of an overlay, its weights and its messages, and checks that it fits what is left before it is built.

use meshfold_algorithms::{OverlayUse, Policy};
use meshfold_topology::{OverlaySize, Topology, Weights};

use crate::config::error::ConfigError;
use crate::config::fault::ConfigFault;
use crate::config::run_config::RunConfig;
use crate::plan::planned_overlay::PlannedOverlay;

/// Fewer bytes are there wherever the program runs.
const LITTLE: u64 = 16 << 20;
/// Bytes of an arc of an overlay.
const ARC: u64 = 4;
/// Bytes of a weight: eight, and four for its column; then four of each on the device.
const WEIGHT: u64 = 12 + 8;
/// Bytes of a message that is counted by itself, in a list that grows.
const MESSAGE: u64 = 2 * 16;

/// Checks that an overlay of `nodes` nodes can be built in the memory that is left, before any of it is built.
///
/// # Errors
/// [`ConfigFault::OverlayMemory`], with what is needed and what is left.
pub fn check_overlay_memory(
    topology: &Topology,
    weights: &Weights,
    nodes: usize,
) -> Result<(), ConfigError> {
    let size = topology.size(nodes);
    check(size, weights, super::available()).map_err(ConfigFault::nowhere)
}

/// Checks that an overlay of this size can be built with `available` bytes.
///
/// # Errors
/// [`ConfigFault::OverlayMemory`].
pub(crate) fn check(
    size: OverlaySize,
    weights: &Weights,
    available: Option<u64>,
) -> Result<(), ConfigFault> {
    let needed = size.building_bytes(weights);
    match available.filter(|available| needed > LITTLE.max(*available)) {
        Some(available) => Err(ConfigFault::overlay_memory(size, needed, available)),
        None => Ok(()),
    }
}

/// Estimate in bytes of the most memory that building the overlay and computing its figures took.
pub(crate) fn while_planned(planned: &PlannedOverlay) -> u64 {
    let size = planned.topology.size(planned.overlay.nodes());
    size.building_bytes(&planned.weights)
}

/// Estimate in bytes of what the page about the run takes for the overlay.
pub(crate) fn of_the_page(planned: &PlannedOverlay) -> u64 {
    let size = planned.topology.size(planned.overlay.nodes());
    size.page_bytes(&planned.weights)
}

/// Estimate in bytes of what a run holds in a round: the overlay as it was planned with its weights; those of a schedule; what
/// failures leave, and stragglers; and the messages, where each is counted by itself.
pub(crate) fn held(planned: &PlannedOverlay, config: &RunConfig) -> u64 {
    let whole = Held {
        arcs: planned.overlay.listed_arcs() as u64,
        weights: planned.matrix.stored_weights() as u64,
    };
    let size = planned.topology.size(planned.overlay.nodes());
    let of_a_round = planned.topology.varies().then(|| Held {
        arcs: size.arcs() as u64,
        weights: size.weights(&planned.weights) as u64,
    });
    let most_edges = (planned.overlay.edge_count() as u64).max(size.edges as u64);
    let all_arcs = most_edges.saturating_mul(2);
    let every_one = Held {
        arcs: all_arcs,
        weights: all_arcs.saturating_add(planned.overlay.nodes() as u64),
    };
    let loses_edges = config
        .failures
        .0
        .iter()
        .any(|failure| failure.edges.is_some());
    let mut failures = config.failures.0.iter();
    let loses_messages = failures.any(|failure| failure.messages.is_some());
    let fails = !config.failures.0.is_empty();
    let policy = config.straggler_policy();
    // Whoever is left of a complete overlay shares one row of weights, unless edges are lost or weights are kept.
    let left = match loses_edges || !planned.weights.share_a_row_after_failures() {
        true => every_one,
        false => whole,
    };
    let listening = Held {
        weights: every_one.weights,
        ..whole
    };
    let parts = [
        Some(whole),
        of_a_round,
        // One is made while that of the round before is there.
        of_a_round,
        // Those of the round before are there until those of the next one are made.
        fails.then_some(left),
        fails.then_some(left),
        match policy {
            Some(Policy::Receive) => Some(listening),
            Some(Policy::Isolate) => Some(left),
            Some(Policy::Partial) | None => None,
        },
        // What arrives is listed one by one.
        loses_messages.then_some(every_one),
        loses_messages.then_some(every_one),
    ];
    let links = parts.into_iter().flatten().map(Held::bytes);
    let of_servers = matches!(config.algorithm.profile().overlay, OverlayUse::Servers(_));
    let messages = match of_servers || policy == Some(Policy::Receive) {
        true => all_arcs.saturating_mul(MESSAGE),
        false => 0,
    };
    links.fold(messages, u64::saturating_add)
}

/// What is held one by one of an overlay and its weights.
#[derive(Clone, Copy)]
struct Held {
    arcs: u64,
    weights: u64,
}

impl Held {
    fn bytes(self) -> u64 {
        let arcs = self.arcs.saturating_mul(ARC);
        arcs.saturating_add(self.weights.saturating_mul(WEIGHT))
    }
}
