//! The graph that rows exchange over.

use crate::{MixingMatrix, TopologyError, edge_connectivity};
use links::{Graph, Links};
use petgraph::csr::Csr;
use petgraph::unionfind::UnionFind;
use std::sync::Arc;

mod directed;
mod edges;
mod links;
mod neighbours;
mod part;
mod weighed;

pub use neighbours::Neighbours;

/// A simple graph on the nodes `0..n`, with ascending neighbours; undirected, unless [`Overlay::directed`] made it.
///
/// Neighbours are listed for each node, every undirected edge in both directions. If every two nodes are linked, or
/// every two of some nodes and no others, only these nodes are listed: such overlays hold no edges in memory. Overlays
/// are built once and do not change; a clone shares the lists.
#[derive(Clone, Debug)]
pub struct Overlay {
    links: Links,
    /// The nodes that each node sends to, if they differ from those that it hears.
    listeners: Option<Links>,
    groups: Option<Vec<Vec<u32>>>,
    examples: Option<Vec<u64>>,
    weights: Option<Arc<MixingMatrix>>,
}

impl Overlay {
    /// Builds an overlay from its edges, in any order and direction; repeated edges are merged.
    ///
    /// # Errors
    /// [`TopologyError::NoNodes`], [`TopologyError::TooManyNodes`], [`TopologyError::TooManyEdges`],
    /// [`TopologyError::NodeOutOfRange`] or [`TopologyError::SelfLoop`]. A disconnected graph is no error here, see
    /// [`Overlay::is_connected`].
    ///
    /// # Complexity
    /// O(n + m log m) for m edges.
    pub fn from_edges(
        nodes: usize,
        edges: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self, TopologyError> {
        check_nodes(nodes)?;
        let edges = edges.into_iter();
        let mut arcs = Vec::with_capacity(edges.size_hint().0.saturating_mul(2));
        for edge in edges {
            let (a, b) = check_edge(edge, nodes)?;
            arcs.extend([(a, b), (b, a)]);
        }
        Ok(Self::of(links(nodes, arcs)?, None))
    }

    /// Builds the overlay of `nodes` nodes in which every two are linked. No edge is listed.
    ///
    /// # Errors
    /// [`TopologyError::NoNodes`] or [`TopologyError::TooManyNodes`].
    pub fn complete(nodes: usize) -> Result<Self, TopologyError> {
        check_nodes(nodes)?;
        let members = (0..nodes as u32).collect();
        Ok(Self::of(Links::among(nodes, members), None))
    }

    fn of(links: Links, listeners: Option<Links>) -> Self {
        Self {
            links,
            listeners,
            groups: None,
            examples: None,
            weights: None,
        }
    }

    /// Names the groups of nodes that the overlay is made of, such as cliques or the clients of one server.
    ///
    /// # Errors
    /// [`TopologyError::GroupOutOfRange`] if a group names a node that does not exist; [`TopologyError::Groups`] unless every node is
    /// in exactly one group.
    pub fn with_groups(mut self, groups: Vec<Vec<u32>>) -> Result<Self, TopologyError> {
        let nodes = self.nodes();
        let mut times = vec![0; nodes];
        for &node in groups.iter().flatten() {
            match times.get_mut(node as usize) {
                Some(count) => *count += 1,
                None => {
                    return Err(TopologyError::GroupOutOfRange { node, nodes });
                }
            }
        }
        if let Some(node) = times.iter().position(|&count| count != 1) {
            return Err(TopologyError::Groups {
                node,
                times: times[node],
                nodes,
            });
        }
        self.groups = Some(groups);
        Ok(self)
    }

    /// Says how many training examples each node holds, `[N]`, for weights that go by them.
    ///
    /// # Errors
    /// [`TopologyError::Examples`] unless there is one number for each node.
    pub fn with_examples(mut self, examples: Vec<u64>) -> Result<Self, TopologyError> {
        if examples.len() != self.nodes() {
            return Err(TopologyError::Examples {
                found: examples.len(),
                nodes: self.nodes(),
            });
        }
        self.examples = Some(examples);
        Ok(self)
    }

    /// Training examples of each node, `[N]`, if they are known.
    #[must_use]
    pub fn examples(&self) -> Option<&[u64]> {
        self.examples.as_deref()
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.links.nodes()
    }

    /// Neighbours of a node, ascending: the nodes whose models it mixes. See [`Overlay::listeners`].
    ///
    /// # Panics
    /// If `node` is not a node of the overlay.
    #[must_use]
    pub fn neighbours(&self, node: usize) -> Neighbours<'_> {
        self.links.of_node(node as u32)
    }

    /// Number of neighbours of a node.
    ///
    /// # Panics
    /// If `node` is not a node of the overlay.
    #[must_use]
    pub fn degree(&self, node: usize) -> usize {
        self.neighbours(node).len()
    }

    /// How many nodes have each degree: entry `d` counts the nodes with `d` neighbours, the last entry is not zero.
    #[must_use]
    pub fn degree_histogram(&self) -> Vec<usize> {
        let mut histogram = Vec::new();
        for node in 0..self.nodes() {
            let degree = self.degree(node);
            if degree >= histogram.len() {
                histogram.resize(degree + 1, 0);
            }
            histogram[degree] += 1;
        }
        histogram
    }

    /// Connected components, each ascending, ordered by their smallest node; directions do not matter.
    #[must_use]
    pub fn components(&self) -> Vec<Vec<u32>> {
        if let Some(all) = self.links.members().filter(|all| all.len() == self.nodes()) {
            return vec![all.to_vec()];
        }
        let mut sets = UnionFind::<u32>::new(self.nodes());
        for (a, b) in self.connecting_edges() {
            sets.union(a, b);
        }
        let mut component_of = vec![usize::MAX; self.nodes()];
        let mut components: Vec<Vec<u32>> = Vec::new();
        for (node, root) in sets.into_labeling().into_iter().enumerate() {
            let component = &mut component_of[root as usize];
            if *component == usize::MAX {
                *component = components.len();
                components.push(Vec::new());
            }
            components[*component].push(node as u32);
        }
        components
    }

    /// Whether every node can reach every other, directions aside: see [`Overlay::is_strongly_connected`].
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.is_complete() || self.components().len() == 1
    }

    /// Whether every two nodes are neighbours, both ways in a directed overlay.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.links.arcs() == self.nodes() * (self.nodes() - 1)
    }

    /// Fewest edges whose loss disconnects the overlay: 0 if it is disconnected or a single node.
    ///
    /// P-FedAvg calls it disconnection tolerance. Exact: the smallest of some maximum flows. A directed overlay has that
    /// of [`Overlay::undirected`].
    ///
    /// # Source
    /// P-FedAvg (Liu et al.), Table III; Matula (1987) for the method.
    ///
    /// # Complexity
    /// O(n m) at worst, seconds for a million edges in the overlays met here, whose nodes are near each other.
    #[must_use]
    pub fn edge_connectivity(&self) -> usize {
        if self.is_complete() {
            return self.nodes() - 1;
        }
        match self.is_directed() {
            true => edge_connectivity::of(&self.undirected()),
            false => edge_connectivity::of(self),
        }
    }

    /// Groups of nodes, ascending in the order they were given, if the overlay is made of groups.
    #[must_use]
    pub fn groups(&self) -> Option<&[Vec<u32>]> {
        self.groups.as_deref()
    }
}

/// Checks the number of nodes.
pub(crate) fn check_nodes(nodes: usize) -> Result<(), TopologyError> {
    let limit = i32::MAX as usize;
    match nodes {
        0 => Err(TopologyError::NoNodes),
        found if found > limit => Err(TopologyError::TooManyNodes { found, limit }),
        _ => Ok(()),
    }
}

/// The edge, if it is one between two different ones of `nodes` nodes.
fn check_edge((a, b): (u32, u32), nodes: usize) -> Result<(u32, u32), TopologyError> {
    if a.max(b) as usize >= nodes {
        return Err(TopologyError::NodeOutOfRange { a, b, nodes });
    }
    match a == b {
        true => Err(TopologyError::SelfLoop { node: a }),
        false => Ok((a, b)),
    }
}

/// The links of these arcs, in any order; repeated ones are merged.
fn links(nodes: usize, arcs: Vec<(u32, u32)>) -> Result<Links, TopologyError> {
    let graph = rows(nodes, arcs);
    // Arcs are numbered in 32 bits.
    let (found, limit) = (graph.edge_count() / 2, u32::MAX as usize / 2);
    match found > limit {
        true => Err(TopologyError::TooManyEdges { found, limit }),
        false => Ok(Links::of(graph)),
    }
}

/// The graph of these arcs, in any order; repeated ones are merged.
fn rows(nodes: usize, mut arcs: Vec<(u32, u32)>) -> Graph {
    arcs.sort_unstable();
    arcs.dedup();
    let mut graph =
        Csr::from_sorted_edges(&arcs).expect("the arcs were sorted and their repetitions removed");
    while graph.node_count() < nodes {
        graph.add_node(());
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_edges_are_merged_and_neighbours_ascend() {
        let overlay = Overlay::from_edges(5, [(2, 0), (0, 2), (3, 0), (0, 1), (1, 0)]).unwrap();
        assert_eq!(
            overlay.edges().collect::<Vec<_>>(),
            [(0, 1), (0, 2), (0, 3)]
        );
        assert_eq!(overlay.neighbours(0), [1, 2, 3]);
        assert_eq!(overlay.edge_count(), 3);
        assert_eq!(overlay.degree_histogram(), [1, 3, 0, 1]);
        assert_eq!(overlay.components(), [vec![0, 1, 2, 3], vec![4]]);
        assert!(!overlay.is_connected());
    }

    #[test]
    fn bad_edges_are_named() {
        let out_of_range = TopologyError::NodeOutOfRange {
            a: 1,
            b: 3,
            nodes: 3,
        };
        assert_eq!(
            Overlay::from_edges(3, [(0, 1), (1, 3)]).unwrap_err(),
            out_of_range
        );
        assert_eq!(
            Overlay::from_edges(3, [(2, 2)]).unwrap_err(),
            TopologyError::SelfLoop { node: 2 }
        );
        assert_eq!(
            Overlay::from_edges(0, []).unwrap_err(),
            TopologyError::NoNodes
        );
        assert_eq!(
            out_of_range.to_string(),
            "edge 1-3 leaves the overlay, whose 3 nodes are numbered from 0"
        );
    }

    #[test]
    fn groups_are_a_partition() {
        let path = || Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let grouped = path().with_groups(vec![vec![0, 2], vec![1]]).unwrap();
        assert_eq!(grouped.groups().unwrap(), [vec![0, 2], vec![1]]);
        assert!(path().groups().is_none());
        let error = path().with_groups(vec![vec![0, 1], vec![1]]).unwrap_err();
        assert_eq!(
            error,
            TopologyError::Groups {
                node: 1,
                times: 2,
                nodes: 3
            }
        );
        let error = path().with_groups(vec![vec![0, 1], vec![7]]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "groups: a group names node 7, but the nodes are 0 to 2"
        );
    }

    #[test]
    fn a_complete_overlay_is_the_one_with_all_edges() {
        for nodes in [1, 2, 3, 7] {
            let complete = Overlay::complete(nodes as usize).unwrap();
            let pairs = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
            let listed = Overlay::from_edges(nodes as usize, pairs).unwrap();
            assert!(complete.edges().eq(listed.edges()));
            assert!(complete.is_complete() && listed.is_complete() && listed.is_connected());
            assert_eq!((complete.listed_arcs(), listed.listed_arcs()), (0, 0));
            assert_eq!(complete.edge_count(), listed.edge_count());
            assert_eq!(complete.components(), listed.components());
            assert_eq!(complete.degree_histogram(), listed.degree_histogram());
            assert_eq!(complete.edge_connectivity(), nodes as usize - 1);
            for node in 0..nodes as usize {
                assert_eq!(complete.neighbours(node), listed.neighbours(node));
            }
        }
        assert_eq!(Overlay::complete(0).unwrap_err(), TopologyError::NoNodes);
    }

    #[test]
    fn a_complete_overlay_of_a_million_nodes_has_no_edges_in_memory() {
        let overlay = Overlay::complete(1_000_000).unwrap();
        assert_eq!(overlay.edge_count(), 499_999_500_000);
        assert_eq!(overlay.degree(7), 999_999);
        assert!(overlay.is_connected());
        assert_eq!(overlay.edge_connectivity(), 999_999);
        assert_eq!(
            overlay.edges_at(vec![499_999_499_999, 0]),
            [(0, 1), (999_998, 999_999)]
        );
    }
}
