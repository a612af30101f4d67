//! How cliques are joined.

use super::inter_clique_edges::InterCliqueEdges;
use crate::TopologyError;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Which cliques are joined by an edge: a word, or `small_world` with its parameter.
///
/// # Source
/// D-Cliques (Bellet et al.), Section III-C.
///
/// # Interpretation
/// The default is what all experiments of the paper have but those that compare these four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// With `remote` the derived functions are inherent ones, for the traits below to call once they have seen to the word.
#[serde(rename_all = "snake_case", remote = "Self")]
#[schemars(rename = "InterClique")]
pub enum InterClique {
    /// Each clique with the next one and the last with the first.
    Ring,
    /// Groups of M cliques, each two of them joined; groups of M groups, joined in the same way, and so on.
    Fractal,
    /// Each clique with some at distances of powers of two on a ring of cliques.
    SmallWorld(SmallWorld),
    /// Each two cliques.
    #[default]
    FullyConnected,
}

/// Of q cliques on a ring, clique i is joined to i + 2^x + k and i − 2^x − k for x from 0 to ⌈log2(q/2)⌉ and k below c.
///
/// # Source
/// D-Cliques (Bellet et al.), Section III-C; the extended version (arXiv:2104.07365) for the construction.
///
/// # Interpretation
/// Two cliques at such a distance of each other both ways, or at two such distances, are joined as often, by different
/// edges; where two of these would join the same two nodes they are merged. A clique is not joined to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SmallWorld {
    /// Neighbouring cliques joined to at each distance and side, c.
    #[serde(default = "neighbours")]
    pub c: usize,
}

impl Default for SmallWorld {
    fn default() -> Self {
        Self { c: neighbours() }
    }
}

fn neighbours() -> usize {
    2
}

impl InterClique {
    /// Checks the parameter of a small world.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] if it joins no cliques, or more than there are nodes.
    pub(super) fn check(&self, nodes: usize) -> Result<(), TopologyError> {
        match self {
            Self::SmallWorld(SmallWorld { c }) if !(1..=nodes).contains(c) => {
                let needed = format!("a number from 1 to {nodes}, the nodes");
                Err(TopologyError::setting(
                    "d_cliques.inter.small_world.c",
                    c,
                    needed,
                ))
            }
            _ => Ok(()),
        }
    }

    /// The edges between cliques of at most `max_clique_size` nodes, M.
    pub(super) fn edges(
        &self,
        cliques: &[Vec<u32>],
        max_clique_size: usize,
        rng: &mut ChaCha8Rng,
    ) -> Vec<(u32, u32)> {
        let mut edges = InterCliqueEdges::new(cliques, rng);
        match self {
            Self::Ring => ring(cliques, &mut edges),
            Self::Fractal => fractal(cliques, max_clique_size, &mut edges),
            Self::SmallWorld(small_world) => small_world.join(cliques, &mut edges),
            Self::FullyConnected => join_all(cliques, &mut edges),
        }
        edges.into_vec()
    }

    /// Its word, with the parameter if it is not the default.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Ring => "ring".to_owned(),
            Self::Fractal => "fractal".to_owned(),
            Self::SmallWorld(small_world) if *small_world == SmallWorld::default() => {
                "small_world".to_owned()
            }
            Self::SmallWorld(small_world) => format!("small_world c={}", small_world.c),
            Self::FullyConnected => "fully_connected".to_owned(),
        }
    }
}

fn ring(cliques: &[Vec<u32>], edges: &mut InterCliqueEdges<'_>) {
    for pair in cliques.windows(2) {
        edges.join(&pair[0], &pair[1]);
    }
    if cliques.len() > 2 {
        edges.join(&cliques[cliques.len() - 1], &cliques[0]);
    }
}

/// Joins the groups of one level after the other, at first the cliques, until all nodes are one group.
///
/// # Interpretation
/// Groups are filled in the order of the cliques, which is random; if M = 1 they are pairs.
fn fractal(cliques: &[Vec<u32>], max_clique_size: usize, edges: &mut InterCliqueEdges<'_>) {
    let mut groups = cliques.to_vec();
    while groups.len() > 1 {
        let larger = groups.chunks(max_clique_size.max(2)).map(|parts| {
            join_all(parts, edges);
            parts.concat()
        });
        groups = larger.collect();
    }
}

fn join_all(groups: &[Vec<u32>], edges: &mut InterCliqueEdges<'_>) {
    for (place, first) in groups.iter().enumerate() {
        for second in &groups[place + 1..] {
            edges.join(first, second);
        }
    }
}

impl SmallWorld {
    fn join(&self, cliques: &[Vec<u32>], edges: &mut InterCliqueEdges<'_>) {
        let count = cliques.len();
        let offsets = || std::iter::successors(Some(1), |offset| Some(2 * offset));
        // 2^⌈log2(q/2)⌉ is the first of the powers of two that is not below q/2.
        let last = offsets().find(|offset| 2 * offset >= count).unwrap_or(1);
        for (place, clique) in cliques.iter().enumerate() {
            for offset in offsets().take_while(|&offset| offset <= last) {
                for distance in offset..offset + self.c {
                    let distance = distance % count;
                    if distance != 0 {
                        edges.join(clique, &cliques[(place + distance) % count]);
                        edges.join(clique, &cliques[(place + count - distance) % count]);
                    }
                }
            }
        }
    }
}

impl Serialize for InterClique {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for InterClique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrMap)
    }
}

/// Reads a word, so that `small_world` may stand without its parameter, or a map of one.
struct WordOrMap;

impl<'de> Visitor<'de> for WordOrMap {
    type Value = InterClique;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ring, fractal, small_world or fully_connected")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<InterClique, E> {
        match word {
            "small_world" => Ok(InterClique::SmallWorld(SmallWorld::default())),
            _ => InterClique::deserialize(word.into_deserializer()),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<InterClique, A::Error> {
        InterClique::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overlay;
    use rand::SeedableRng;

    /// Which of `count` cliques of `size` nodes are joined, each as one node, and by how many edges in all.
    fn joined(inter: InterClique, count: usize, size: usize) -> (Overlay, usize) {
        let nodes: Vec<u32> = (0..(count * size) as u32).collect();
        let cliques: Vec<Vec<u32>> = nodes.chunks(size).map(<[u32]>::to_vec).collect();
        let edges = inter.edges(&cliques, size, &mut ChaCha8Rng::seed_from_u64(1));
        let clique_of = |node: u32| node / size as u32;
        let links = edges.iter().map(|&(a, b)| (clique_of(a), clique_of(b)));
        (Overlay::from_edges(count, links).unwrap(), edges.len())
    }

    #[test]
    fn cliques_on_a_ring_have_two_neighbours_and_one_edge_to_each() {
        for (count, edges) in [(1, 0), (2, 1), (3, 3), (7, 7)] {
            let (cliques, found) = joined(InterClique::Ring, count, 4);
            assert_eq!((found, cliques.edge_count()), (edges, edges));
            assert!(cliques.is_connected());
        }
        assert_eq!(
            joined(InterClique::Ring, 7, 4).0.degree_histogram(),
            [0, 0, 7]
        );
    }

    #[test]
    fn fully_connected_cliques_have_one_edge_each_two() {
        let (cliques, edges) = joined(InterClique::FullyConnected, 12, 3);
        assert!(cliques.is_complete());
        assert_eq!(edges, 66);
    }

    #[test]
    fn a_fractal_has_one_edge_each_two_groups_of_a_level() {
        // M = 3: 27 cliques are 9 groups, 3 larger ones and then one; the 28th is alone until it is joined to that.
        assert_eq!(joined(InterClique::Fractal, 27, 3).1, 9 * 3 + 3 * 3 + 3);
        assert_eq!(joined(InterClique::Fractal, 28, 3).1, 9 * 3 + 3 * 3 + 3 + 1);
        for (count, size) in [(1, 5), (2, 5), (28, 3), (9, 1)] {
            assert!(joined(InterClique::Fractal, count, size).0.is_connected());
        }
        // Each node has at most M edges to other cliques: Section III-C.
        let nodes: Vec<u32> = (0..64).collect();
        let cliques: Vec<Vec<u32>> = nodes.chunks(4).map(<[u32]>::to_vec).collect();
        let edges = InterClique::Fractal.edges(&cliques, 4, &mut ChaCha8Rng::seed_from_u64(1));
        let overlay = Overlay::from_edges(64, edges).unwrap();
        assert!(overlay.degree_histogram().len() <= 5);
    }

    #[test]
    fn a_small_world_reaches_the_distances_of_its_definition() {
        let inter = |c| InterClique::SmallWorld(SmallWorld { c });
        assert_eq!(
            joined(inter(1), 16, 9).0.neighbours(0),
            [1, 2, 4, 8, 12, 14, 15]
        );
        assert_eq!(
            joined(inter(2), 23, 9).0.neighbours(0),
            [
                1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 16, 17, 18, 19, 20, 21, 22
            ]
        );
        for count in 1..6 {
            assert!(joined(inter(2), count, 2).0.is_connected());
        }
        for (c, fits) in [(0, false), (1, true), (9, true), (10, false)] {
            assert_eq!(inter(c).check(9).is_ok(), fits, "c = {c}");
        }
    }
}
