//! How the neighbours of all nodes are held.

use super::neighbours::{Neighbours, place_of};
use petgraph::Directed;
use petgraph::csr::Csr;
use std::sync::Arc;

/// A list of all arcs: from each node to its neighbours.
pub(super) type Graph = Csr<(), (), Directed, u32>;

/// The links between nodes.
#[derive(Clone, Debug)]
pub(super) enum Links {
    /// Neighbours are listed for each node.
    Listed(Arc<Graph>),
    /// Every node in `members` is linked with all nodes in `with` but itself. There are no other links, and none is
    /// listed.
    Grouped(Grouped),
}

/// Links of some nodes with all of some nodes.
#[derive(Clone, Debug)]
pub(super) struct Grouped {
    /// Nodes of the overlay.
    nodes: usize,
    /// Those that have neighbours, ascending.
    pub(super) members: Arc<[u32]>,
    /// Their neighbours, ascending; nobody is linked with itself. The same list in a complete overlay.
    with: Arc<[u32]>,
    /// Nodes that are in both lists.
    both: usize,
}

impl Links {
    /// The links of `graph`. They are not listed if every two nodes that have links are linked both ways.
    pub(super) fn of(graph: Graph) -> Self {
        let linked = |node: &u32| !graph.neighbors_slice(*node).is_empty();
        let members = (0..graph.node_count() as u32).filter(linked);
        let count = members.clone().count();
        // Where all linked nodes have as many neighbours as there are others, these are the others: an arc to a node
        // without neighbours would have taken the place of one.
        let all = count >= 2 && graph.edge_count() == count * (count - 1);
        let has_all = |node: u32| graph.neighbors_slice(node).iter().all(linked);
        if all && members.clone().all(has_all) {
            return Self::among(graph.node_count(), members.collect());
        }
        Self::Listed(Arc::new(graph))
    }

    /// Every two of `members`, ascending, are linked.
    pub(super) fn among(nodes: usize, members: Vec<u32>) -> Self {
        let members: Arc<[u32]> = members.into();
        Self::Grouped(Grouped {
            nodes,
            both: members.len(),
            with: Arc::clone(&members),
            members,
        })
    }

    /// Each of `members`, ascending, is linked with all of `with`, ascending, but itself.
    pub(super) fn between(nodes: usize, members: Vec<u32>, with: Vec<u32>) -> Self {
        let both = members
            .iter()
            .filter(|member| place_of(**member, &with).is_ok())
            .count();
        Self::Grouped(Grouped {
            nodes,
            members: members.into(),
            with: with.into(),
            both,
        })
    }

    /// The links that are left without the nodes that are not `alive`; `None` if links are listed.
    pub(super) fn without_nodes(&self, alive: &[bool]) -> Option<Self> {
        let Self::Grouped(group) = self else {
            return None;
        };
        let left = |list: &[u32]| -> Vec<u32> {
            let alive = |node: &u32| alive[*node as usize];
            list.iter().copied().filter(alive).collect()
        };
        Some(match self.members() {
            Some(members) => Self::among(group.nodes, left(members)),
            None => Self::between(group.nodes, left(&group.members), left(&group.with)),
        })
    }

    /// The nodes of which every two are linked, if that is all that there is; `None` for links that are listed.
    pub(super) fn members(&self) -> Option<&[u32]> {
        match self {
            Self::Listed(_) => None,
            Self::Grouped(group) => {
                Arc::ptr_eq(&group.members, &group.with).then_some(&*group.members)
            }
        }
    }

    /// Number of nodes.
    pub(super) fn nodes(&self) -> usize {
        match self {
            Self::Listed(graph) => graph.node_count(),
            Self::Grouped(group) => group.nodes,
        }
    }

    /// Number of arcs, one from each node to each of its neighbours.
    pub(super) fn arcs(&self) -> usize {
        match self {
            Self::Listed(graph) => graph.edge_count(),
            Self::Grouped(group) => group.members.len() * group.with.len() - group.both,
        }
    }

    /// Number of arcs that are held one by one.
    pub(super) fn listed_arcs(&self) -> usize {
        match self {
            Self::Listed(graph) => graph.edge_count(),
            Self::Grouped(_) => 0,
        }
    }

    /// The neighbours of `node`.
    ///
    /// # Panics
    /// If there is no such node.
    pub(super) fn of_node(&self, node: u32) -> Neighbours<'_> {
        match self {
            Self::Listed(graph) => Neighbours::all(graph.neighbors_slice(node)),
            Self::Grouped(group) => {
                assert!(
                    (node as usize) < group.nodes,
                    "node {node} of {}",
                    group.nodes
                );
                match place_of(node, &group.members) {
                    Ok(_) => Neighbours::all_but(node, &group.with),
                    Err(_) => Neighbours::default(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: usize, arcs: &[(u32, u32)]) -> Graph {
        super::super::rows(nodes, arcs.to_vec())
    }

    #[test]
    fn only_what_is_linked_throughout_is_a_group() {
        let pair = Links::of(graph(4, &[(1, 3), (3, 1)]));
        assert_eq!(pair.members(), Some([1, 3].as_slice()));
        assert_eq!((pair.nodes(), pair.arcs(), pair.listed_arcs()), (4, 2, 0));
        assert!(pair.of_node(0).is_empty());
        assert_eq!(pair.of_node(3), [1]);
        // As many arcs as among two nodes, but one node hears another that hears nobody.
        let others = [[(0, 1), (0, 2)], [(0, 1), (1, 2)]];
        for arcs in others {
            assert!(Links::of(graph(3, &arcs)).members().is_none(), "{arcs:?}");
        }
        assert!(Links::of(graph(3, &[])).members().is_none());
    }

    #[test]
    fn each_is_linked_with_all_others_of_the_other_list() {
        let links = Links::between(5, vec![0, 1, 4], vec![1, 2]);
        assert_eq!(links.arcs(), 5);
        assert_eq!(links.of_node(0), [1, 2]);
        assert_eq!(links.of_node(1), [2]);
        assert!(links.of_node(2).is_empty() && links.members().is_none());
    }
}
