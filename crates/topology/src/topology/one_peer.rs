//! In each round, every node sends to one node, at a distance that is a power of two.

use super::Snapshot;
use super::overlay_spec::{OverlaySpec, usual};
use super::schedule::{Schedule, Turns, usual_schedule};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The directed one-peer exponential overlay: in round t node `i` sends to node `i + 2^((t-1) mod ⌈log2 N⌉)` modulo N.
///
/// Round 1 is a directed ring, which leads from every node to every other. A later round does so too if N is odd, and falls
/// apart if N is even. Under `uniform` weights each `⌈log2 N⌉` rounds take the exact average if N is a power of two.
///
/// # Source
/// Assran et al., *Stochastic gradient push for distributed deep learning* (2019), appendix on the communication
/// topology; Ying et al., *Exponential graph is provably efficient for decentralized deep training* (2021), for the
/// exact average.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnePeer {}

impl OnePeer {
    /// Rounds after which it repeats, `⌈log2 N⌉`; 1 for a single node, which has none to send to.
    #[must_use]
    pub fn period(&self, nodes: usize) -> usize {
        let power = nodes.checked_next_power_of_two();
        power.map_or(usize::BITS, usize::trailing_zeros).max(1) as usize
    }

    /// The arcs of the round at place `index` of the period.
    fn build(&self, index: usize, nodes: usize) -> Result<Overlay, TopologyError> {
        if nodes < 2 {
            return Overlay::directed(nodes, []);
        }
        let offset = 1_usize << index;
        let arcs = (0..nodes).map(|node| (node as u32, ((node + offset) % nodes) as u32));
        Overlay::directed(nodes, arcs)
    }
}

impl OverlaySpec for OnePeer {
    usual!(
        changing,
        ignores_labels,
        quick,
        values_alone,
        ready,
        no_weights
    );

    fn label(&self) -> String {
        "one_peer".to_owned()
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, nodes as f64, Paths::Short)
    }

    fn is_directed(&self) -> bool {
        true
    }
}

impl Schedule for OnePeer {
    usual_schedule!(all_nodes, until_connected, no_lambda_of_draws);

    fn turns(&self, nodes: usize) -> Turns {
        Turns::Repeated(self.period(nodes))
    }

    fn check(&self, _nodes: usize) -> Result<(), TopologyError> {
        Ok(())
    }

    fn snapshot(
        &self,
        draw: usize,
        nodes: Nodes<'_>,
        _rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        Ok(Snapshot::of_all(self.build(draw, nodes.count)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_is_the_binary_logarithm_rounded_up() {
        let periods = [1, 2, 3, 4, 5, 8, 9, 1000, 1024, 1025].map(|n| OnePeer {}.period(n));
        assert_eq!(periods, [1, 1, 2, 2, 3, 3, 4, 10, 10, 11]);
    }

    #[test]
    fn everyone_sends_to_one_and_hears_one() {
        for index in 0..3 {
            let overlay = OnePeer {}.build(index, 7).unwrap();
            for node in 0..7 {
                assert_eq!(
                    overlay.listeners(node),
                    [((node + (1 << index)) % 7) as u32]
                );
                assert_eq!(overlay.degree(node), 1);
            }
        }
        assert_eq!(OnePeer {}.build(0, 1).unwrap().edge_count(), 0);
    }
}
