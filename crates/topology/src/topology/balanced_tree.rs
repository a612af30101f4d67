//! A tree filled level by level.

use crate::{Overlay, TopologyError};
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

impl BalancedTree {
    /// Links each node but the root to its parent.
    ///
    /// # Errors
    /// [`TopologyError::Branching`] if `branching` is 0.
    pub(super) fn build(&self, nodes: usize) -> Result<Overlay, TopologyError> {
        if self.branching == 0 {
            return Err(TopologyError::Branching);
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

    #[test]
    fn levels_fill_from_the_left() {
        let overlay = BalancedTree::default().build(6).unwrap();
        assert_eq!(
            overlay.edges().collect::<Vec<_>>(),
            [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]
        );
        assert_eq!(overlay.edge_connectivity(), 1);
        assert_eq!(
            BalancedTree { branching: 0 }.build(6).unwrap_err(),
            TopologyError::Branching
        );
    }
}
