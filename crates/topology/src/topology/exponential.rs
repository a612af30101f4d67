//! Neighbours at powers of two.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Node `i` is linked to `i + 2^k` and `i - 2^k` modulo `n` for every `2^k < n`; links that coincide are merged.
///
/// 100 nodes have 14 neighbours each.
///
/// # Source
/// D-Cliques (Bellet et al.), Section IV-D, which makes the graph of Ying et al. (2021) undirected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exponential {}

impl OverlaySpec for Exponential {
    usual!(fixed, plain);

    fn label(&self) -> String {
        "exponential".to_owned()
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        let n = nodes as f64;
        OverlaySize::listed(nodes, n * n.log2().ceil(), Paths::Short)
    }
}

impl FixedOverlay for Exponential {
    /// Links every node forward by each power of two; the links back are the other nodes' links forward.
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        let offsets = (0..usize::BITS)
            .map(|k| 1_usize << k)
            .take_while(|&offset| offset < nodes);
        let edges = offsets.flat_map(|offset| {
            (0..nodes).map(move |node| (node as u32, ((node + offset) % nodes) as u32))
        });
        Overlay::from_edges(nodes, edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;

    #[test]
    fn a_hundred_nodes_have_fourteen_neighbours() {
        let overlay = built(&Exponential {}, 100).unwrap();
        assert_eq!(overlay.degree_histogram()[14], 100);
        assert_eq!(
            overlay.neighbours(0),
            [1, 2, 4, 8, 16, 32, 36, 64, 68, 84, 92, 96, 98, 99]
        );
        assert_eq!(overlay.edge_connectivity(), 14);
    }

    #[test]
    fn powers_of_two_meet_at_the_antipode() {
        assert_eq!(
            built(&Exponential {}, 8).unwrap().neighbours(0),
            [1, 2, 4, 6, 7]
        );
        assert_eq!(built(&Exponential {}, 1).unwrap().edge_count(), 0);
    }
}
