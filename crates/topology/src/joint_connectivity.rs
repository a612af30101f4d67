//! Whether the union of several overlays is connected.

use petgraph::algo::tarjan_scc;
use petgraph::graph::DiGraph;
use petgraph::unionfind::UnionFind;

use crate::Overlay;

/// The union of overlays on the same nodes that are added one after another.
///
/// Two nodes are in the same part if a path leads from each of them to the other.
///
/// # Source
/// DeceFL (Yuan et al.), SI 5.2.3: the lump-sum graph.
#[derive(Clone, Debug)]
pub struct GrowingUnion {
    sets: UnionFind<u32>,
    nodes: u32,
    parts: usize,
    /// The arcs of directed overlays between parts, by a node of each part.
    arcs: Vec<(u32, u32)>,
}

impl GrowingUnion {
    /// Of no overlays yet: `nodes` nodes by themselves.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self {
            sets: UnionFind::new(nodes),
            nodes: nodes as u32,
            parts: nodes,
            arcs: Vec::new(),
        }
    }

    /// Adds the edges of `overlay`, which has as many nodes.
    pub fn add(&mut self, overlay: &Overlay) {
        match overlay.is_directed() {
            true => self.arcs.extend(overlay.connecting_edges()),
            false => overlay
                .connecting_edges()
                .for_each(|(a, b)| self.join(a, b)),
        }
        if !self.arcs.is_empty() {
            self.join_cycles();
        }
    }

    fn join(&mut self, a: u32, b: u32) {
        self.parts -= usize::from(self.sets.union(a, b));
    }

    /// Joins the parts that arcs lead between both ways, and drops the arcs within parts.
    fn join_cycles(&mut self) {
        self.gather_arcs();
        for cycle in tarjan_scc(&DiGraph::<(), ()>::from_edges(&self.arcs)) {
            for pair in cycle.windows(2) {
                self.join(pair[0].index() as u32, pair[1].index() as u32);
            }
        }
        self.gather_arcs();
    }

    /// Makes arcs between nodes arcs between parts, each once.
    fn gather_arcs(&mut self) {
        for (a, b) in &mut self.arcs {
            (*a, *b) = (self.sets.find(*a), self.sets.find(*b));
        }
        self.arcs.retain(|(a, b)| a != b);
        self.arcs.sort_unstable();
        self.arcs.dedup();
    }

    /// Whether every node reaches every other.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.parts <= 1
    }

    /// The first node that node 0 does not reach, or that does not reach node 0.
    #[must_use]
    pub fn first_apart(&self) -> Option<u32> {
        (1..self.nodes).find(|node| !self.sets.equiv(0, *node))
    }
}

/// The smallest B such that any B consecutive rounds of a schedule that repeats `period`, overlays on the same nodes, connect all
/// nodes together; `None` if no number does.
///
/// # Source
/// DeceFL (Yuan et al.), SI 5.2.3, where B = 5; B-strong connectivity in the literature on time-varying graphs.
///
/// # Complexity
/// O(B log B) unions of up to B overlays each, B being the length of the period.
#[must_use]
pub fn rounds_to_connect(period: &[&Overlay]) -> Option<usize> {
    let (length, nodes) = (period.len(), period.first()?.nodes());
    let connects = |rounds: usize| {
        (0..length).all(|first| {
            let mut union = GrowingUnion::new(nodes);
            let window = period.iter().cycle().skip(first).take(rounds);
            window.for_each(|overlay| union.add(overlay));
            union.is_connected()
        })
    };
    // More rounds never connect less.
    let rounds: Vec<usize> = (1..=length).collect();
    let place = rounds.partition_point(|&rounds| !connects(rounds));
    rounds.get(place).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plain way to ask whether the union of overlays connects all nodes.
    fn union_connects<'a>(overlays: impl Iterator<Item = &'a Overlay>) -> bool {
        let union = Overlay::directed(4, overlays.flat_map(|overlay| overlay.arcs()));
        union.unwrap().is_strongly_connected()
    }

    fn overlay(edges: &[(u32, u32)]) -> Overlay {
        Overlay::from_edges(4, edges.iter().copied()).unwrap()
    }

    #[test]
    fn a_union_of_directed_overlays_needs_a_way_back() {
        let arcs = |arcs: &[(u32, u32)]| Overlay::directed(4, arcs.iter().copied()).unwrap();
        let steps = [
            (arcs(&[(0, 1), (1, 2)]), Some(1)),
            (arcs(&[(2, 3)]), Some(1)),
            (arcs(&[(2, 0)]), Some(3)),
            (overlay(&[(1, 3)]), None),
        ];
        let mut union = GrowingUnion::new(4);
        for (index, (next, apart)) in steps.iter().enumerate() {
            union.add(next);
            assert_eq!(union.first_apart(), *apart);
            assert_eq!(union.is_connected(), apart.is_none());
            let so_far = steps[..=index].iter().map(|(overlay, _)| overlay);
            assert_eq!(union.is_connected(), union_connects(so_far));
        }
    }

    #[test]
    fn a_union_grows_until_it_connects() {
        let mut union = GrowingUnion::new(4);
        assert_eq!(
            (union.is_connected(), union.first_apart()),
            (false, Some(1))
        );
        for _ in 0..2 {
            union.add(&overlay(&[(0, 1), (2, 3)]));
            assert_eq!(
                (union.is_connected(), union.first_apart()),
                (false, Some(2))
            );
        }
        union.add(&overlay(&[(1, 2)]));
        assert_eq!((union.is_connected(), union.first_apart()), (true, None));
        assert!(GrowingUnion::new(1).is_connected());
    }

    #[test]
    fn rounds_of_arcs_must_lead_back() {
        let there = Overlay::directed(3, [(0, 1), (1, 2)]).unwrap();
        let back = Overlay::directed(3, [(2, 0)]).unwrap();
        assert_eq!(rounds_to_connect(&[&there]), None);
        assert_eq!(rounds_to_connect(&[&there, &back]), Some(2));
    }

    #[test]
    fn every_window_must_connect() {
        let (pairs, middle) = (overlay(&[(0, 1), (2, 3)]), overlay(&[(1, 2)]));
        let none = overlay(&[]);
        assert_eq!(rounds_to_connect(&[&pairs, &middle]), Some(2));
        assert_eq!(rounds_to_connect(&[&pairs, &middle, &none]), Some(3));
        assert_eq!(rounds_to_connect(&[&pairs, &pairs, &none]), None);
        assert_eq!(rounds_to_connect(&[]), None);
        let path = overlay(&[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(rounds_to_connect(&[&path, &path]), Some(1));
    }
}
