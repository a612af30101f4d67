//! How far nodes are from each other along the edges of an overlay.

use crate::Overlay;

/// The lengths of the shortest paths between all nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Distances {
    /// The longest.
    pub(crate) diameter: usize,
    /// The mean over the pairs of different nodes.
    pub(crate) mean: f64,
}

/// Sources of one search: each is a bit of a word.
const SOURCES: usize = u64::BITS as usize;

impl Distances {
    /// Those of `overlay`, along the directions of its edges; `None` of a single node, and where a node does not reach another.
    ///
    /// # Complexity
    /// O(N m / 64) steps for each unit of the diameter at worst: searches by breadth from 64 nodes at a time.
    pub(crate) fn of(overlay: &Overlay) -> Option<Self> {
        let nodes = overlay.nodes();
        if nodes < 2 {
            return None;
        }
        if overlay.is_complete() {
            return Some(Self {
                diameter: 1,
                mean: 1.0,
            });
        }
        let mut diameter = 0;
        let mut sum: u64 = 0;
        for first in (0..nodes).step_by(SOURCES) {
            let sources = first..nodes.min(first + SOURCES);
            let by_length = reached(overlay, sources.clone());
            let pairs: u64 = by_length.iter().sum();
            if pairs < (sources.len() * (nodes - 1)) as u64 {
                return None;
            }
            diameter = diameter.max(by_length.len());
            let lengths = (1..).zip(&by_length);
            sum += lengths.map(|(length, pairs)| length * pairs).sum::<u64>();
        }
        let pairs = nodes as f64 * (nodes - 1) as f64;
        Some(Self {
            diameter,
            mean: sum as f64 / pairs,
        })
    }
}

/// How many pairs of one of the `sources`, at most [`SOURCES`], and another node are 1, 2, … edges apart, to the largest distance.
fn reached(overlay: &Overlay, sources: std::ops::Range<usize>) -> Vec<u64> {
    let nodes = overlay.nodes();
    // Bit s of a node's word is set once source s has reached the node, and in `frontier` if it has in the last step.
    let mut seen = vec![0_u64; nodes];
    let mut frontier = vec![0_u64; nodes];
    let mut next = vec![0_u64; nodes];
    for (bit, source) in sources.clone().enumerate() {
        seen[source] = 1 << bit;
        frontier[source] = 1 << bit;
    }
    let mut active: Vec<usize> = sources.collect();
    let mut pairs = Vec::new();
    loop {
        let mut touched: Vec<usize> = Vec::new();
        for node in active {
            let word = std::mem::take(&mut frontier[node]);
            for other in overlay.neighbours(node).iter() {
                let other = *other as usize;
                let new = word & !seen[other];
                if new != 0 {
                    if next[other] == 0 {
                        touched.push(other);
                    }
                    next[other] |= new;
                }
            }
        }
        if touched.is_empty() {
            return pairs;
        }
        let bits = touched
            .iter()
            .map(|node| u64::from(next[*node].count_ones()));
        pairs.push(bits.sum());
        for node in &touched {
            seen[*node] |= next[*node];
            frontier[*node] = std::mem::take(&mut next[*node]);
        }
        active = touched;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// By the algorithm of Floyd and Warshall.
    fn by_relaxation(overlay: &Overlay) -> Option<Distances> {
        let nodes = overlay.nodes();
        let mut length = vec![vec![f64::INFINITY; nodes]; nodes];
        for (node, row) in length.iter_mut().enumerate() {
            row[node] = 0.0;
            let neighbours = overlay.neighbours(node);
            neighbours
                .iter()
                .for_each(|other| row[*other as usize] = 1.0);
        }
        for through in 0..nodes {
            let after = length[through].clone();
            for row in &mut length {
                let before = row[through];
                let pairs = row.iter_mut().zip(&after);
                pairs.for_each(|(own, after)| *own = own.min(before + after));
            }
        }
        let all = length.iter().flatten();
        let longest = all.clone().copied().fold(0.0, f64::max);
        let pairs = (nodes * (nodes - 1)) as f64;
        longest.is_finite().then(|| Distances {
            diameter: longest as usize,
            mean: all.sum::<f64>() / pairs,
        })
    }

    #[test]
    fn searches_agree_with_relaxation() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut apart, mut long) = (0, 0);
        for case in 0..60 {
            let nodes = 2 + 3 * case;
            let p = 4.0 / nodes as f64;
            let arcs: Vec<(u32, u32)> = (0..nodes as u32)
                .flat_map(|a| (0..nodes as u32).map(move |b| (a, b)))
                .filter(|(a, b)| a != b && rng.random_bool(p.min(1.0)))
                .collect();
            let both = Overlay::from_edges(nodes, arcs.iter().copied().filter(|(a, b)| a < b));
            for overlay in [both.unwrap(), Overlay::directed(nodes, arcs).unwrap()] {
                let (found, expected) = (Distances::of(&overlay), by_relaxation(&overlay));
                match (found, expected) {
                    (Some(found), Some(expected)) => {
                        assert_eq!(found.diameter, expected.diameter);
                        assert!((found.mean - expected.mean).abs() < 1e-12);
                        long += usize::from(found.diameter > 4);
                    }
                    (None, None) => apart += 1,
                    _ => panic!("{nodes} nodes: {found:?}, {expected:?}"),
                }
            }
        }
        assert!(apart > 5 && long > 5, "{apart} {long}");
    }

    #[test]
    fn a_ring_of_more_nodes_than_one_search_has_sources() {
        let nodes = 201;
        let edges = (0..nodes).map(|node| (node, (node + 1) % nodes));
        let ring = Overlay::from_edges(nodes as usize, edges).unwrap();
        let expected = Distances {
            diameter: 100,
            mean: 50.5,
        };
        assert_eq!(Distances::of(&ring), Some(expected));
    }
}
