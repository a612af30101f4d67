//! Every two nodes linked.

use crate::{Overlay, TopologyError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every two nodes are neighbours; with equal weights one exchange gives everyone the mean.
///
/// No edge is listed: a million nodes take a few megabytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Complete {}

impl Complete {
    /// Links every two nodes.
    pub(super) fn build(&self, nodes: usize) -> Result<Overlay, TopologyError> {
        Overlay::complete(nodes)
    }
}
