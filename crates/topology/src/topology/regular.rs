//! Uniformly random graphs of one degree.

use super::overlay_spec::{FixedOverlay, OverlaySpec, usual};
use super::size::{OverlaySize, Paths};
use crate::{Nodes, Overlay, TopologyError};
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest degree for which whole pairings are drawn until one is simple: one in e^((d^2-1)/4), so about 43.
const PAIRING_DEGREE: usize = 4;
/// Switches proposed per edge for larger degrees.
const SWITCHES_PER_EDGE: usize = 10;

/// A graph drawn uniformly from the connected simple graphs in which every node has `degree` neighbours.
///
/// With high probability it is close to a Ramanujan graph.
///
/// # Source
/// Hua et al., Section 3; D-Cliques (Bellet et al.), Section IV-D, with degree 10.
///
/// # Interpretation
/// A random cycle for degree 2; else the pairing model of Bollobás (1980) with rejection up to degree 4: both are
/// exactly uniform. Larger degrees start from a random pairing whose loops and double edges are switched away, and then
/// take ten switches per edge of the switch chain, whose stationary distribution is uniform (Cooper, Dyer and
/// Greenhill 2007). Above (n-1)/2 it is the complement of such a graph. Disconnected draws are repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Regular {
    /// Neighbours of every node.
    pub degree: usize,
}

impl OverlaySpec for Regular {
    usual!(fixed, plain);

    fn label(&self) -> String {
        format!("{}-regular", self.degree)
    }

    fn size(&self, nodes: usize) -> OverlaySize {
        OverlaySize::listed(nodes, self.degree as f64 * nodes as f64 / 2.0, Paths::Short)
    }
}

impl FixedOverlay for Regular {
    /// Draws until connected; from degree 3 on almost every draw is.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] if no connected graph has this degree, and if both `degree` and `nodes` are odd.
    fn build(&self, nodes: Nodes<'_>, rng: &mut ChaCha8Rng) -> Result<Overlay, TopologyError> {
        let nodes = nodes.count;
        let degree = self.degree;
        let (least, most) = (2.min(nodes - 1), nodes - 1);
        if degree < least || degree > most {
            let needed = format!("{least} to {most} in a connected overlay of {nodes} nodes");
            return Err(TopologyError::setting("regular.degree", degree, needed));
        }
        if degree % 2 == 1 && nodes % 2 == 1 {
            let even = degree.saturating_sub(1).max(2);
            let needed = format!(
                "an even degree for {nodes} nodes, such as {even}: an odd one on an odd number of nodes gives half an edge"
            );
            return Err(TopologyError::setting("regular.degree", degree, needed));
        }
        if degree == 2 {
            return Overlay::from_edges(nodes, cycle(nodes, rng));
        }
        loop {
            let overlay = Overlay::from_edges(nodes, draw(nodes, degree, rng))?;
            if overlay.is_connected() {
                return Ok(overlay);
            }
        }
    }
}

/// A uniformly random cycle through all nodes: the connected graphs of degree 2.
fn cycle(nodes: usize, rng: &mut ChaCha8Rng) -> Vec<(u32, u32)> {
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    order.shuffle(rng);
    (0..nodes)
        .map(|place| (order[place], order[(place + 1) % nodes]))
        .collect()
}

/// Edges of a random regular graph, connected or not.
fn draw(nodes: usize, degree: usize, rng: &mut ChaCha8Rng) -> Vec<(u32, u32)> {
    if degree > (nodes - 1) / 2 {
        return complement(nodes, &draw(nodes, nodes - 1 - degree, rng));
    }
    if degree > PAIRING_DEGREE {
        return Switching::draw(nodes, degree, rng);
    }
    loop {
        let edges = pairing(nodes, degree, rng);
        if is_simple(nodes, degree, &edges) {
            return edges;
        }
    }
}

/// The pairs that are no edges.
fn complement(nodes: usize, edges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut sorted: Vec<_> = edges.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
    sorted.sort_unstable();
    let pairs = (0..nodes as u32).flat_map(|a| (a + 1..nodes as u32).map(move |b| (a, b)));
    pairs
        .filter(|pair| sorted.binary_search(pair).is_err())
        .collect()
}

/// Joins `degree` stubs per node in random pairs; may hold loops and repeated edges.
fn pairing(nodes: usize, degree: usize, rng: &mut ChaCha8Rng) -> Vec<(u32, u32)> {
    let mut stubs: Vec<u32> = (0..nodes as u32)
        .flat_map(|node| std::iter::repeat_n(node, degree))
        .collect();
    stubs.shuffle(rng);
    stubs.chunks(2).map(|pair| (pair[0], pair[1])).collect()
}

fn is_simple(nodes: usize, degree: usize, edges: &[(u32, u32)]) -> bool {
    let mut linked = Adjacency {
        degree,
        heads: vec![u32::MAX; nodes * degree],
    };
    edges.iter().all(|&(a, b)| {
        let new = a != b && !linked.contains(a, b);
        if new {
            linked.replace(a, u32::MAX, b);
            linked.replace(b, u32::MAX, a);
        }
        new
    })
}

/// The `degree` neighbours of every node, unordered; `u32::MAX` where none stands yet.
struct Adjacency {
    degree: usize,
    heads: Vec<u32>,
}

impl Adjacency {
    fn row(&self, node: u32) -> &[u32] {
        &self.heads[node as usize * self.degree..][..self.degree]
    }

    fn contains(&self, a: u32, b: u32) -> bool {
        self.row(a).contains(&b)
    }

    fn replace(&mut self, node: u32, old: u32, new: u32) {
        let row = &mut self.heads[node as usize * self.degree..][..self.degree];
        let place = row
            .iter()
            .position(|&head| head == old)
            .expect("the edge replaced stands in both rows");
        row[place] = new;
    }
}

/// A graph that is changed by switches: edges a-b and c-d become a-d and c-b.
struct Switching {
    edges: Vec<(u32, u32)>,
    adjacency: Adjacency,
}

impl Switching {
    /// A random pairing made simple by switches, then mixed by more of them.
    fn draw(nodes: usize, degree: usize, rng: &mut ChaCha8Rng) -> Vec<(u32, u32)> {
        let mut graph = Self::of(nodes, degree, pairing(nodes, degree, rng));
        while !graph.repair(rng) {
            graph = Self::of(nodes, degree, pairing(nodes, degree, rng));
        }
        let count = graph.edges.len();
        for _ in 0..SWITCHES_PER_EDGE * count {
            graph.propose(rng.random_range(0..count), rng);
        }
        graph.edges
    }

    fn of(nodes: usize, degree: usize, edges: Vec<(u32, u32)>) -> Self {
        let mut adjacency = Adjacency {
            degree,
            heads: vec![u32::MAX; nodes * degree],
        };
        for &(a, b) in &edges {
            adjacency.replace(a, u32::MAX, b);
            adjacency.replace(b, u32::MAX, a);
        }
        Self { edges, adjacency }
    }

    /// Switches loops and repeated edges away; false if chance did not manage.
    fn repair(&mut self, rng: &mut ChaCha8Rng) -> bool {
        (0..self.edges.len()).all(|edge| {
            (0..1000).any(|_| {
                let (a, b) = self.edges[edge];
                let copies = self
                    .adjacency
                    .row(a)
                    .iter()
                    .filter(|&&head| head == b)
                    .count();
                let simple = a != b && copies == 1;
                if !simple {
                    self.propose(edge, rng);
                }
                simple
            })
        })
    }

    /// Switches edge `first` with a random one, unless that makes a loop or repeats an edge.
    fn propose(&mut self, first: usize, rng: &mut ChaCha8Rng) {
        let second = rng.random_range(0..self.edges.len());
        let (a, b) = self.edges[first];
        let (mut c, mut d) = self.edges[second];
        if rng.random::<bool>() {
            (c, d) = (d, c);
        }
        let loops = a == d || c == b;
        let twins = a == b && c == d;
        if first == second
            || loops
            || twins
            || self.adjacency.contains(a, d)
            || self.adjacency.contains(c, b)
        {
            return;
        }
        self.adjacency.replace(a, b, d);
        self.adjacency.replace(b, a, c);
        self.adjacency.replace(c, d, b);
        self.adjacency.replace(d, c, a);
        self.edges[first] = (a, d);
        self.edges[second] = (c, b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use std::collections::BTreeMap;

    /// χ² of how often each of the `graphs` labelled graphs is drawn in `draws`.
    fn chi_squared(graphs: usize, draws: usize, mut draw: impl FnMut() -> Vec<(u32, u32)>) -> f64 {
        let mut counts: BTreeMap<Vec<(u32, u32)>, usize> = BTreeMap::new();
        for _ in 0..draws {
            let mut edges: Vec<_> = draw()
                .into_iter()
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect();
            edges.sort_unstable();
            *counts.entry(edges).or_default() += 1;
        }
        assert_eq!(counts.len(), graphs);
        let expected = draws as f64 / graphs as f64;
        counts
            .values()
            .map(|&count| (count as f64 - expected).powi(2) / expected)
            .sum()
    }

    #[test]
    fn all_cubic_graphs_of_six_nodes_are_equally_likely() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        // 70 labelled graphs; 69 degrees of freedom stay below 111.1 in 999 of 1,000 cases.
        let by_complement = chi_squared(70, 14_000, || draw(6, 3, &mut rng));
        assert!(by_complement < 111.1, "{by_complement}");
        let by_pairing = chi_squared(70, 14_000, || draw(6, 2, &mut rng));
        assert!(by_pairing < 111.1, "{by_pairing}");
        let by_switches = chi_squared(70, 14_000, || Switching::draw(6, 2, &mut rng));
        assert!(by_switches < 111.1, "{by_switches}");
    }

    #[test]
    fn all_cycles_of_five_nodes_are_equally_likely() {
        let mut rng = ChaCha8Rng::seed_from_u64(12);
        // 12 cycles; 11 degrees of freedom stay below 31.3 in 999 of 1,000 cases.
        let cycles = chi_squared(12, 6000, || cycle(5, &mut rng));
        assert!(cycles < 31.3, "{cycles}");
    }

    #[test]
    fn switches_link_every_pair_equally_often() {
        let (mut rng, nodes, degree, draws) = (ChaCha8Rng::seed_from_u64(13), 14_u32, 5, 4000);
        let mut counts = [0; 91];
        for _ in 0..draws {
            for (a, b) in draw(nodes as usize, degree, &mut rng) {
                let (low, high) = (a.min(b), a.max(b));
                counts[(high * (high - 1) / 2 + low) as usize] += 1;
            }
        }
        let p = degree as f64 / 13.0;
        let expected = p * draws as f64;
        // Fixed degrees leave 91 - 14 = 77 free counts, each with variance np(1-p) times 91/77.
        let variance = expected * (1.0 - p) * 91.0 / 77.0;
        let chi_squared: f64 = counts
            .iter()
            .map(|&count| (count as f64 - expected).powi(2) / variance)
            .sum();
        // 77 degrees of freedom stay below 121.1 in 999 of 1,000 cases.
        assert!(chi_squared < 121.1, "{chi_squared}");
    }

    #[test]
    fn every_degree_is_met() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (nodes, degree) in [
            (1, 0),
            (2, 1),
            (3, 2),
            (10, 3),
            (11, 4),
            (12, 5),
            (30, 13),
            (30, 20),
            (30, 29),
            (300, 41),
        ] {
            let overlay = Regular { degree }.build(nodes.into(), &mut rng).unwrap();
            assert_eq!(
                overlay.degree_histogram()[degree],
                nodes,
                "{degree} on {nodes}"
            );
            assert!(overlay.is_connected());
        }
    }

    #[test]
    fn impossible_degrees_are_refused() {
        let message = |nodes: usize, degree| {
            Regular { degree }
                .build(nodes.into(), &mut ChaCha8Rng::seed_from_u64(1))
                .unwrap_err()
                .to_string()
        };
        let odd = "regular.degree: found 3, needed an even degree for 9 nodes, such as 2: an odd one on an odd number of nodes gives half an edge";
        assert_eq!(message(9, 3), odd);
        let large = "regular.degree: found 10, needed 2 to 9 in a connected overlay of 10 nodes";
        assert_eq!(message(10, 10), large);
        assert!(message(10, 1).contains("2 to 9"));
    }
}
