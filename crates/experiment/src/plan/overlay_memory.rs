//! Checks that an overlay fits the memory that is left, before it is built.

use meshfold_topology::{OverlaySize, Topology, Weights};

use crate::config::error::ConfigError;
use crate::config::fault::ConfigFault;
use crate::plan::memory;

/// Fewer bytes are there wherever the program runs.
const LITTLE: u64 = 16 << 20;

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
    check(size, weights, memory::available()).map_err(ConfigFault::nowhere)
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
