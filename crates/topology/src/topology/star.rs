//! All nodes linked to one.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Node 0 is linked to every other node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Star {}

impl OverlaySpec for Star {
    usual!(fixed, plain);

    fn label(&self) -> String {
        "star".to_owned()
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, nodes as f64 - 1.0, Paths::Short)
    }
}

impl FixedOverlay for Star {
    /// Links node 0 to all others.
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        Overlay::from_edges(nodes, (1..nodes as u32).map(|leaf| (0, leaf)))
    }
}
