//! Every two nodes linked.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths, pairs};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every two nodes are neighbours; with equal weights one exchange gives everyone the mean.
///
/// No edge is listed: a million nodes take a few megabytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Complete {}

impl OverlaySpec for Complete {
    usual!(fixed, plain);

    fn label(&self) -> String {
        "complete".to_owned()
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize {
            is_listed: false,
            is_complete: true,
            ..OverlaySize::listed(nodes, pairs(nodes), Paths::Short)
        }
    }
}

impl FixedOverlay for Complete {
    /// Links every two nodes.
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        Overlay::complete(nodes.count)
    }
}
