//! A tree filled level by level.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rooted tree in which every node has `branching` children, filled level by level and left to right: node `i` hangs
/// below node `(i-1) / branching`.
///
/// The nine-node tree of P-FedAvg's Fig. 3(d) has another shape and is given by its edges.
///
/// # Source
/// P-FedAvg (Liu et al.), Section VI-B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BalancedTree {
    /// Children of every inner node, at least 1 (which gives a path).
    pub branching: usize,
}

impl Default for BalancedTree {
    fn default() -> Self {
        Self { branching: 2 }
    }
}

impl OverlaySpec for BalancedTree {
    usual!(fixed, plain);

    fn label(&self) -> String {
        format!("balanced_tree branching={}", self.branching)
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, nodes as f64 - 1.0, Paths::Long)
    }
}

impl FixedOverlay for BalancedTree {
    /// Links each node but the root to its parent.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] if `branching` is 0.
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        if self.branching == 0 {
            return Err(TopologyError::setting(
                "balanced_tree.branching",
                0,
                "at least 1",
            ));
        }
        Overlay::from_edges(
            nodes,
            (1..nodes).map(|node| (((node - 1) / self.branching) as u32, node as u32)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;

    #[test]
    fn levels_fill_from_the_left() {
        let overlay = built(&BalancedTree::default(), 6).unwrap();
        assert_eq!(
            overlay.edges().collect::<Vec<_>>(),
            [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]
        );
        assert_eq!(overlay.edge_connectivity(), 1);
        assert_eq!(
            built(&BalancedTree { branching: 0 }, 6)
                .unwrap_err()
                .to_string(),
            "balanced_tree.branching: found 0, needed at least 1"
        );
    }
}
