//! A rectangle of nodes whose opposite sides meet.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::rectangle;
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nodes in rows and columns, numbered row by row, each linked to the next and the previous in its row and column,
/// around the edge.
///
/// # Interpretation
/// The rectangle is as square as the number of nodes allows. Where a side is 2 long, the links both ways around it are
/// one edge; a side of 1 has none. A prime number of nodes above 3 is an error unless `rows` is 1, because a torus of
/// one row is a ring.
///
/// # Source
/// P-FedAvg (Liu et al.), Fig. 3(b).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Torus {
    /// Number of rows, a divisor of the nodes; the nearest pair of factors if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
}

impl OverlaySpec for Torus {
    usual!(fixed, plain);

    fn label(&self) -> String {
        rectangle::label("torus", self.rows)
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, 2.0 * nodes as f64, Paths::Long)
    }
}

impl FixedOverlay for Torus {
    /// Links the nodes of the rectangle and around its edge.
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        let (rows, columns) = rectangle::sides("torus", self.rows, nodes)?;
        let right = (0..nodes).map(|node| (node, node / columns * columns + (node + 1) % columns));
        let below = (0..nodes).map(|node| (node, (node + columns) % nodes));
        let right = right.filter(|_| columns > 1);
        let below = below.filter(|_| rows > 1);
        Overlay::from_edges(nodes, right.chain(below).map(|(a, b)| (a as u32, b as u32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;

    #[test]
    fn every_node_has_four_neighbours() {
        let overlay = built(&Torus::default(), 12).unwrap();
        assert_eq!(overlay.degree_histogram(), [0, 0, 0, 0, 12]);
        assert_eq!(overlay.neighbours(3), [0, 2, 7, 11]);
        assert_eq!(overlay.edge_connectivity(), 4);
    }

    #[test]
    fn short_sides_merge_their_links() {
        assert_eq!(
            built(&Torus { rows: Some(2) }, 8)
                .unwrap()
                .degree_histogram(),
            [0, 0, 0, 8]
        );
        assert_eq!(
            built(&Torus { rows: Some(1) }, 7)
                .unwrap()
                .degree_histogram(),
            [0, 0, 7]
        );
        assert_eq!(
            built(&Torus { rows: Some(7) }, 7)
                .unwrap()
                .degree_histogram(),
            [0, 0, 7]
        );
        assert_eq!(built(&Torus::default(), 1).unwrap().edge_count(), 0);
    }
}
