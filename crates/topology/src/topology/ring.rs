//! A cycle of nodes.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The nodes `0, 1, ..., n-1` around a circle, each linked to the `hops` nearest on either side.
///
/// Two nodes are a single edge, one node is a ring without edges.
///
/// # Source
/// Hua et al., Section 3.1 and Fig. 1(b), for one hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ring {
    /// How many nodes each node is linked to on either side, from 1 to half of the nodes.
    pub hops: usize,
}

impl Default for Ring {
    fn default() -> Self {
        Self { hops: 1 }
    }
}

impl OverlaySpec for Ring {
    usual!(fixed, plain);

    /// `ring`, with its hops if there are several.
    fn label(&self) -> String {
        match self.hops {
            1 => "ring".to_owned(),
            hops => format!("ring hops={hops}"),
        }
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, self.hops as f64 * nodes as f64, Paths::Long)
    }
}

impl FixedOverlay for Ring {
    /// Links each node to the next `hops` nodes around the circle.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] if `hops` is 0 or passes the opposite node.
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        let most = (nodes / 2).max(1);
        if self.hops == 0 || self.hops > most {
            let needed = format!("a number from 1 to {most}, half of the {nodes} nodes");
            return Err(TopologyError::setting("ring.hops", self.hops, needed));
        }
        Overlay::from_edges(nodes, self.edges(nodes))
    }
}

impl Ring {
    /// Every node's links forward; none if there is one node.
    pub(super) fn edges(&self, nodes: usize) -> impl Iterator<Item = (u32, u32)> + use<> {
        let hops = self.hops.min(nodes - 1);
        (0..nodes).flat_map(move |node| {
            (1..=hops).map(move |hop| (node as u32, ((node + hop) % nodes) as u32))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;

    #[test]
    fn hops_give_twice_as_many_neighbours() {
        let overlay = built(&Ring { hops: 2 }, 7).unwrap();
        assert_eq!(overlay.neighbours(0), [1, 2, 5, 6]);
        assert_eq!(overlay.degree_histogram(), [0, 0, 0, 0, 7]);
        assert_eq!(overlay.edge_connectivity(), 4);
    }

    #[test]
    fn small_rings_are_an_edge_and_a_node() {
        assert_eq!(built(&Ring::default(), 2).unwrap().edge_count(), 1);
        assert_eq!(built(&Ring::default(), 1).unwrap().edge_count(), 0);
        assert_eq!(built(&Ring { hops: 3 }, 6).unwrap().edge_count(), 15);
    }

    #[test]
    fn hops_beyond_the_antipode_are_refused() {
        let error = built(&Ring { hops: 4 }, 7).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ring.hops: found 4, needed a number from 1 to 3, half of the 7 nodes"
        );
        let error = built(&Ring { hops: 0 }, 7).unwrap_err();
        assert!(error.to_string().starts_with("ring.hops: found 0"));
    }
}
