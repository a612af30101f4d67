//! Edges between the least connected nodes of groups.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;

/// Edges between cliques as they are added, one after the other.
///
/// # Source
/// D-Cliques (Bellet et al.), Section III-C: edges are spread equally among the nodes of a clique.
///
/// # Interpretation
/// Least connected is the node with the fewest edges to other cliques, as all have equally many to their own (unless some
/// of those are removed, which moves no edge between cliques); one of several is chosen uniformly.
pub(super) struct InterCliqueEdges<'a> {
    edges: BTreeSet<(u32, u32)>,
    degrees: Vec<u32>,
    rng: &'a mut ChaCha8Rng,
}

impl<'a> InterCliqueEdges<'a> {
    /// No edges yet, between cliques that hold every node once.
    pub(super) fn new(cliques: &[Vec<u32>], rng: &'a mut ChaCha8Rng) -> Self {
        Self {
            edges: BTreeSet::new(),
            degrees: vec![0; cliques.iter().map(Vec::len).sum()],
            rng,
        }
    }

    /// Adds the edge between the least connected nodes of two groups, unless it is there.
    pub(super) fn join(&mut self, first: &[u32], second: &[u32]) {
        let (a, b) = (self.least_connected(first), self.least_connected(second));
        if self.edges.insert((a.min(b), a.max(b))) {
            self.degrees[a as usize] += 1;
            self.degrees[b as usize] += 1;
        }
    }

    /// The edges, ascending.
    pub(super) fn into_vec(self) -> Vec<(u32, u32)> {
        self.edges.into_iter().collect()
    }

    fn least_connected(&mut self, group: &[u32]) -> u32 {
        let degree = |node: &u32| self.degrees[*node as usize];
        let least = group.iter().map(degree).min().unwrap_or(0);
        let candidates: Vec<u32> = group
            .iter()
            .copied()
            .filter(|node| degree(node) == least)
            .collect();
        candidates[self.rng.random_range(0..candidates.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn edges_go_to_the_least_connected_node_of_each_clique() {
        let cliques = [vec![4, 0, 2], vec![1, 3], vec![5, 6]];
        for seed in 0..20 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut edges = InterCliqueEdges::new(&cliques, &mut rng);
            for (first, second) in [(0, 1), (0, 2), (1, 2), (0, 1), (2, 0), (1, 2), (0, 2)] {
                let before = edges.degrees.clone();
                let count = edges.edges.len();
                edges.join(&cliques[first], &cliques[second]);
                for clique in [&cliques[first], &cliques[second]] {
                    let least = clique
                        .iter()
                        .map(|&node| before[node as usize])
                        .min()
                        .unwrap();
                    let raised =
                        |&&node: &&u32| edges.degrees[node as usize] > before[node as usize];
                    let raised: Vec<&u32> = clique.iter().filter(raised).collect();
                    assert_eq!(raised.len(), edges.edges.len() - count);
                    assert!(raised.iter().all(|&&node| before[node as usize] == least));
                }
            }
        }
    }

    #[test]
    fn an_edge_that_is_there_is_not_added_again() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut edges = InterCliqueEdges::new(&[vec![0], vec![1]], &mut rng);
        edges.join(&[0], &[1]);
        edges.join(&[1], &[0]);
        assert_eq!(edges.degrees, [1, 1]);
        assert_eq!(edges.into_vec(), [(0, 1)]);
    }
}
