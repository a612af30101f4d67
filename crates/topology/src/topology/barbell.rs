//! Two cliques joined by a path.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two cliques of `m1` nodes joined by a path of `m2` further nodes, so that there are `2*m1 + m2` nodes.
///
/// The first clique comes first, then the path, then the second clique.
///
/// # Source
/// P-FedAvg (Liu et al.), Section VI-B and Fig. 3(e), with `m1 = m2 = 3`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Barbell {
    /// Nodes of each clique.
    pub m1: usize,
    /// Nodes on the path between the cliques.
    pub m2: usize,
}

impl OverlaySpec for Barbell {
    usual!(fixed, plain);

    fn label(&self) -> String {
        format!("barbell m1={} m2={}", self.m1, self.m2)
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        let (m1, m2) = (self.m1 as f64, self.m2 as f64);
        OverlaySize::listed(nodes, m1 * (m1 - 1.0) + m2 + 1.0, Paths::Long)
    }
}

impl FixedOverlay for Barbell {
    /// Links both cliques and the path from the last node of one to the first node of the other.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] if the parts do not add up to `nodes`.
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        let (m1, m2) = (self.m1, self.m2);
        if m1 == 0
            || m1
                .checked_mul(2)
                .and_then(|cliques| cliques.checked_add(m2))
                != Some(nodes)
        {
            let found = format!("two cliques of m1 = {m1} and a path of m2 = {m2} nodes");
            let needed = format!("2*m1 + m2 = {nodes}, the number of nodes, and m1 of at least 1");
            return Err(TopologyError::setting("barbell.m1", found, needed));
        }
        let clique = |first: usize| {
            (first..first + m1).flat_map(move |a| (first..a).map(move |b| (b as u32, a as u32)))
        };
        let path = (m1..=m1 + m2).map(|node| (node as u32 - 1, node as u32));
        Overlay::from_edges(nodes, clique(0).chain(path).chain(clique(m1 + m2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;

    #[test]
    fn edges_are_as_many_as_in_table_3() {
        let overlay = built(&Barbell { m1: 3, m2: 3 }, 9).unwrap();
        assert_eq!(overlay.edge_count(), 3 * 2 + 3 + 1);
        assert_eq!(overlay.neighbours(2), [0, 1, 3]);
        assert_eq!(overlay.neighbours(6), [5, 7, 8]);
        assert_eq!(overlay.edge_connectivity(), 1);
    }

    #[test]
    fn parts_must_add_up() {
        let error = built(&Barbell { m1: 3, m2: 3 }, 10).unwrap_err();
        let expected = "barbell.m1: found two cliques of m1 = 3 and a path of m2 = 3 nodes, needed 2*m1 + m2 = 10, the number of nodes, and m1 of at least 1";
        assert_eq!(error.to_string(), expected);
        assert!(built(&Barbell { m1: 5, m2: 0 }, 10).unwrap().is_connected());
    }
}
