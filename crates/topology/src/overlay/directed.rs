//! Overlays whose edges go one way.

use super::{Graph, Overlay, checked, rows};
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
        let arcs = checked(nodes, arcs)?;
        let heard = arcs.iter().map(|&(from, to)| (to, from)).collect();
        Ok(Self {
            graph: rows(nodes, heard),
            listeners: Some(rows(nodes, arcs)),
            groups: None,
            examples: None,
        })
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
    pub fn listeners(&self, node: usize) -> &[u32] {
        let graph = self.listeners.as_ref().unwrap_or(&self.graph);
        graph.neighbors_slice(node as u32)
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
        let reaches_all = |graph: &Graph| reached_from_first(graph) == self.nodes();
        reaches_all(&self.graph) && self.listeners.as_ref().is_none_or(reaches_all)
    }
}

/// How many nodes can be reached from node 0, itself included.
fn reached_from_first(graph: &Graph) -> usize {
    let mut seen = vec![false; graph.node_count()];
    let mut queue = vec![0];
    seen[0] = true;
    let mut count = 1;
    while let Some(node) = queue.pop() {
        for &next in graph.neighbors_slice(node) {
            if !seen[next as usize] {
                seen[next as usize] = true;
                count += 1;
                queue.push(next);
            }
        }
    }
    count
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
        assert_eq!(overlay.neighbours(0), [0; 0]);
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
}
