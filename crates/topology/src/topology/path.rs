//! A line of nodes.

use crate::{Overlay, TopologyError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The nodes `0, 1, ..., n-1` in a line, each linked to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Path {}

impl Path {
    /// Links each node to the next.
    pub(super) fn build(&self, nodes: usize) -> Result<Overlay, TopologyError> {
        Overlay::from_edges(nodes, (1..nodes as u32).map(|node| (node - 1, node)))
    }
}
