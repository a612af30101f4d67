//! All nodes linked to one.

use crate::{Overlay, TopologyError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Node 0 is linked to every other node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Star {}

impl Star {
    /// Links node 0 to all others.
    pub(super) fn build(&self, nodes: usize) -> Result<Overlay, TopologyError> {
        Overlay::from_edges(nodes, (1..nodes as u32).map(|leaf| (0, leaf)))
    }
}
