//! Neighbours differ in one bit of their numbers.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The hypercube of `N = 2^d` nodes: two nodes are linked if their numbers, in binary, differ in a single digit. Every node has d
/// neighbours.
///
/// # Source
/// The static hypercube of Ying, Yuan, Chen, Hu, Pan and Yin, *Exponential graph is provably efficient for decentralized deep training*
/// (2021).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hypercube {}

impl OverlaySpec for Hypercube {
    usual!(fixed, plain);

    fn label(&self) -> String {
        "hypercube".to_owned()
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        let n = nodes as f64;
        OverlaySize::listed(nodes, n * n.log2() / 2.0, Paths::Short)
    }
}

impl FixedOverlay for Hypercube {
    /// # Errors
    /// [`TopologyError::Setting`] if the number of nodes is no power of two.
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        if !nodes.is_power_of_two() {
            let below = (nodes + 1).next_power_of_two() / 2;
            let needed = format!("a power of two, such as {below} or {}", 2 * below);
            return Err(TopologyError::setting(
                "hypercube",
                format!("{nodes} nodes"),
                needed,
            ));
        }
        let bits = nodes.trailing_zeros();
        let edges = (0..nodes as u32).flat_map(|node| {
            let others = (0..bits).map(move |bit| node ^ (1 << bit));
            others.filter_map(move |other| (node < other).then_some((node, other)))
        });
        Overlay::from_edges(nodes, edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;

    #[test]
    fn neighbours_differ_in_one_bit() {
        let overlay = built(&Hypercube {}, 16).unwrap();
        assert_eq!(overlay.neighbours(5), [1, 4, 7, 13]);
        assert!((0..16).all(|node| overlay.degree(node) == 4));
        assert_eq!(built(&Hypercube {}, 1).unwrap().edge_count(), 0);
        assert_eq!(built(&Hypercube {}, 2).unwrap().edge_count(), 1);
    }

    #[test]
    fn other_numbers_of_nodes_are_refused() {
        for (nodes, needed) in [(3, "2 or 4"), (10, "8 or 16"), (100, "64 or 128")] {
            let said = built(&Hypercube {}, nodes).unwrap_err().to_string();
            let expected =
                format!("hypercube: found {nodes} nodes, needed a power of two, such as {needed}");
            assert_eq!(said, expected);
        }
    }
}
