//! Divides the nodes of a graph into parts with about equal work, so that few edges run between parts.

use metis::option::{Seed, UFactor};
use metis::{Graph, Idx};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The nodes of a graph, divided into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// The part of each node, `[n]`.
    pub part_of: Vec<u32>,
    /// Edges whose ends are in different parts.
    pub cut: usize,
    /// The edges that would be cut if the nodes lay in blocks, as in [`Division::in_blocks`].
    pub cut_in_blocks: usize,
}

/// The edges of a graph, for [`Division::new`]: of one overlay, or of several that nodes exchange over in turn.
#[derive(Clone, Debug)]
pub struct DividedGraph {
    /// Where the neighbours of each node begin, and the end of the last one, `[n + 1]`.
    starts: Vec<Idx>,
    /// Neighbours of each node, ascending, each edge in both directions.
    neighbours: Vec<Idx>,
    /// How often each of these edges was named.
    times: Vec<Idx>,
}

/// How much more than an equal share of nodes or work a part may have.
const UNEVEN: f64 = 1.05;

/// Up to this many nodes, several divisions are tried.
const FEW: usize = 20_000;

/// METIS draws from the C library's only generator. The lock admits one caller at a time, so that equal calls give
/// equal divisions.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl DividedGraph {
    /// The graph of `nodes` nodes with the edges `arcs`, in any order and direction; one that is named more often counts more.
    /// `None` if there are more of them than METIS can count.
    #[must_use]
    pub fn new(nodes: usize, arcs: impl IntoIterator<Item = (u32, u32)>) -> Option<Self> {
        let arcs = arcs.into_iter().filter(|(a, b)| a != b);
        let mut both: Vec<(u32, u32)> = arcs.flat_map(|(a, b)| [(a, b), (b, a)]).collect();
        Idx::try_from(both.len().max(nodes)).ok()?;
        both.sort_unstable();
        let mut graph = Self {
            starts: vec![0; nodes + 1],
            neighbours: Vec::new(),
            times: Vec::new(),
        };
        for same in both.chunk_by(|one, other| one == other) {
            let (node, neighbour) = same[0];
            graph.starts[node as usize + 1] += 1;
            graph.neighbours.push(neighbour as Idx);
            graph.times.push(same.len() as Idx);
        }
        for node in 0..nodes {
            graph.starts[node + 1] += graph.starts[node];
        }
        Some(graph)
    }

    fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    fn edges(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        (0..self.nodes()).flat_map(move |node| {
            let own = self.starts[node] as usize..self.starts[node + 1] as usize;
            own.map(move |at| {
                let (neighbour, times) = (self.neighbours[at] as usize, self.times[at] as u64);
                (node, neighbour, times)
            })
        })
    }

    /// Edges between parts, and the same with each edge counted as often as it was named.
    fn cut(&self, part_of: &[u32]) -> (usize, u64) {
        let between = self.edges().filter(|(a, b, _)| part_of[*a] != part_of[*b]);
        let (edges, named) = between.fold((0, 0), |(edges, named), (_, _, times)| {
            (edges + 1, named + times)
        });
        (edges / 2, named / 2)
    }
}

impl Division {
    /// Divides the nodes of `graph` into `parts` parts; `work[i]` is the work of node `i`. Nodes and work are balanced
    /// within 5 % and one node. The nodes lie in blocks if METIS finds no balanced division, or none that cuts fewer
    /// edges than balanced blocks.
    #[must_use]
    pub fn new(graph: &DividedGraph, work: &[u64], parts: usize) -> Self {
        let blocks = Self::in_blocks(graph.nodes(), parts);
        let (cut_in_blocks, named_in_blocks) = graph.cut(&blocks);
        let limits = Limits::new(work, parts);
        let found = Self::by_metis(graph, work, parts).into_iter();
        let level = found.filter(|part_of| limits.allow(part_of, work, parts));
        let best = level.min_by_key(|part_of| graph.cut(part_of).1);
        let better = best.filter(|part_of| {
            graph.cut(part_of).1 < named_in_blocks || !limits.allow(&blocks, work, parts)
        });
        let part_of = better.unwrap_or(blocks);
        Self {
            cut: graph.cut(&part_of).0,
            cut_in_blocks,
            part_of,
        }
    }

    /// The part of each of `nodes` nodes if consecutive nodes stay together and all parts have about as many.
    #[must_use]
    pub fn in_blocks(nodes: usize, parts: usize) -> Vec<u32> {
        let of_part = |part: usize| Self::block(nodes, part, parts).map(move |_| part as u32);
        (0..parts).flat_map(of_part).collect()
    }

    /// The nodes of `part` of `parts` where they lie in blocks: the first parts are the larger ones.
    #[must_use]
    pub fn block(nodes: usize, part: usize, parts: usize) -> Range<usize> {
        let end = |part: usize| (part * nodes).div_ceil(parts);
        end(part)..end(part + 1)
    }

    /// Divisions that METIS finds, level or not.
    fn by_metis(links: &DividedGraph, work: &[u64], parts: usize) -> Vec<Vec<u32>> {
        let nodes = links.nodes();
        if parts < 2 || nodes <= parts || links.neighbours.is_empty() {
            return Vec::new();
        }
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (constraints, weights) = weights(work);
        let mut found = Vec::new();
        let seeds = if nodes <= FEW { 1..5 } else { 1..2 };
        for seed in seeds {
            for bisects in [true, false] {
                // Many parts of a large graph are cut at once.
                if bisects && nodes > FEW && parts > 8 {
                    continue;
                }
                let graph = Graph::new(constraints, parts as Idx, &links.starts, &links.neighbours);
                let weighted = graph.map(|metis| metis.set_vwgt(&weights).set_adjwgt(&links.times));
                let Ok(graph) = weighted else {
                    continue;
                };
                found.extend(divided(graph, nodes, bisects, seed));
            }
        }
        found
    }
}

/// The division of a graph that METIS finds; `None` if it fails.
fn divided(graph: Graph<'_>, nodes: usize, bisects: bool, seed: Idx) -> Option<Vec<u32>> {
    let mut part_of: Vec<Idx> = vec![0; nodes];
    let graph = graph.set_option(Seed(seed)).set_option(UFactor(10));
    match bisects {
        true => graph.part_recursive(&mut part_of),
        false => graph.part_kway(&mut part_of),
    }
    .ok()?;
    part_of
        .iter()
        .map(|part| u32::try_from(*part).ok())
        .collect()
}

/// The node weights that METIS balances, and how many of them each node has: one if all nodes have equal work, else
/// also the work.
fn weights(work: &[u64]) -> (Idx, Vec<Idx>) {
    if work.iter().all(|own| *own == work[0]) {
        return (1, vec![1; work.len()]);
    }
    let total = work.iter().map(|own| *own as f64).sum::<f64>().max(1.0);
    let scale = (f64::from(1 << 29) / total).min(1.0);
    let scaled = |own: &u64| [1, ((*own as f64 * scale) as Idx).max(1)];
    (2, work.iter().flat_map(scaled).collect())
}

/// The most that a part may have.
struct Limits {
    nodes: usize,
    work: f64,
}

impl Limits {
    fn new(work: &[u64], parts: usize) -> Self {
        let total: f64 = work.iter().map(|own| *own as f64).sum();
        let largest = work.iter().copied().max().unwrap_or(0) as f64;
        Self {
            nodes: (work.len().div_ceil(parts) as f64 * UNEVEN) as usize,
            work: (total / parts as f64 * UNEVEN).max(total / parts as f64 + largest),
        }
    }

    fn allow(&self, part_of: &[u32], work: &[u64], parts: usize) -> bool {
        let (mut nodes, mut sums) = (vec![0; parts], vec![0.0; parts]);
        for (part, own) in part_of.iter().zip(work) {
            nodes[*part as usize] += 1;
            sums[*part as usize] += *own as f64;
        }
        nodes.iter().all(|nodes| *nodes <= self.nodes) && sums.iter().all(|sum| *sum <= self.work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::seq::SliceRandom;
    use rand_chacha::ChaCha8Rng;

    /// A ring of `nodes` nodes, whose names are shuffled.
    fn shuffled_ring(nodes: usize) -> DividedGraph {
        let mut names: Vec<u32> = (0..nodes as u32).collect();
        names.shuffle(&mut ChaCha8Rng::seed_from_u64(3));
        let next = |at: usize| (names[at], names[(at + 1) % nodes]);
        DividedGraph::new(nodes, (0..nodes).map(next)).unwrap()
    }

    #[test]
    fn a_shuffled_ring_is_cut_where_one_in_order_is() {
        let found = Division::new(&shuffled_ring(400), &[5; 400], 4);
        assert!(found.cut <= 8, "{} edges", found.cut);
        assert!(found.cut_in_blocks > 250);
        assert_eq!(found, Division::new(&shuffled_ring(400), &[5; 400], 4));
    }

    #[test]
    fn cliques_stay_whole() {
        // Clique c has the nodes c, c + 6, c + 12 and so on.
        let cliques = (0..60u32).flat_map(|a| (0..a).map(move |b| (a, b)));
        let linked = cliques.filter(|(a, b)| (a - b) % 6 == 0);
        let graph = DividedGraph::new(60, linked).unwrap();
        let found = Division::new(&graph, &[1; 60], 3);
        assert_eq!(found.cut, 0);
        assert!((0..3).all(|part| found.part_of.iter().filter(|of| **of == part).count() == 20));
    }

    #[test]
    fn work_is_level_where_blocks_are_not() {
        // The first half has nine times the work of the second.
        let work: Vec<u64> = (0..200)
            .map(|node| if node < 100 { 900 } else { 100 })
            .collect();
        let ring = (0..200).map(|node| (node, (node + 1) % 200));
        let found = Division::new(&DividedGraph::new(200, ring).unwrap(), &work, 4);
        let of_part = |part| {
            let own = found.part_of.iter().zip(&work);
            own.filter(|(of, _)| **of == part)
                .map(|(_, work)| work)
                .sum::<u64>()
        };
        let heaviest = (0..4).map(of_part).max().unwrap();
        assert!(heaviest <= 26_250, "{heaviest} of 100000");
    }

    #[test]
    fn a_graph_without_edges_and_a_ring_in_order_lie_in_blocks() {
        let none = DividedGraph::new(7, []).unwrap();
        let blocks = Division::in_blocks(7, 3);
        assert_eq!(blocks, [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(Division::new(&none, &[1; 7], 3).part_of, blocks);
        let ring = DividedGraph::new(12, (0..12).map(|node| (node, (node + 1) % 12))).unwrap();
        let found = Division::new(&ring, &[1; 12], 3);
        assert_eq!((found.part_of, found.cut), (Division::in_blocks(12, 3), 3));
    }

    #[test]
    fn an_edge_that_is_named_more_often_is_kept() {
        // Two pairs, linked by an edge of two overlays each; the edges between the pairs are of one.
        let named = [(0, 2), (2, 0), (1, 3), (1, 3), (0, 1), (2, 3)];
        let found = Division::new(&DividedGraph::new(4, named).unwrap(), &[1; 4], 2);
        assert_eq!(found.part_of[0], found.part_of[2]);
        assert_eq!((found.cut, found.cut_in_blocks), (2, 2));
    }
}
