//! Communities, linked more among themselves than with each other.

use super::erdos_renyi::draw;
use super::overlay_spec::{DRAWS, FixedOverlay, OverlaySpec, first_connected, usual};
use super::size::{OverlaySize, Paths, pairs};
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stochastic block model: the nodes fall into `blocks` communities, two nodes of one are linked with probability `within`, and two of
/// different ones with probability `between`, independently, given that the overlay is connected.
///
/// # Source
/// Holland, Laskey and Leinhardt, *Stochastic blockmodels: first steps* (1983), with one probability within all blocks and one between.
///
/// # Interpretation
/// Blocks are of consecutive nodes, and their sizes differ by one at most: of N nodes and k blocks, block b has the nodes from `⌊b N / k⌋` on.
/// Draws are repeated until one is connected, at most 1,000 times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StochasticBlock {
    /// Communities, at least 1 and at most as many as nodes.
    pub blocks: usize,
    /// Probability of an edge between two nodes of one community.
    pub within: f64,
    /// Probability of an edge between two nodes of different communities.
    pub between: f64,
}

impl StochasticBlock {
    /// The first node of each block, and the number of nodes.
    fn bounds(&self, nodes: usize) -> impl Iterator<Item = usize> + Clone {
        let blocks = self.blocks;
        (0..=blocks).map(move |block| (block as u128 * nodes as u128 / blocks as u128) as usize)
    }

    fn draw(&self, nodes: usize, rng: &mut ChaCha8Rng) -> Vec<(u32, u32)> {
        let bounds: Vec<usize> = self.bounds(nodes).collect();
        let block = |node: u32| bounds.partition_point(|bound| *bound <= node as usize);
        let across = draw(nodes, self.between, rng).into_iter();
        let mut edges: Vec<(u32, u32)> = across.filter(|(a, b)| block(*a) != block(*b)).collect();
        for ends in bounds.windows(2) {
            let first = ends[0] as u32;
            let inside = draw(ends[1] - ends[0], self.within, rng).into_iter();
            edges.extend(inside.map(|(a, b)| (first + a, first + b)));
        }
        edges
    }
}

impl OverlaySpec for StochasticBlock {
    usual!(fixed, plain);

    fn label(&self) -> String {
        format!(
            "stochastic_block blocks={} within={} between={}",
            self.blocks, self.within, self.between
        )
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        let block = nodes as f64 / self.blocks.max(1) as f64;
        let inside = self.blocks as f64 * block * (block - 1.0).max(0.0) / 2.0;
        let across = pairs(nodes) - inside;
        OverlaySize::listed(
            nodes,
            self.within * inside + self.between * across,
            Paths::Long,
        )
    }
}

impl FixedOverlay for StochasticBlock {
    /// Draws until connected.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] for parameters that do not fit; [`TopologyError::NeverConnected`] if no draw is connected.
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        if !(1..=nodes).contains(&self.blocks) {
            let needed = format!("1 to {nodes}, the number of nodes");
            return Err(TopologyError::setting(
                "stochastic_block.blocks",
                self.blocks,
                needed,
            ));
        }
        TopologyError::expect_probability("stochastic_block.within", self.within)?;
        TopologyError::expect_probability("stochastic_block.between", self.between)?;
        if self.between == 0.0 && self.blocks > 1 {
            let needed = format!(
                "above 0: nothing else links the {} communities",
                self.blocks
            );
            return Err(TopologyError::setting(
                "stochastic_block.between",
                0,
                needed,
            ));
        }
        let overlay = first_connected(nodes, || self.draw(nodes, rng))?;
        overlay.ok_or_else(|| TopologyError::NeverConnected {
            topology: self.label(),
            nodes,
            draws: DRAWS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn build(nodes: usize, blocks: usize, chances: [f64; 2]) -> Result<Overlay, TopologyError> {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let [within, between] = chances;
        let model = StochasticBlock {
            blocks,
            within,
            between,
        };
        model.build(nodes.into(), &mut rng)
    }

    #[test]
    fn edges_are_as_likely_as_asked_within_and_between() {
        let overlay = build(1000, 4, [0.2, 0.01]).unwrap();
        let inside = overlay.edges().filter(|(a, b)| a / 250 == b / 250).count() as f64;
        let across = overlay.edge_count() as f64 - inside;
        // Four standard deviations of 4 · 31,125 and 375,000 draws.
        assert!((inside - 0.2 * 124_500.0).abs() < 4.0 * 141.0, "{inside}");
        assert!((across - 0.01 * 375_000.0).abs() < 4.0 * 61.0, "{across}");
    }

    #[test]
    fn blocks_are_of_consecutive_nodes() {
        let overlay = build(10, 3, [1.0, 0.2]).unwrap();
        for block in [0..3, 3..6, 6..10] {
            for node in block.clone() {
                let others = block.clone().filter(|other| *other != node);
                let linked = |other: usize| overlay.neighbours(node).contains(&(other as u32));
                assert!(others.into_iter().all(linked), "{node}");
            }
        }
    }

    #[test]
    fn one_block_or_one_node_a_block_is_a_random_graph() {
        let one = build(200, 1, [0.1, 0.0]).unwrap().edge_count() as f64;
        let each = build(200, 200, [0.0, 0.1]).unwrap().edge_count() as f64;
        assert!((one - 1990.0).abs() < 170.0 && (each - 1990.0).abs() < 170.0);
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused() {
        for (blocks, chances, path) in [
            (
                0,
                [0.5, 0.5],
                "stochastic_block.blocks: found 0, needed 1 to 10",
            ),
            (11, [0.5, 0.5], "stochastic_block.blocks: found 11"),
            (2, [1.5, 0.5], "stochastic_block.within: found 1.5"),
            (2, [0.5, f64::NAN], "stochastic_block.between: found NaN"),
        ] {
            let said = build(10, blocks, chances).unwrap_err().to_string();
            assert!(said.starts_with(path), "{said}");
        }
        let said = build(10, 2, [1.0, 0.0]).unwrap_err().to_string();
        let needed = "above 0: nothing else links the 2 communities";
        assert_eq!(
            said,
            format!("stochastic_block.between: found 0, needed {needed}")
        );
        let said = build(100, 2, [0.001, 0.001]).unwrap_err();
        assert!(
            matches!(said, TopologyError::NeverConnected { .. }),
            "{said}"
        );
    }
}
