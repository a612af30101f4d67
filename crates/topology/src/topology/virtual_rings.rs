//! Neighbours on several randomly ordered rings.

use super::Ring;
use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Every node has a random coordinate on each of L rings and is linked to its two neighbours on every ring: up to 2L
/// neighbours.
///
/// # Source
/// Hua et al., Section 4 and Fig. 3.
///
/// # Interpretation
/// Two nodes that meet on several rings are linked once, which leaves both short of 2L neighbours. Such nodes are paired
/// with each other, each time uniformly among the unlinked pairs of them; when none is left, who still is short keeps
/// a lower degree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VirtualRings {
    /// Number of rings L, from 1 to (n-1)/2.
    pub spaces: usize,
}

impl OverlaySpec for VirtualRings {
    usual!(fixed, plain);

    fn label(&self) -> String {
        format!("virtual_rings spaces={}", self.spaces)
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, self.spaces as f64 * nodes as f64, Paths::Short)
    }
}

impl FixedOverlay for VirtualRings {
    /// Draws the coordinates, links ring neighbours and pairs up the nodes left short.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] if there are no rings, or too many for 2L different neighbours.
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        self.check(nodes)?;
        let mut links = self.ring_links(nodes, rng);
        self.pair_up(nodes, &mut links, rng);
        Overlay::from_edges(nodes, links)
    }
}

impl VirtualRings {
    /// Draws the coordinates, ring by ring, and links neighbours on every ring.
    pub(crate) fn ring_links(&self, nodes: usize, rng: &mut ChaCha8Rng) -> BTreeSet<(u32, u32)> {
        self.rings(nodes, rng, |_| true)
    }

    /// The links of rings of the nodes that `remain`, whose coordinates are drawn with those of the others.
    fn rings(
        &self,
        nodes: usize,
        rng: &mut ChaCha8Rng,
        remain: impl Fn(u32) -> bool,
    ) -> BTreeSet<(u32, u32)> {
        let mut links = BTreeSet::new();
        for _ in 0..self.spaces {
            let mut order = random_order(nodes, rng);
            order.retain(|&node| remain(node));
            if order.len() > 1 {
                let on_ring = Ring::default().edges(order.len());
                links.extend(on_ring.map(|(a, b)| ordered(order[a as usize], order[b as usize])));
            }
        }
        links
    }

    /// The overlay after the protocol has repaired it: each node alive is linked to the nearest alive on both sides of
    /// every ring.
    ///
    /// `rng` must be the stream that the overlay was built with, for the coordinates to be the same. The dead keep their
    /// index and have no edges.
    ///
    /// # Source
    /// Hua et al., Section 4: a node whose neighbour fails on a ring links to the next one on it.
    ///
    /// # Interpretation
    /// The ring neighbours alone are linked: the pairs that were formed at the build to reach 2L neighbours belong to no
    /// ring and are not formed again.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] as when building it.
    ///
    /// # Panics
    /// Unless there is one entry of `alive` for each node.
    pub fn rebuild(
        &self,
        nodes: usize,
        rng: &mut ChaCha8Rng,
        alive: &[bool],
    ) -> Result<Overlay, TopologyError> {
        assert_eq!(alive.len(), nodes, "one entry of alive per node");
        self.check(nodes)?;
        let links = self.rings(nodes, rng, |node| alive[node as usize]);
        Overlay::from_edges(nodes, links)
    }

    fn check(&self, nodes: usize) -> Result<(), TopologyError> {
        let most = nodes.saturating_sub(1) / 2;
        if (1..=most).contains(&self.spaces) {
            return Ok(());
        }
        let needed = match nodes {
            0..3 => format!("3 nodes or more, and there are {nodes}"),
            _ => format!(
                "a number from 1 to {most}: each space gives a node up to two neighbours, and there are {nodes} nodes"
            ),
        };
        Err(TopologyError::setting(
            "virtual_rings.spaces",
            self.spaces,
            needed,
        ))
    }

    /// Links nodes with fewer than 2L neighbours to each other.
    fn pair_up(&self, nodes: usize, links: &mut BTreeSet<(u32, u32)>, rng: &mut ChaCha8Rng) {
        let mut missing = vec![2 * self.spaces; nodes];
        for &(a, b) in links.iter() {
            missing[a as usize] -= 1;
            missing[b as usize] -= 1;
        }
        let short: Vec<u32> = (0..nodes as u32)
            .filter(|&node| missing[node as usize] > 0)
            .collect();
        let pairs = short
            .iter()
            .enumerate()
            .flat_map(|(index, &a)| short[index + 1..].iter().map(move |&b| (a, b)));
        let mut unlinked: Vec<_> = pairs.filter(|pair| !links.contains(pair)).collect();
        while !unlinked.is_empty() {
            let (a, b) = unlinked[rng.random_range(0..unlinked.len())];
            links.insert((a, b));
            missing[a as usize] -= 1;
            missing[b as usize] -= 1;
            let open = |node: u32| missing[node as usize] > 0;
            unlinked.retain(|&pair| pair != (a, b) && open(pair.0) && open(pair.1));
        }
    }
}

/// The nodes by ascending random coordinate in 0..1; equal coordinates stand in order of the nodes.
fn random_order(nodes: usize, rng: &mut ChaCha8Rng) -> Vec<u32> {
    let coordinates: Vec<f64> = (0..nodes).map(|_| rng.random()).collect();
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    order.sort_by(|&a, &b| coordinates[a as usize].total_cmp(&coordinates[b as usize]));
    order
}

fn ordered(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn nodes_have_twice_as_many_neighbours_as_rings() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (nodes, spaces) in [(10, 1), (50, 2), (200, 5), (1000, 3)] {
            let overlay = VirtualRings { spaces }
                .build(nodes.into(), &mut rng)
                .unwrap();
            let histogram = overlay.degree_histogram();
            assert_eq!(histogram.len(), 2 * spaces + 1);
            let full = histogram[2 * spaces];
            assert!(
                full + 2 >= nodes,
                "{spaces} spaces: only {full} of {nodes} nodes are full"
            );
            assert!(overlay.is_connected());
        }
    }

    #[test]
    fn who_stays_short_has_no_unlinked_partner() {
        for seed in 0..200 {
            let overlay = VirtualRings { spaces: 2 }
                .build(6.into(), &mut ChaCha8Rng::seed_from_u64(seed))
                .unwrap();
            let short: Vec<usize> = (0..6).filter(|&node| overlay.degree(node) < 4).collect();
            for &a in &short {
                let linked = |&b: &usize| a == b || overlay.neighbours(a).contains(&(b as u32));
                assert!(short.iter().all(linked), "seed {seed}");
            }
        }
    }

    #[test]
    fn the_alive_link_to_the_nearest_alive_on_every_ring() {
        let rings = VirtualRings { spaces: 3 };
        let stream = || ChaCha8Rng::seed_from_u64(8);
        let (dead, nodes) = ([2, 3, 11, 17], 20);
        let alive: Vec<bool> = (0..nodes).map(|node| !dead.contains(&node)).collect();
        let repaired = rings.rebuild(nodes, &mut stream(), &alive).unwrap();
        let mut coordinates = stream();
        let mut expected = vec![BTreeSet::new(); nodes];
        for _ in 0..3 {
            let place: Vec<f64> = (0..nodes).map(|_| coordinates.random()).collect();
            for node in (0..nodes).filter(|&node| alive[node]) {
                let others = || (0..nodes).filter(|&other| other != node && alive[other]);
                let ahead = |other: &usize| (place[*other] - place[node]).rem_euclid(1.0);
                let nearest = |a: &usize, b: &usize| ahead(a).total_cmp(&ahead(b));
                expected[node].insert(others().min_by(nearest).unwrap() as u32);
                expected[node].insert(others().max_by(nearest).unwrap() as u32);
            }
        }
        for (node, expected) in expected.iter().enumerate() {
            assert!(repaired.neighbours(node).iter().eq(expected), "{node}");
        }
        assert_eq!(repaired.components().len(), 1 + dead.len());
    }

    #[test]
    fn without_failures_the_ring_neighbours_are_those_of_the_build() {
        let rings = VirtualRings { spaces: 2 };
        let stream = || ChaCha8Rng::seed_from_u64(5);
        let built = rings.build(40.into(), &mut stream()).unwrap();
        let rebuilt = rings.rebuild(40, &mut stream(), &[true; 40]).unwrap();
        for (a, b) in rebuilt.edges() {
            assert!(built.neighbours(a as usize).contains(&b), "{a}-{b}");
        }
        let few: Vec<bool> = (0..40).map(|node| node < 2).collect();
        let pair = rings.rebuild(40, &mut stream(), &few).unwrap();
        assert_eq!(pair.edges().collect::<Vec<_>>(), [(0, 1)]);
        let one: Vec<bool> = (0..40).map(|node| node < 1).collect();
        let none = rings.rebuild(40, &mut stream(), &one).unwrap();
        assert_eq!(none.edge_count(), 0);
    }

    #[test]
    fn too_many_rings_are_refused() {
        let error = VirtualRings { spaces: 5 }
            .build(10.into(), &mut ChaCha8Rng::seed_from_u64(1))
            .unwrap_err();
        let expected = "virtual_rings.spaces: found 5, needed a number from 1 to 4: each space gives a node up to two neighbours, and there are 10 nodes";
        assert_eq!(error.to_string(), expected);
        let few = VirtualRings { spaces: 1 }
            .build(2.into(), &mut ChaCha8Rng::seed_from_u64(1))
            .unwrap_err();
        let expected = "virtual_rings.spaces: found 1, needed 3 nodes or more, and there are 2";
        assert_eq!(few.to_string(), expected);
    }
}
