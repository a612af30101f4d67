//! A ring and a random perfect matching.

use super::Ring;
use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The ring `0, 1, ..., n-1` and a perfect matching, uniformly random among those that share no edge with the ring:
/// three neighbours each.
///
/// # Source
/// Hua et al., Section 5.1: the 3-regular overlay made by extra edges on top of the ring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RingPlusMatching {}

impl OverlaySpec for RingPlusMatching {
    usual!(fixed, plain);

    fn label(&self) -> String {
        "ring_plus_matching".to_owned()
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, 1.5 * nodes as f64, Paths::Short)
    }
}

impl FixedOverlay for RingPlusMatching {
    /// Draws matchings until one avoids the ring, which about e^-1 of them do.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] unless `nodes` is even and at least 4.
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        if !nodes.is_multiple_of(2) || nodes < 4 {
            return Err(TopologyError::setting(
                "ring_plus_matching",
                format!("{nodes} nodes"),
                "an even number from 4 on, so that nodes can be matched in pairs that are no ring neighbours",
            ));
        }
        let mut order: Vec<u32> = (0..nodes as u32).collect();
        let adjacent = |a: u32, b: u32| matches!(a.abs_diff(b) as usize, distance if distance == 1 || distance == nodes - 1);
        loop {
            order.shuffle(rng);
            if order.chunks(2).all(|pair| !adjacent(pair[0], pair[1])) {
                break;
            }
        }
        let matching = order.chunks(2).map(|pair| (pair[0], pair[1]));
        Overlay::from_edges(nodes, Ring::default().edges(nodes).chain(matching))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn every_node_has_three_neighbours() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for nodes in [4, 6, 10, 100] {
            let overlay = RingPlusMatching {}.build(nodes.into(), &mut rng).unwrap();
            assert_eq!(overlay.degree_histogram(), [0, 0, 0, nodes]);
        }
        for nodes in [2, 3, 7] {
            let error = RingPlusMatching {}.build(nodes.into(), &mut rng);
            let expected =
                format!("ring_plus_matching: found {nodes} nodes, needed an even number");
            assert!(error.unwrap_err().to_string().starts_with(&expected));
        }
    }
}
