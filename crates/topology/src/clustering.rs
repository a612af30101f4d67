//! How neighbours in an overlay are linked among themselves, and to whom nodes of many neighbours are linked.

use crate::Overlay;

/// Bits of a word of [`Sets`].
const BITS: usize = u64::BITS as usize;

/// The mean over the nodes of the share of pairs of a node's neighbours that are neighbours themselves; a node with fewer than two
/// neighbours counts as 0. `overlay` has no directions.
///
/// # Source
/// Watts and Strogatz, *Collective dynamics of "small-world" networks* (1998).
///
/// # Complexity
/// O(N m / 64), and N² bits of memory.
pub(crate) fn clustering(overlay: &Overlay) -> f64 {
    let nodes = overlay.nodes();
    if overlay.is_complete() {
        return f64::from(u8::from(nodes > 2));
    }
    let sets = Sets::of(overlay);
    let of_node = |node: usize| {
        let degree = overlay.degree(node);
        if degree < 2 {
            return 0.0;
        }
        let neighbours = overlay.neighbours(node);
        let linked = neighbours
            .iter()
            .map(|other| sets.common(node, *other as usize));
        // Each linked pair is counted from both of its ends.
        linked.sum::<u64>() as f64 / (degree * (degree - 1)) as f64
    };
    (0..nodes).map(of_node).sum::<f64>() / nodes as f64
}

/// The correlation of the degrees at the two ends of an edge; `None` if all ends have the same degree. `overlay` has no directions.
///
/// # Source
/// Newman, *Assortative mixing in networks* (2002), equation (4).
pub(crate) fn assortativity(overlay: &Overlay) -> Option<f64> {
    if overlay.is_complete() {
        return None;
    }
    // Each edge counts with either end first, so both ends have one mean and one variance.
    let degree = |node: u32| overlay.degree(node as usize) as f64;
    let ends = || overlay.edges().map(|(a, b)| (degree(a), degree(b)));
    let edges = overlay.edge_count() as f64;
    let mean = ends().map(|(a, b)| a + b).sum::<f64>() / (2.0 * edges);
    let off = |(a, b): (f64, f64)| (a - mean, b - mean);
    let variance = ends().map(off).map(|(a, b)| a * a + b * b).sum::<f64>() / 2.0;
    let covariance = ends().map(off).map(|(a, b)| a * b).sum::<f64>();
    // Differences of degrees are whole numbers: a variance below this is rounding.
    (variance > 1e-9 * edges).then(|| covariance / variance)
}

/// The neighbours of each node as a set of bits.
struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    fn of(overlay: &Overlay) -> Self {
        let words = overlay.nodes().div_ceil(BITS);
        let mut bits = vec![0; words * overlay.nodes()];
        for (node, set) in bits.chunks_mut(words).enumerate() {
            for other in overlay.neighbours(node).iter() {
                set[*other as usize / BITS] |= 1 << (*other as usize % BITS);
            }
        }
        Self { words, bits }
    }

    /// How many neighbours `one` and `other` have in common.
    fn common(&self, one: usize, other: usize) -> u64 {
        let set = |node: usize| &self.bits[node * self.words..][..self.words];
        let words = set(one).iter().zip(set(other));
        words
            .map(|(one, other)| u64::from((one & other).count_ones()))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Over all pairs of neighbours.
    fn by_pairs(overlay: &Overlay) -> f64 {
        let of_node = |node: usize| {
            let around = overlay.neighbours(node).to_vec();
            let pairs = around
                .iter()
                .flat_map(|a| around.iter().map(move |b| (a, b)));
            let pairs: Vec<_> = pairs.filter(|(a, b)| a < b).collect();
            let linked = pairs
                .iter()
                .filter(|(a, b)| overlay.neighbours(**a as usize).contains(b));
            linked.count() as f64 / (pairs.len() as f64).max(1.0)
        };
        (0..overlay.nodes()).map(of_node).sum::<f64>() / overlay.nodes() as f64
    }

    #[test]
    fn sets_of_bits_agree_with_all_pairs_of_neighbours() {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        for nodes in [1_usize, 2, 5, 63, 64, 65, 130] {
            let pairs = (0..nodes as u32).flat_map(|a| (0..a).map(move |b| (a, b)));
            let edges: Vec<_> = pairs.filter(|_| rng.random_bool(0.2)).collect();
            let overlay = Overlay::from_edges(nodes, edges).unwrap();
            let (found, expected) = (clustering(&overlay), by_pairs(&overlay));
            assert!(
                (found - expected).abs() < 1e-12,
                "{nodes}: {found}, {expected}"
            );
            assert!(nodes < 60 || found > 0.1, "{nodes}: {found}");
        }
        assert_eq!(clustering(&Overlay::complete(2).unwrap()), 0.0);
        assert_eq!(clustering(&Overlay::complete(3).unwrap()), 1.0);
    }

    #[test]
    fn stars_are_disassortative_and_cliques_of_two_sizes_assortative() {
        let star = Overlay::from_edges(5, (1..5).map(|leaf| (0, leaf))).unwrap();
        assert_eq!(assortativity(&star), Some(-1.0));
        let cliques = [(0, 1), (0, 2), (1, 2), (3, 4)];
        let cliques = Overlay::from_edges(5, cliques).unwrap();
        assert_eq!(assortativity(&cliques), Some(1.0));
        // A path of four nodes: degrees 1 2, 2 2, 2 1, of mean 5/3; covariance -2/18, variance 2/9 (networkx agrees).
        let path = Overlay::from_edges(4, [(0, 1), (1, 2), (2, 3)]).unwrap();
        assert!((assortativity(&path).unwrap() + 0.5).abs() < 1e-12);
        let ring = Overlay::from_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)]).unwrap();
        assert_eq!(assortativity(&ring), None);
        assert_eq!(assortativity(&Overlay::from_edges(3, []).unwrap()), None);
        assert_eq!(assortativity(&Overlay::complete(4).unwrap()), None);
    }
}
