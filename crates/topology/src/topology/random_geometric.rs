//! Nodes at random places, linked to those within reach.

use super::overlay_spec::{DRAWS, FixedOverlay, OverlaySpec, first_connected, usual};
use super::size::{OverlaySize, Paths};
use super::unit_square::{Place, mean_pairs, near, place};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, SQRT_2};

/// A random geometric graph, the usual model of wireless networks: every node is at a uniformly random place in the unit square, and two
/// nodes are linked if they are at most `radius` apart, given that the overlay is connected.
///
/// # Source
/// Gilbert, *Random plane networks* (1961); for gossip, Boyd, Ghosh, Prabhakar and Shah, *Randomized gossip algorithms* (2006), Section IV.
///
/// # Interpretation
/// Draws are repeated until one is connected, at most 1,000 times. Of many nodes, draws begin to be connected at a radius of about
/// `√(ln N / (π N))`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomGeometric {
    /// How far a node reaches, where the square has a side of 1.
    pub radius: f64,
}

/// Checks that `found` at `setting` is a distance in the square.
///
/// # Errors
/// [`TopologyError::Setting`].
pub(super) fn expect_radius(setting: &str, found: f64) -> Result<(), TopologyError> {
    match found > 0.0 && found <= SQRT_2 {
        true => Ok(()),
        false => {
            let needed = "a distance in a square with a side of 1: above 0, and at most 1.4142";
            Err(TopologyError::setting(setting, found, needed))
        }
    }
}

impl OverlaySpec for RandomGeometric {
    usual!(fixed, plain);

    fn label(&self) -> String {
        format!("random_geometric radius={}", self.radius)
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, mean_pairs(nodes, self.radius), Paths::Long)
    }
}

impl FixedOverlay for RandomGeometric {
    /// Draws until connected.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] if `radius` is no distance in the square, or too small to connect the nodes.
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let (nodes, radius) = (nodes.count, self.radius);
        expect_radius("random_geometric.radius", radius)?;
        let draw = || {
            let places: Vec<Place> = (0..nodes).map(|_| place(rng)).collect();
            near(&places, radius)
        };
        if let Some(overlay) = first_connected(nodes, draw)? {
            return Ok(overlay);
        }
        let found = format!("{radius}, and none of {DRAWS} draws connected {nodes} nodes");
        let n = nodes as f64;
        let about = (n.ln() / (PI * n)).sqrt();
        let needed = format!(
            "a larger one: of many nodes, draws begin to be connected at about √(ln N / (π N)) = {about:.4}"
        );
        Err(TopologyError::setting(
            "random_geometric.radius",
            found,
            needed,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;

    #[test]
    fn a_radius_across_the_square_links_all() {
        let all = built(&RandomGeometric { radius: SQRT_2 }, 30).unwrap();
        assert_eq!(all.edge_count(), 435);
    }

    #[test]
    fn nodes_near_the_border_have_fewer_neighbours() {
        let overlay = built(&RandomGeometric { radius: 0.1 }, 1000).unwrap();
        assert!(overlay.is_connected());
        let mean = 2.0 * overlay.edge_count() as f64 / 1000.0;
        // π r² N without a border, 8.5 % less with it.
        assert!((26.0..31.4).contains(&mean), "{mean}");
    }

    #[test]
    fn radii_that_do_not_fit_are_refused() {
        for radius in [0.0, -1.0, 2.0, f64::NAN] {
            let said = built(&RandomGeometric { radius }, 10).unwrap_err();
            let said = said.to_string();
            assert!(
                said.starts_with("random_geometric.radius: found "),
                "{said}"
            );
            assert!(said.ends_with("above 0, and at most 1.4142"), "{said}");
        }
        let said = built(&RandomGeometric { radius: 0.02 }, 100).unwrap_err();
        assert_eq!(
            said.to_string(),
            "random_geometric.radius: found 0.02, and none of 1000 draws connected 100 nodes, needed a larger one: of many nodes, draws begin to be connected at about √(ln N / (π N)) = 0.1211"
        );
    }
}
