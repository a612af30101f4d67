//! Neighbours at powers of two.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Node `i` is linked to `i + 2^k` and `i - 2^k` modulo `n` for every `2^k < n`; links that coincide are merged. If `directed`, it
/// sends to the `i + 2^k` alone, the static exponential graph.
///
/// 100 nodes have 14 neighbours each; if directed they send to 7, and hear 7 others.
///
/// # Source
/// Directed: Ying, Yuan, Chen, Hu, Pan and Yin, *Exponential graph is provably efficient for decentralized deep training* (2021), Section 3. Their
/// weights, `1 / (1 + ⌈log₂ n⌉)` each, are `uniform` ones. D-Cliques (Bellet et al.), Section IV-D, makes it undirected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exponential {
    /// Whether nodes send to others without hearing them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub directed: bool,
}

impl OverlaySpec for Exponential {
    usual!(
        fixed,
        ignores_labels,
        quick,
        values_alone,
        ready,
        no_weights
    );

    fn label(&self) -> String {
        let directed = if self.directed { " directed" } else { "" };
        format!("exponential{directed}")
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        let n = nodes as f64;
        OverlaySize::listed(nodes, n * n.log2().ceil(), Paths::Short)
    }

    fn is_directed(&self) -> bool {
        self.directed
    }
}

impl FixedOverlay for Exponential {
    /// Links every node forward by each power of two; the links back are the other nodes' links forward.
    fn build(&self, nodes: Nodes<'_>, _rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        let offsets = (0..usize::BITS)
            .map(|k| 1_usize << k)
            .take_while(|&offset| offset < nodes);
        let links = offsets.flat_map(|offset| {
            (0..nodes).map(move |node| (node as u32, ((node + offset) % nodes) as u32))
        });
        match self.directed {
            true => Overlay::directed(nodes, links),
            false => Overlay::from_edges(nodes, links),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;
    use crate::{Spectrum, Uniform, Weights};

    #[test]
    fn a_hundred_nodes_have_fourteen_neighbours() {
        let overlay = built(&Exponential::default(), 100).unwrap();
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
            built(&Exponential::default(), 8).unwrap().neighbours(0),
            [1, 2, 4, 6, 7]
        );
        let alone = built(&Exponential::default(), 1).unwrap();
        assert_eq!(alone.edge_count(), 0);
    }

    /// Ying et al., Proposition 1: with n even `λ = 1 − 2 / (1 + ⌈log₂ n⌉)`, and less with n odd.
    #[test]
    fn the_directed_one_has_the_gap_of_the_paper() {
        for (nodes, sends) in [(4, 2), (8, 3), (12, 4), (100, 7), (7, 3), (33, 6)] {
            let overlay = built(&Exponential { directed: true }, nodes).unwrap();
            assert_eq!(overlay.edge_count(), nodes * sends);
            let weights = Weights::Uniform(Uniform {});
            let matrix = weights.matrix(&overlay).unwrap();
            assert!(matrix.is_doubly_stochastic(1e-12));
            let lambda = Spectrum::of(&overlay, &weights, &matrix).unwrap().lambda;
            let bound = 1.0 - 2.0 / (1.0 + sends as f64);
            match nodes % 2 {
                0 => assert!((lambda - bound).abs() < 1e-9, "{nodes}: {lambda}, {bound}"),
                _ => assert!(lambda < bound, "{nodes}: {lambda}, {bound}"),
            }
        }
    }
}
