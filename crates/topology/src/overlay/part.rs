//! An overlay as part of another: what failures leave of it, and one built on some of the nodes alone.

use super::links::Links;
use super::{Overlay, links};
use crate::TopologyError;

impl Overlay {
    /// What is left when some nodes are dead and some edges are lost.
    ///
    /// Weights that the overlay brings are left behind: [`Weights::surviving`](crate::Weights::surviving) makes of the matrix what
    /// becomes of them. Dead nodes keep their index and have no edges. A lost edge of an undirected overlay may be given in either
    /// direction, one that does not exist is disregarded. Examples are kept, and so are groups, dead members included:
    /// whoever averages over a group leaves them out.
    ///
    /// # Panics
    /// Unless there is one entry of `alive` for each node.
    ///
    /// # Complexity
    /// O(n + m + l log l) for l lost edges.
    #[must_use]
    pub fn surviving(&self, alive: &[bool], lost: &[(u32, u32)]) -> Self {
        assert_eq!(alive.len(), self.nodes(), "one entry of alive per node");
        let reversed = || lost.iter().map(|&(a, b)| (b, a));
        let (lost_out, lost_in) = match self.is_directed() {
            true => (lost.to_vec(), reversed().collect()),
            false => {
                let both: Vec<_> = lost.iter().copied().chain(reversed()).collect();
                (both.clone(), both)
            }
        };
        let listeners = self.listeners.as_ref();
        Self {
            links: without(&self.links, alive, lost_in),
            listeners: listeners.map(|links| without(links, alive, lost_out)),
            groups: self.groups.clone(),
            examples: self.examples.clone(),
            weights: None,
        }
    }

    /// For what is left of a complete overlay when nodes have failed: whether each node has an edge, `[N]`. Every two
    /// nodes that have one are neighbours, and some nodes have none. `None` for other overlays and for directed ones.
    pub(crate) fn linked_with_all_others(&self) -> Option<Vec<bool>> {
        let members = self.links.members().filter(|_| !self.is_directed())?;
        if members.len() < 2 || members.len() == self.nodes() {
            return None;
        }
        let mut linked = vec![false; self.nodes()];
        for member in members {
            linked[*member as usize] = true;
        }
        Some(linked)
    }

    /// The overlay on `nodes` nodes of which `members`, in this order, are linked like this one's nodes.
    ///
    /// Nodes outside have no edges, and keep their row if the overlay brings weights; if there are groups, each of them is a
    /// group of its own.
    pub(crate) fn embedded(&self, nodes: usize, members: &[u32]) -> Result<Self, TopologyError> {
        let place = |node: u32| members[node as usize];
        let edges = || self.edges().map(|(a, b)| (place(a), place(b)));
        let overlay = match (self.is_directed(), self.links.members()) {
            (true, _) => Self::directed(nodes, edges())?,
            (false, None) => Self::from_edges(nodes, edges())?,
            (false, Some(linked)) => {
                let mut linked: Vec<u32> = linked.iter().map(|node| place(*node)).collect();
                linked.sort_unstable();
                Self::of(Links::among(nodes, linked), None)
            }
        };
        let overlay = match self.weights() {
            Some(weights) => overlay.with_weights(weights.embedded(nodes, members)?)?,
            None => overlay,
        };
        let Some(groups) = &self.groups else {
            return Ok(overlay);
        };
        let mut outside = vec![true; nodes];
        for &member in members {
            outside[member as usize] = false;
        }
        let alone = (0..nodes as u32).filter(|&node| outside[node as usize]);
        let groups = groups
            .iter()
            .map(|group| group.iter().map(|&node| place(node)).collect())
            .chain(alone.map(|node| vec![node]));
        overlay.with_groups(groups.collect())
    }
}

/// `all` without the arcs of dead nodes and those in `lost`.
fn without(all: &Links, alive: &[bool], mut lost: Vec<(u32, u32)>) -> Links {
    if lost.is_empty()
        && let Some(left) = all.without_nodes(alive)
    {
        return left;
    }
    lost.sort_unstable();
    let mut lost = lost.into_iter().peekable();
    let mut arcs = Vec::with_capacity(all.arcs());
    for node in (0..all.nodes() as u32).filter(|&node| alive[node as usize]) {
        for &other in all.of_node(node) {
            // Arcs ascend like the lost ones, so both are walked once.
            while lost.next_if(|&arc| arc < (node, other)).is_some() {}
            if alive[other as usize] && lost.peek() != Some(&(node, other)) {
                arcs.push((node, other));
            }
        }
    }
    links(all.nodes(), arcs).expect("there are no more arcs than before")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dead_and_the_lost_have_no_edges() {
        let ring = Overlay::from_edges(6, (0..6).map(|i| (i, (i + 1) % 6)))
            .unwrap()
            .with_examples(vec![5; 6])
            .unwrap()
            .with_groups(vec![vec![0, 1, 2], vec![3, 4, 5]])
            .unwrap();
        let alive = [true, true, false, true, true, true];
        let left = ring.surviving(&alive, &[(5, 4), (0, 3)]);
        assert_eq!(left.edges().collect::<Vec<_>>(), [(0, 1), (0, 5), (3, 4)]);
        assert_eq!(left.nodes(), 6);
        assert_eq!(left.components(), [vec![0, 1, 5], vec![2], vec![3, 4]]);
        assert_eq!(left.examples(), ring.examples());
        assert_eq!(left.groups(), ring.groups());
        let whole = ring.surviving(&[true; 6], &[]);
        assert!(whole.edges().eq(ring.edges()));
    }

    #[test]
    fn an_arc_is_lost_one_way_only() {
        let both = Overlay::directed(3, [(0, 1), (1, 0), (1, 2)]).unwrap();
        let left = both.surviving(&[true; 3], &[(1, 0)]);
        assert_eq!(left.edges().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
        assert_eq!(left.neighbours(1), [0]);
        assert_eq!(left.listeners(1), [2]);
        let alone = both.surviving(&[true, false, true], &[]);
        assert_eq!((alone.edge_count(), alone.is_directed()), (0, true));
    }

    #[test]
    fn members_are_linked_in_their_order() {
        let path = Overlay::from_edges(3, [(0, 1), (1, 2)])
            .unwrap()
            .with_groups(vec![vec![0, 1], vec![2]])
            .unwrap();
        let embedded = path.embedded(5, &[4, 0, 2]).unwrap();
        assert_eq!(embedded.edges().collect::<Vec<_>>(), [(0, 2), (0, 4)]);
        assert_eq!(
            embedded.groups().unwrap(),
            [vec![4, 0], vec![2], vec![1], vec![3]]
        );
        let arcs = Overlay::directed(2, [(1, 0)]).unwrap();
        let arcs = arcs.embedded(3, &[2, 0]).unwrap();
        assert_eq!(arcs.edges().collect::<Vec<_>>(), [(0, 2)]);
    }

    #[test]
    fn who_is_left_of_a_complete_overlay_is_linked_with_all_who_are() {
        let complete = Overlay::complete(5).unwrap();
        let alive = [true, false, true, true, false];
        let left = complete.surviving(&alive, &[]);
        assert_eq!(left.listed_arcs(), 0);
        assert!(left.edges().eq([(0, 2), (0, 3), (2, 3)]));
        assert_eq!(left.linked_with_all_others(), Some(alive.to_vec()));
        // Without one of the edges the others are listed.
        let fewer = complete.surviving(&alive, &[(3, 2)]);
        assert_eq!(fewer.listed_arcs(), 4);
        assert!(fewer.edges().eq([(0, 2), (0, 3)]));
        assert_eq!(fewer.linked_with_all_others(), None);
        // An edge that the overlay does not have, or that of a dead node, is nothing lost.
        let same = left.surviving(&[true; 5], &[(1, 2), (4, 4)]);
        assert_eq!(same.listed_arcs(), 0);
        assert!(same.edges().eq(left.edges()));
        let one = complete.surviving(&[false, true, false, false, false], &[]);
        assert_eq!((one.edge_count(), one.components().len()), (0, 5));
        assert_eq!(one.linked_with_all_others(), None);
    }

    #[test]
    fn some_nodes_all_linked_keep_their_numbers() {
        let complete = Overlay::complete(3).unwrap();
        let embedded = complete.embedded(6, &[5, 0, 3]).unwrap();
        assert!(embedded.edges().eq([(0, 3), (0, 5), (3, 5)]));
        assert_eq!((embedded.nodes(), embedded.listed_arcs()), (6, 0));
    }
}
