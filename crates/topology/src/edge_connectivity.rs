//! The minimum cut of an overlay: fewest edges whose loss disconnects it.
//!
//! By unit-capacity flows between the members of a dominating set. A cut smaller than the least degree has on each
//! side a node none of whose edges it cuts, and so a member of every dominating set (Matula, *Determining edge
//! connectivity in O(nm)*, 1987). Members that no such cut separates act as one sink, so the paths stay short.

use crate::Overlay;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// The edge connectivity; 0 for a single node.
pub(crate) fn of(overlay: &Overlay) -> usize {
    let nodes = overlay.nodes();
    let mut members = dominating_set(overlay);
    let mut least_cut = (0..nodes)
        .map(|node| overlay.degree(node))
        .min()
        .unwrap_or(0);
    if nodes == 1 || least_cut == 0 || members.len() == 1 {
        return least_cut;
    }
    // Any order gives the same answer; a random one spreads the sink, so that every member has it nearby.
    members.shuffle(&mut ChaCha8Rng::seed_from_u64(0));
    let mut network = Network::of(overlay);
    network.is_sink[members[0] as usize] = true;
    for &member in &members[1..] {
        least_cut = network.flow(member, least_cut);
        network.is_sink[member as usize] = true;
    }
    least_cut
}

/// Nodes that every other node is linked to one of: each node, in ascending order, that no earlier one dominates.
fn dominating_set(overlay: &Overlay) -> Vec<u32> {
    let mut dominated = vec![false; overlay.nodes()];
    let mut members = Vec::new();
    for node in 0..overlay.nodes() {
        if !dominated[node] {
            members.push(node as u32);
            overlay
                .neighbours(node)
                .iter()
                .for_each(|&other| dominated[other as usize] = true);
        }
    }
    members
}

/// The overlay as a flow network: one unit may pass along each edge, in either direction.
struct Network<'a> {
    overlay: &'a Overlay,
    row_ptr: Vec<usize>,
    /// The same edge in the other direction, for each arc.
    reverse: Vec<u32>,
    /// Net flow along each arc: -1, 0 or 1.
    flow: Vec<i8>,
    is_sink: Vec<bool>,
    /// The arc by which each node was reached in the search numbered in `seen`.
    reached_by: Vec<u32>,
    seen: Vec<u32>,
    search: u32,
    /// The nodes of the current search in the order in which they were reached.
    queue: Vec<u32>,
}

impl<'a> Network<'a> {
    fn of(overlay: &'a Overlay) -> Self {
        let nodes = overlay.nodes();
        let mut row_ptr = vec![0];
        row_ptr.extend((0..nodes).scan(0, |end, node| {
            *end += overlay.degree(node);
            Some(*end)
        }));
        // Heads ascend in every row and tails ascend in this loop, so each row meets its arcs' reverses in order.
        let mut next = row_ptr.clone();
        let mut reverse = Vec::with_capacity(row_ptr[nodes]);
        for head in (0..nodes).flat_map(|node| overlay.neighbours(node)) {
            reverse.push(next[*head as usize] as u32);
            next[*head as usize] += 1;
        }
        Self {
            overlay,
            flow: vec![0; reverse.len()],
            reverse,
            row_ptr,
            is_sink: vec![false; nodes],
            reached_by: vec![0; nodes],
            seen: vec![0; nodes],
            search: 0,
            queue: Vec::new(),
        }
    }

    /// The largest flow from `source` to all sinks together, but not more than `limit`.
    fn flow(&mut self, source: u32, limit: usize) -> usize {
        let mut used = Vec::new();
        let mut value = 0;
        while value < limit {
            let Some(mut node) = self.augmenting_path(source) else {
                break;
            };
            while node != source {
                let arc = self.reached_by[node as usize] as usize;
                let back = self.reverse[arc] as usize;
                self.flow[arc] += 1;
                self.flow[back] -= 1;
                used.push((arc, back));
                let neighbours = self.overlay.neighbours(node as usize);
                let place = back - self.row_ptr[node as usize];
                node = neighbours
                    .get(place)
                    .expect("the arc back starts at the node");
            }
            value += 1;
        }
        for (arc, back) in used {
            self.flow[arc] = 0;
            self.flow[back] = 0;
        }
        value
    }

    /// The sink at the end of a shortest path with capacity left.
    fn augmenting_path(&mut self, source: u32) -> Option<u32> {
        self.search += 1;
        self.seen[source as usize] = self.search;
        self.queue.clear();
        self.queue.push(source);
        let mut place = 0;
        while let Some(&node) = self.queue.get(place) {
            place += 1;
            let first = self.row_ptr[node as usize];
            for (offset, &head) in self.overlay.neighbours(node as usize).iter().enumerate() {
                let arc = first + offset;
                if self.flow[arc] < 1 && self.seen[head as usize] != self.search {
                    self.seen[head as usize] = self.search;
                    self.reached_by[head as usize] = arc as u32;
                    if self.is_sink[head as usize] {
                        return Some(head);
                    }
                    self.queue.push(head);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// The smallest cut over all bipartitions.
    fn exhaustive(overlay: &Overlay) -> usize {
        let crossing = |side: u32| {
            overlay
                .edges()
                .filter(|(a, b)| (side >> a ^ side >> b) & 1 == 1)
                .count()
        };
        (1..1_u32 << (overlay.nodes() - 1))
            .map(crossing)
            .min()
            .unwrap()
    }

    #[test]
    fn flows_agree_with_all_bipartitions() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut below_the_least_degree = 0;
        for case in 0..300 {
            let nodes = 9 + case % 4;
            // Two communities, so that the smallest cut often lies between them.
            let p = |a: u32, b: u32| {
                if (a < 5) == (b < 5) {
                    0.9
                } else {
                    0.001 * case as f64
                }
            };
            let pairs = (0..nodes as u32).flat_map(|a| (0..a).map(move |b| (a, b)));
            let edges: Vec<_> = pairs.filter(|&(a, b)| rng.random_bool(p(a, b))).collect();
            let overlay = Overlay::from_edges(nodes, edges).unwrap();
            let expected = exhaustive(&overlay);
            assert_eq!(of(&overlay), expected);
            let least = (0..nodes).map(|node| overlay.degree(node)).min().unwrap();
            below_the_least_degree += usize::from(expected < least);
        }
        assert!(
            below_the_least_degree > 50,
            "only {below_the_least_degree} cuts below the least degree"
        );
    }

    #[test]
    fn two_cliques_are_cut_at_their_bridges() {
        let clique =
            |first: u32| (0..20_u32).flat_map(move |a| (0..a).map(move |b| (first + a, first + b)));
        for count in 1..12 {
            let bridges = (0..count).map(|i| (i, 20 + i));
            let overlay =
                Overlay::from_edges(40, clique(0).chain(clique(20)).chain(bridges)).unwrap();
            assert_eq!(of(&overlay), count as usize);
        }
    }

    #[test]
    fn components_and_single_nodes_have_none() {
        assert_eq!(of(&Overlay::from_edges(1, []).unwrap()), 0);
        assert_eq!(
            of(&Overlay::from_edges(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]).unwrap()),
            0
        );
    }
}
