//! Overlays whose edges go one way.

use super::links::Links;
use super::{Neighbours, Overlay, check_edge, check_nodes, links};
use crate::TopologyError;

impl Overlay {
    /// Builds an overlay on which node `from` sends to node `to`, for each `(from, to)`; repeated arcs are merged.
    ///
    /// # Errors
    /// As [`Overlay::from_edges`].
    pub fn directed(
        nodes: usize,
        arcs: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self, TopologyError> {
        check_nodes(nodes)?;
        let checked = arcs.into_iter().map(|arc| check_edge(arc, nodes));
        let arcs = checked.collect::<Result<Vec<_>, _>>()?;
        let heard = arcs.iter().map(|&(from, to)| (to, from)).collect();
        let heard = links(nodes, heard)?;
        Ok(Self::of(heard, Some(links(nodes, arcs)?)))
    }

    /// The overlay on which only the nodes of `heard` send to their neighbours and the others only listen, groups and
    /// examples kept.
    ///
    /// # Panics
    /// Unless there is one entry of `heard` for each node.
    #[must_use]
    pub fn hearing_only(&self, heard: &[bool]) -> Self {
        assert_eq!(heard.len(), self.nodes(), "one entry of heard per node");
        let is_heard = |node: &u32| heard[*node as usize];
        let nodes = self.nodes();
        let hearing = match (self.is_directed(), self.links.members()) {
            (false, Some(members)) => {
                let senders: Vec<u32> = members.iter().copied().filter(is_heard).collect();
                let links = Links::between(nodes, members.to_vec(), senders.clone());
                Self::of(
                    links,
                    Some(Links::between(nodes, senders, members.to_vec())),
                )
            }
            _ => {
                let arcs = (0..nodes as u32).flat_map(|to| {
                    let senders = self.neighbours(to as usize).iter().copied();
                    senders.filter(is_heard).map(move |from| (from, to))
                });
                Self::directed(nodes, arcs).expect("the arcs of an overlay are valid")
            }
        };
        Self {
            groups: self.groups.clone(),
            examples: self.examples.clone(),
            ..hearing
        }
    }

    /// The directed overlay that is left without the arcs `lost`, each of which is one of [`Overlay::arcs`] and in their order; groups and
    /// examples are kept.
    #[must_use]
    pub fn without_arcs(&self, lost: &[(u32, u32)]) -> Self {
        let mut lost = lost.iter().peekable();
        let arrives = |arc: &(u32, u32)| lost.next_if(|lost| *lost == arc).is_none();
        let arcs = self.arcs().filter(arrives);
        let left = Self::directed(self.nodes(), arcs).expect("the arcs of an overlay are valid");
        Self {
            groups: self.groups.clone(),
            examples: self.examples.clone(),
            ..left
        }
    }

    /// Whether edges go one way: node `a` may hear node `b` without being heard.
    #[must_use]
    pub fn is_directed(&self) -> bool {
        self.listeners.is_some()
    }

    /// The nodes that a node sends its model to, ascending: its [neighbours](Overlay::neighbours) if the overlay is
    /// undirected.
    ///
    /// # Panics
    /// If `node` is not a node of the overlay.
    #[must_use]
    pub fn listeners(&self, node: usize) -> Neighbours<'_> {
        let links = self.listeners.as_ref().unwrap_or(&self.links);
        links.of_node(node as u32)
    }

    /// The overlay in which every arc is an edge, groups and examples kept.
    #[must_use]
    pub fn undirected(&self) -> Self {
        let overlay = Self::from_edges(self.nodes(), self.edges());
        Self {
            groups: self.groups.clone(),
            examples: self.examples.clone(),
            ..overlay.expect("the arcs of an overlay are valid edges")
        }
    }

    /// Whether what any node sends can reach every other, from node to node.
    ///
    /// # Complexity
    /// O(n + m): node 0 must reach all and be reached by all.
    #[must_use]
    pub fn is_strongly_connected(&self) -> bool {
        self.one_way().is_none()
    }

    /// Two nodes of which nothing that the first one sends can reach the second one, if there are such: one of them is node 0.
    pub(crate) fn one_way(&self) -> Option<(u32, u32)> {
        if self.is_complete() {
            return None;
        }
        let listeners = self.listeners.as_ref().unwrap_or(&self.links);
        let to = first_not_reached(listeners).map(|node| (0, node));
        to.or_else(|| first_not_reached(&self.links).map(|node| (node, 0)))
    }
}

/// The first node to which no links lead from node 0.
fn first_not_reached(links: &Links) -> Option<u32> {
    let mut seen = vec![false; links.nodes()];
    let mut queue = vec![0];
    seen[0] = true;
    while let Some(node) = queue.pop() {
        for &next in links.of_node(node) {
            if !seen[next as usize] {
                seen[next as usize] = true;
                queue.push(next);
            }
        }
    }
    let node = seen.iter().position(|seen| !seen)?;
    Some(node as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Node 0 sends to 1 and 2, node 1 to 2.
    fn cascade() -> Overlay {
        Overlay::directed(4, [(0, 2), (1, 2), (0, 1), (0, 2)]).unwrap()
    }

    #[test]
    fn neighbours_are_heard_and_listeners_hear() {
        let overlay = cascade();
        assert!(overlay.is_directed());
        assert_eq!(overlay.neighbours(2), [0, 1]);
        assert!(overlay.neighbours(0).is_empty());
        assert_eq!(overlay.listeners(0), [1, 2]);
        assert_eq!(overlay.edge_count(), 3);
        assert_eq!(
            overlay.edges().collect::<Vec<_>>(),
            [(0, 1), (0, 2), (1, 2)]
        );
        assert_eq!(overlay.components(), [vec![0, 1, 2], vec![3]]);
        let undirected = overlay.undirected();
        assert_eq!(undirected.listeners(2), undirected.neighbours(2));
        assert!(!undirected.is_directed());
    }

    #[test]
    fn a_cycle_is_strongly_connected_and_a_cascade_is_not() {
        let cycle = Overlay::directed(3, [(0, 1), (1, 2), (2, 0)]).unwrap();
        assert!(cycle.is_strongly_connected());
        let chain = Overlay::directed(3, [(0, 1), (1, 2)]).unwrap();
        assert!(chain.is_connected() && !chain.is_strongly_connected());
        let into_the_first = Overlay::directed(3, [(1, 0), (2, 1)]).unwrap();
        assert!(!into_the_first.is_strongly_connected());
        assert_eq!((chain.one_way(), cycle.one_way()), (Some((1, 0)), None));
        assert_eq!(into_the_first.one_way(), Some((0, 1)));
        assert!(chain.undirected().is_strongly_connected());
        assert!(!cascade().undirected().is_strongly_connected());
    }

    #[test]
    fn a_directed_overlay_is_complete_with_all_arcs_both_ways() {
        assert!(!Overlay::directed(2, [(0, 1)]).unwrap().is_complete());
        let both = Overlay::directed(2, [(0, 1), (1, 0)]).unwrap();
        assert!(both.is_complete());
        assert_eq!(both.edge_count(), 2);
    }

    #[test]
    fn the_minimum_cut_disregards_directions() {
        let cycle = Overlay::directed(5, (0..5).map(|i| (i, (i + 1) % 5))).unwrap();
        assert_eq!(cycle.edge_connectivity(), 2);
        assert_eq!(cascade().edge_connectivity(), 0);
    }

    #[test]
    fn bad_arcs_are_named() {
        assert_eq!(
            Overlay::directed(2, [(0, 2)]).unwrap_err(),
            TopologyError::NodeOutOfRange {
                a: 0,
                b: 2,
                nodes: 2
            }
        );
        assert_eq!(
            Overlay::directed(2, [(1, 1)]).unwrap_err(),
            TopologyError::SelfLoop { node: 1 }
        );
    }

    #[test]
    fn who_is_not_heard_still_listens() {
        let heard = [true, false, true, true];
        let triangle = [(0, 1), (0, 2), (1, 2)];
        let listed = Overlay::from_edges(4, [(0, 1), (0, 2), (1, 2), (2, 3)]).unwrap();
        let among_three = Overlay::from_edges(4, triangle).unwrap();
        let complete = Overlay::complete(4).unwrap();
        for overlay in [listed, among_three, complete] {
            let overlay = overlay.with_examples(vec![5; 4]).unwrap();
            let both_ways = overlay.edges().flat_map(|(a, b)| [(a, b), (b, a)]);
            let kept = both_ways.filter(|(from, _)| heard[*from as usize]);
            let expected = Overlay::directed(4, kept).unwrap();
            let found = overlay.hearing_only(&heard);
            assert!(found.is_directed() && found.edges().eq(expected.edges()));
            assert_eq!(found.edge_count(), expected.edge_count());
            for node in 0..4 {
                assert_eq!(found.neighbours(node), expected.neighbours(node));
                assert_eq!(found.listeners(node), expected.listeners(node));
            }
            assert_eq!(found.examples(), overlay.examples());
            assert_eq!(found.components(), expected.components());
            let alive = [true, true, false, true];
            let left = (
                found.surviving(&alive, &[]),
                expected.surviving(&alive, &[]),
            );
            assert!(left.0.edges().eq(left.1.edges()));
            let lost = [(0, 1), (3, 0)];
            let left = (
                found.surviving(&alive, &lost),
                expected.surviving(&alive, &lost),
            );
            assert!(left.0.edges().eq(left.1.edges()));
        }
    }
}
