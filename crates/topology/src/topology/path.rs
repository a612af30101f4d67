//! A line of nodes.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The nodes `0, 1, ..., n-1` in a line, each linked to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Path {}

impl OverlaySpec for Path {
    usual!(fixed, plain);

    fn label(&self) -> String {
        "path".to_owned()
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, nodes as f64 - 1.0, Paths::Long)
    }
}

impl FixedOverlay for Path {
    /// Links each node to the next.
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        Overlay::from_edges(nodes, (1..nodes as u32).map(|node| (node - 1, node)))
    }
}
