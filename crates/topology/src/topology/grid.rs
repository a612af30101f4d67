//! A rectangle of nodes.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::rectangle;
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nodes in rows and columns, numbered row by row, each linked to those beside, above and below it.
///
/// # Interpretation
/// The rectangle is as square as the number of nodes allows. A prime number of nodes above 3 is an error unless
/// `rows` is 1, because a grid of one row is a path.
///
/// # Source
/// D-Cliques (Bellet et al.), Section III-A and Fig. 3.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Grid {
    /// Number of rows, a divisor of the nodes; the nearest pair of factors if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
}

impl OverlaySpec for Grid {
    usual!(fixed, plain);

    fn label(&self) -> String {
        rectangle::label("grid", self.rows)
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, 2.0 * nodes as f64, Paths::Long)
    }
}

impl FixedOverlay for Grid {
    /// Links the nodes of the rectangle.
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        let (_, columns) = rectangle::sides("grid", self.rows, nodes)?;
        let right = (0..nodes)
            .filter(|node| node % columns + 1 < columns)
            .map(|node| (node as u32, node as u32 + 1));
        let below = (columns..nodes).map(|node| ((node - columns) as u32, node as u32));
        Overlay::from_edges(nodes, right.chain(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;

    #[test]
    fn corners_sides_and_middle_have_two_three_and_four_neighbours() {
        let overlay = built(&Grid::default(), 12).unwrap();
        assert_eq!(overlay.degree_histogram(), [0, 0, 4, 6, 2]);
        assert_eq!(overlay.neighbours(5), [1, 4, 6, 9]);
        assert_eq!(overlay.edge_connectivity(), 2);
    }
}
