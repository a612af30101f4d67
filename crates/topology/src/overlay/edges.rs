//! The edges of an overlay, one after another.

use super::Overlay;

impl Overlay {
    /// Number of edges; of a directed overlay, of arcs.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        match self.is_directed() {
            true => self.links.arcs(),
            false => self.links.arcs() / 2,
        }
    }

    /// Number of arcs that are held in memory one by one, an undirected edge being two: none in an overlay in which every
    /// two nodes are linked, or every two of some.
    #[must_use]
    pub fn listed_arcs(&self) -> usize {
        let listeners = self.listeners.as_ref();
        self.links.listed_arcs() + listeners.map_or(0, |links| links.listed_arcs())
    }

    /// Every edge once, as `(a, b)` with `a < b`, ascending; of a directed overlay, every arc as `(from, to)`.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32)> {
        let links = self.listeners.as_ref().unwrap_or(&self.links);
        let directed = self.is_directed();
        (0..self.nodes() as u32).flat_map(move |a| {
            let all = links.of_node(a);
            let counted = if directed { all } else { all.above(a) };
            counted.iter().map(move |&b| (a, b))
        })
    }

    /// Who sends to whom, as `(from, to)`: the [edges](Overlay::edges) in their order, each of an undirected overlay as `(a, b)` and then
    /// `(b, a)`.
    pub fn arcs(&self) -> impl Iterator<Item = (u32, u32)> {
        let is_mutual = !self.is_directed();
        let both = move |(a, b)| [Some((a, b)), is_mutual.then_some((b, a))];
        self.edges().flat_map(both).flatten()
    }

    /// The edges at some places of [`Overlay::edges`], ascending.
    ///
    /// # Panics
    /// If there are fewer edges.
    ///
    /// # Complexity
    /// O(k log n) for k places where every two nodes are linked, else O(n + m + k log k).
    #[must_use]
    pub fn edges_at(&self, mut places: Vec<usize>) -> Vec<(u32, u32)> {
        places.sort_unstable();
        if let (false, Some(members)) = (self.is_directed(), self.links.members()) {
            return places
                .into_iter()
                .map(|place| edge_among(members, place))
                .collect();
        }
        let mut edges = self.edges().enumerate();
        let mut found: Option<(usize, (u32, u32))> = None;
        let at = |place: usize| {
            while found.is_none_or(|(at, _)| at < place) {
                found = Some(edges.next().expect("a place below the number of edges"));
            }
            found.expect("the loop ended at an edge").1
        };
        places.into_iter().map(at).collect()
    }

    /// Edges that connect the same nodes as all edges do; fewer edges if every two of some nodes are linked.
    pub(crate) fn connecting_edges(&self) -> Box<dyn Iterator<Item = (u32, u32)> + '_> {
        match self.links.members() {
            Some([first, others @ ..]) if !self.is_directed() => {
                Box::new(others.iter().map(|other| (*first, *other)))
            }
            _ => Box::new(self.edges()),
        }
    }
}

/// The edge at `place` of those among `members`, ascending.
fn edge_among(members: &[u32], place: usize) -> (u32, u32) {
    let count = members.len();
    // The edges from members before `a`: each has one to every later member.
    let before = |a: usize| a * (2 * count - a - 1) / 2;
    let (mut low, mut high) = (0, count);
    while high - low > 1 {
        let middle = low.midpoint(high);
        match before(middle) <= place {
            true => low = middle,
            false => high = middle,
        }
    }
    (members[low], members[low + 1 + place - before(low)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_found_by_their_places() {
        let ring = Overlay::from_edges(7, (0..7).map(|a| (a, (a + 1) % 7))).unwrap();
        let complete = Overlay::complete(6).unwrap();
        let some = complete.surviving(&[true, false, true, true, false, true], &[]);
        let arcs = Overlay::directed(3, [(2, 0), (0, 1), (0, 2)]).unwrap();
        for overlay in [ring, complete, some, arcs] {
            let all: Vec<_> = overlay.edges().collect();
            let places: Vec<usize> = (0..all.len()).rev().collect();
            assert_eq!(overlay.edges_at(places), all);
            let every_other: Vec<usize> = (0..all.len()).step_by(2).collect();
            let expected: Vec<_> = all.iter().copied().step_by(2).collect();
            assert_eq!(overlay.edges_at(every_other), expected);
            assert!(overlay.edges_at(Vec::new()).is_empty());
        }
    }

    #[test]
    fn few_edges_connect_what_all_connect() {
        let alive = [false, true, true, false, true];
        let some = Overlay::complete(5).unwrap().surviving(&alive, &[]);
        assert!(some.connecting_edges().eq([(1, 2), (1, 4)]));
        assert_eq!(some.components(), [vec![0], vec![1, 2, 4], vec![3]]);
    }
}
