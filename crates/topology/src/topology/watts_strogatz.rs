//! A ring lattice with some edges rewired at random.

use super::Ring;
use super::overlay_spec::{DRAWS, FixedOverlay, OverlaySpec, first_connected, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A ring in which every node is linked to its `neighbours` nearest nodes, each edge then moved with probability
/// `rewire` to a uniformly random other end, given that the overlay is connected.
///
/// # Source
/// Watts and Strogatz, *Collective dynamics of "small-world" networks* (1998).
///
/// # Interpretation
/// As in the paper, edges are visited lap by lap (first those to the next node, then to the one after it), the near end
/// stays, and a new end that is the node itself or already its neighbour is drawn anew; the edge of a node that
/// is linked to all others stays. Draws are repeated until one is connected, at most 1,000 times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WattsStrogatz {
    /// Neighbours of every node before rewiring, even, half of them on either side.
    pub neighbours: usize,
    /// Probability that an edge is rewired.
    pub rewire: f64,
}

impl OverlaySpec for WattsStrogatz {
    usual!(fixed, plain);

    /// `watts_strogatz` with its parameters.
    fn label(&self) -> String {
        format!(
            "watts_strogatz neighbours={} rewire={}",
            self.neighbours, self.rewire
        )
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(
            nodes,
            self.neighbours as f64 * nodes as f64 / 2.0,
            Paths::Long,
        )
    }
}

impl FixedOverlay for WattsStrogatz {
    /// Draws until connected.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] for parameters that do not fit;
    /// [`TopologyError::NeverConnected`] if no draw is connected.
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        let (neighbours, rewire) = (self.neighbours, self.rewire);
        if neighbours == 0 || !neighbours.is_multiple_of(2) || neighbours >= nodes {
            let needed = match nodes {
                0..3 => format!("3 nodes or more, and there are {nodes}"),
                _ => format!("an even number from 2 on, below the {nodes} nodes"),
            };
            return Err(TopologyError::setting(
                "watts_strogatz.neighbours",
                neighbours,
                needed,
            ));
        }
        TopologyError::expect_probability("watts_strogatz.rewire", rewire)?;
        let overlay = first_connected(nodes, || self.draw(nodes, rng))?;
        overlay.ok_or_else(|| TopologyError::NeverConnected {
            topology: self.label(),
            nodes,
            draws: DRAWS,
        })
    }
}

impl WattsStrogatz {
    fn draw(&self, nodes: usize, rng: &mut ChaCha8Rng) -> Vec<(u32, u32)> {
        let mut adjacent = vec![BTreeSet::new(); nodes];
        for (a, b) in (Ring {
            hops: self.neighbours / 2,
        })
        .edges(nodes)
        {
            adjacent[a as usize].insert(b);
            adjacent[b as usize].insert(a);
        }
        for hop in 1..=self.neighbours / 2 {
            for node in 0..nodes {
                if rng.random_bool(self.rewire) && adjacent[node].len() + 1 < nodes {
                    rewire(
                        &mut adjacent,
                        node as u32,
                        ((node + hop) % nodes) as u32,
                        rng,
                    );
                }
            }
        }
        let rows = adjacent.iter().enumerate();
        rows.flat_map(|(a, row)| row.range(a as u32..).map(move |&b| (a as u32, b)))
            .collect()
    }
}

/// Moves the far end of the edge from `node` to `old` to a random node that is not yet a neighbour of `node`.
fn rewire(adjacent: &mut [BTreeSet<u32>], node: u32, old: u32, rng: &mut ChaCha8Rng) {
    let new = loop {
        let new = rng.random_range(0..adjacent.len() as u32);
        if new != node && !adjacent[node as usize].contains(&new) {
            break new;
        }
    };
    adjacent[node as usize].remove(&old);
    adjacent[old as usize].remove(&node);
    adjacent[node as usize].insert(new);
    adjacent[new as usize].insert(node);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::overlay_spec::built;
    use rand::SeedableRng;

    #[test]
    fn rewiring_keeps_the_number_of_edges() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for rewire in [0.0, 0.1, 1.0] {
            let overlay = WattsStrogatz {
                neighbours: 4,
                rewire,
            }
            .build(60.into(), &mut rng)
            .unwrap();
            assert_eq!(overlay.edge_count(), 120);
        }
    }

    #[test]
    fn without_rewiring_it_is_the_ring() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let lattice = WattsStrogatz {
            neighbours: 4,
            rewire: 0.0,
        }
        .build(9.into(), &mut rng)
        .unwrap();
        let ring = built(&Ring { hops: 2 }, 9).unwrap();
        assert!(lattice.edges().eq(ring.edges()));
    }

    #[test]
    fn edges_are_rewired_as_often_as_asked() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let ring = built(&Ring { hops: 3 }, 2000).unwrap();
        let overlay = WattsStrogatz {
            neighbours: 6,
            rewire: 0.2,
        }
        .build(2000.into(), &mut rng)
        .unwrap();
        let kept = overlay
            .edges()
            .filter(|&(a, b)| ring.neighbours(a as usize).contains(&b))
            .count();
        // 6,000 edges, each kept with probability 0.8 and hardly ever rewired back: four standard deviations are 124.
        assert!((kept as f64 - 4800.0).abs() < 130.0, "{kept}");
    }

    #[test]
    fn parameters_that_do_not_fit_are_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (neighbours, rewire) in [(3, 0.1), (0, 0.1), (10, 0.1), (4, 1.5), (4, f64::NAN)] {
            let said = WattsStrogatz { neighbours, rewire }
                .build(10.into(), &mut rng)
                .unwrap_err()
                .to_string();
            assert!(said.starts_with("watts_strogatz."), "{said}");
        }
        let lattice = WattsStrogatz {
            neighbours: 2,
            rewire: 0.1,
        };
        let said = lattice.build(2.into(), &mut rng).unwrap_err().to_string();
        assert_eq!(
            said,
            "watts_strogatz.neighbours: found 2, needed 3 nodes or more, and there are 2"
        );
    }
}
