//! Newcomers link to nodes that have many links.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scale-free overlay: nodes join one after the other, and each newcomer links to `links` different nodes, one with twice the
/// neighbours being twice as likely. Some nodes become hubs.
///
/// # Source
/// Barabási and Albert, *Emergence of scaling in random networks* (1999).
///
/// # Interpretation
/// The paper does not say how the first nodes are linked. As in NetworkX, node 0 is linked to nodes 1 to `links`, and the others join. The
/// `links` nodes of a newcomer are drawn one after the other, and one that is drawn again is drawn anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BarabasiAlbert {
    /// Links of a newcomer, at least 1 and fewer than there are nodes. The mean degree is about twice as large.
    pub links: usize,
}

impl OverlaySpec for BarabasiAlbert {
    usual!(fixed, plain);

    fn label(&self) -> String {
        format!("barabasi_albert links={}", self.links)
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        let (n, links) = (nodes as f64, self.links as f64);
        OverlaySize::listed(nodes, links * (n - links), Paths::Short)
    }
}

impl FixedOverlay for BarabasiAlbert {
    /// # Errors
    /// [`TopologyError::Setting`] if `links` does not fit.
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let (nodes, links) = (nodes.count, self.links);
        if links == 0 || links >= nodes {
            let needed = match nodes {
                0 | 1 => format!("2 nodes or more, and there are {nodes}"),
                _ => format!("1 to {}, fewer than the {nodes} nodes", nodes - 1),
            };
            return Err(TopologyError::setting(
                "barabasi_albert.links",
                links,
                needed,
            ));
        }
        // Each node as often as it has neighbours.
        let mut ends: Vec<u32> = Vec::with_capacity(2 * links * (nodes - links));
        let mut edges = Vec::with_capacity(links * (nodes - links));
        let mut chosen: Vec<u32> = (1..=links as u32).collect();
        let mut newcomer = 0;
        loop {
            for other in &chosen {
                edges.push((newcomer, *other));
                ends.extend([newcomer, *other]);
            }
            // The star around node 0 is complete: the next to join is the first that is not in it.
            newcomer = (newcomer + 1).max(links as u32 + 1);
            if newcomer as usize >= nodes {
                return Overlay::from_edges(nodes, edges);
            }
            chosen.clear();
            while chosen.len() < links {
                let other = ends[rng.random_range(0..ends.len())];
                if !chosen.contains(&other) {
                    chosen.push(other);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn build(nodes: usize, links: usize, seed: u64) -> Result<Overlay, TopologyError> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        BarabasiAlbert { links }.build(nodes.into(), &mut rng)
    }

    #[test]
    fn newcomers_have_the_links_that_are_asked_for() {
        for (nodes, links) in [(2, 1), (3, 2), (10, 1), (10, 9), (50, 3)] {
            let overlay = build(nodes, links, 1).unwrap();
            assert_eq!(overlay.edge_count(), links * (nodes - links));
            assert!(overlay.is_connected());
            for newcomer in links + 1..nodes {
                let earlier = overlay.neighbours(newcomer).iter();
                let earlier = earlier.filter(|other| (**other as usize) < newcomer);
                assert_eq!(earlier.count(), links);
            }
        }
    }

    /// A share k^-2 of the nodes has k neighbours or more, so that a few have very many.
    #[test]
    fn degrees_have_a_heavy_tail() {
        let overlay = build(20_000, 2, 7).unwrap();
        let with = |least: usize| {
            let nodes = (0..20_000).filter(|node| overlay.degree(*node) >= least);
            nodes.count() as f64 / 20_000.0
        };
        // P(degree >= k) = m (m + 1) / (k (k + 1)) in the limit (Bollobás et al., 2001).
        for (least, expected) in [(4, 6.0 / 20.0), (10, 6.0 / 110.0), (30, 6.0 / 930.0)] {
            let found = with(least);
            assert!((found / expected - 1.0).abs() < 0.2, "{least}: {found}");
        }
        assert!((0..20_000).any(|node| overlay.degree(node) > 150));
    }

    #[test]
    fn links_that_do_not_fit_are_refused() {
        for (nodes, links, needed) in [
            (10, 0, "1 to 9, fewer than the 10 nodes"),
            (10, 10, "1 to 9, fewer than the 10 nodes"),
            (1, 1, "2 nodes or more, and there are 1"),
        ] {
            let said = build(nodes, links, 1).unwrap_err().to_string();
            let expected = format!("barabasi_albert.links: found {links}, needed {needed}");
            assert_eq!(said, expected);
        }
    }
}
