//! A proper edge colouring with at most one colour more than the largest degree.

use crate::Overlay;

/// The edges of each colour, which share no node: at most one colour more than the largest degree, the same for the same overlay.
///
/// # Source
/// Misra and Gries, *A constructive proof of Vizing's theorem* (1992).
///
/// # Interpretation
/// Edges come in ascending order, neighbours as well, and of several free colours the first is taken.
///
/// # Complexity
/// O(n m) for m edges among n nodes.
pub(super) fn matchings(overlay: &Overlay) -> Vec<Vec<(u32, u32)>> {
    let largest = (0..overlay.nodes()).map(|node| overlay.degree(node)).max();
    let colours = largest.unwrap_or(0) + 1;
    let mut colouring = Colouring {
        at: vec![vec![None; colours]; overlay.nodes()],
    };
    for (a, b) in overlay.edges() {
        colouring.colour_edge(overlay, a as usize, b as usize);
    }
    let of_colour = |colour: usize| {
        let ends = colouring.at.iter().enumerate();
        let edges = ends.filter_map(|(a, at)| Some((a as u32, at[colour]? as u32)));
        edges.filter(|(a, b)| a < b).collect::<Vec<_>>()
    };
    let all = (0..colours).map(of_colour);
    all.filter(|matching| !matching.is_empty()).collect()
}

/// The neighbour of each node by the edge of each colour, `[n][colours]`.
struct Colouring {
    at: Vec<Vec<Option<usize>>>,
}

impl Colouring {
    fn is_free(&self, node: usize, colour: usize) -> bool {
        self.at[node][colour].is_none()
    }

    fn free(&self, node: usize) -> usize {
        let free = self.at[node].iter().position(Option::is_none);
        free.expect("a node has fewer edges than there are colours")
    }

    /// The colour of the edge between two nodes, if it has one.
    fn of_edge(&self, a: usize, b: usize) -> Option<usize> {
        self.at[a].iter().position(|other| *other == Some(b))
    }

    fn set(&mut self, a: usize, b: usize, colour: usize) {
        self.at[a][colour] = Some(b);
        self.at[b][colour] = Some(a);
    }

    fn clear(&mut self, a: usize, b: usize, colour: usize) {
        self.at[a][colour] = None;
        self.at[b][colour] = None;
    }

    /// Gives the edge from `centre` to `first` a colour, and others another one where that is needed.
    fn colour_edge(&mut self, overlay: &Overlay, centre: usize, first: usize) {
        let fan = self.fan(overlay, centre, first);
        let last = fan[fan.len() - 1];
        let (of_centre, of_last) = (self.free(centre), self.free(last));
        self.invert_path(centre, of_centre, of_last);
        // The part of the fan up to the first node at which the colour is free, which is still a fan.
        let end = (0..fan.len()).find(|place| self.is_free(fan[*place], of_last));
        let end = end.expect("the path does not end at all nodes of a fan");
        for place in 0..end {
            let colour = self.of_edge(centre, fan[place + 1]);
            let colour = colour.expect("all edges of a fan but the first have a colour");
            self.clear(centre, fan[place + 1], colour);
            self.set(centre, fan[place], colour);
        }
        self.set(centre, fan[end], of_last);
    }

    /// Neighbours of `centre` from `first` on, as many as possible: the colour of the edge to each is free at the one before it.
    fn fan(&self, overlay: &Overlay, centre: usize, first: usize) -> Vec<usize> {
        let mut fan = vec![first];
        loop {
            let last = fan[fan.len() - 1];
            let fits = |node: &usize| {
                let colour = self.of_edge(centre, *node);
                !fan.contains(node) && colour.is_some_and(|colour| self.is_free(last, colour))
            };
            let neighbours = overlay.neighbours(centre).iter();
            match neighbours.map(|node| *node as usize).find(fits) {
                Some(next) => fan.push(next),
                None => return fan,
            }
        }
    }

    /// Swaps two colours along the path from `start`, at which `free` is free: then `other` is.
    fn invert_path(&mut self, start: usize, free: usize, other: usize) {
        let (mut path, mut colour) = (vec![start], other);
        while let Some(next) = self.at[path[path.len() - 1]][colour] {
            path.push(next);
            colour = if colour == other { free } else { other };
        }
        let colour_of = |place: usize| match place % 2 {
            0 => (other, free),
            _ => (free, other),
        };
        for (place, edge) in path.windows(2).enumerate() {
            self.clear(edge[0], edge[1], colour_of(place).0);
        }
        for (place, edge) in path.windows(2).enumerate() {
            self.set(edge[0], edge[1], colour_of(place).1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErdosRenyi, Probability, Topology};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Checks a colouring; how many colours it has.
    fn checked(overlay: &Overlay) -> usize {
        let matchings = matchings(overlay);
        for matching in &matchings {
            let mut ends: Vec<u32> = matching.iter().flat_map(|&(a, b)| [a, b]).collect();
            ends.sort_unstable();
            let all = ends.len();
            ends.dedup();
            assert_eq!(ends.len(), all, "a node has two edges of a colour");
        }
        let mut edges: Vec<_> = matchings.iter().flatten().copied().collect();
        edges.sort_unstable();
        assert!(overlay.edges().eq(edges));
        let largest = (0..overlay.nodes()).map(|node| overlay.degree(node)).max();
        assert!(matchings.len() <= largest.unwrap() + 1);
        matchings.len()
    }

    fn built(text: &str, nodes: usize) -> Overlay {
        let topology: Topology = serde_json::from_str(text).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        topology.build(nodes, &mut rng).unwrap()
    }

    #[test]
    fn colours_are_proper_and_few() {
        for nodes in 2..40 {
            checked(&built(r#"{"path": {}}"#, nodes));
            checked(&Overlay::complete(nodes).unwrap());
            assert!(checked(&built(r#"{"star": {}}"#, nodes)) >= nodes - 1);
        }
        assert_eq!(checked(&built(r#"{"ring": {}}"#, 9)), 3);
        checked(&built(r#"{"torus": {}}"#, 35));
        checked(&built(r#"{"regular": {"degree": 7}}"#, 60));
        // Petersen's graph has no colouring with three.
        let petersen =
            (0..5).flat_map(|i| [(i, (i + 1) % 5), (i, i + 5), (i + 5, (i + 2) % 5 + 5)]);
        assert_eq!(checked(&Overlay::from_edges(10, petersen).unwrap()), 4);
        for seed in 0..200 {
            let p = Probability::Fixed(0.3 + 0.6 * (seed as f64 / 200.0));
            let random = Topology::ErdosRenyi(ErdosRenyi { p });
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            checked(&random.build(5 + seed as usize % 20, &mut rng).unwrap());
        }
    }

    #[test]
    fn a_node_without_edges_has_no_matchings() {
        assert!(matchings(&Overlay::from_edges(1, []).unwrap()).is_empty());
    }
}
