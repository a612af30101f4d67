//! Which nodes an overlay that changes over time links, and what the others do.

use super::Topology;
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The nodes among which an overlay is built.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Members {
    /// All of them.
    #[default]
    All,
    /// The first so many.
    First(usize),
    /// This share of them, above 0 and up to 1, to the nearest number but at least one, drawn uniformly.
    Share(f64),
    /// These, in this order: the first stands where node 0 would.
    List(Vec<u32>),
}

/// What nodes outside the overlay of a round do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// They train by themselves.
    #[default]
    Alone,
    /// They do nothing.
    Frozen,
}

impl Members {
    /// Checks that at least one node is named, that all exist, and that none is named twice.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] below `setting`.
    pub(super) fn check(&self, nodes: usize, setting: &str) -> Result<(), TopologyError> {
        let (below, found, needed) = match self {
            Self::First(count) if *count == 0 || *count > nodes => {
                let needed = format!("a number in 1..={nodes}");
                ("first", count.to_string(), needed)
            }
            Self::Share(share) if !(*share > 0.0 && *share <= 1.0) => {
                let needed = "a share above 0 and up to 1".to_owned();
                ("share", share.to_string(), needed)
            }
            Self::List(list) => match wrong_list(list, nodes) {
                Some((found, needed)) => ("list", found, needed),
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        Err(TopologyError::setting(
            format!("{setting}.{below}"),
            found,
            needed,
        ))
    }

    /// How many of `nodes` nodes they are.
    pub(super) fn count(&self, nodes: usize) -> usize {
        match self {
            Self::All => nodes,
            Self::First(count) => *count,
            Self::Share(share) => ((share * nodes as f64).round().max(1.0) as usize).min(nodes),
            Self::List(list) => list.len(),
        }
    }

    /// The nodes by number, ascending unless they were listed; `None` for all.
    fn draw(&self, nodes: usize, rng: &mut ChaCha8Rng) -> Option<Vec<u32>> {
        match self {
            Self::All => None,
            Self::First(count) => Some((0..*count as u32).collect()),
            Self::List(list) => Some(list.clone()),
            Self::Share(_) => {
                let drawn = rand::seq::index::sample(rng, nodes, self.count(nodes));
                let mut drawn: Vec<u32> = drawn.into_iter().map(|node| node as u32).collect();
                drawn.sort_unstable();
                Some(drawn)
            }
        }
    }

    /// Draws the members, then builds `of` on them alone, nodes outside without edges; also says who the members are.
    pub(super) fn build(
        &self,
        of: &Topology,
        nodes: Nodes<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<(Overlay, Vec<bool>), TopologyError> {
        let Some(members) = self.draw(nodes.count, rng) else {
            return Ok((of.build(nodes, rng)?, vec![true; nodes.count]));
        };
        let label_counts: Vec<Vec<u64>> = members
            .iter()
            .filter_map(|&node| nodes.label_counts.get(node as usize).cloned())
            .collect();
        let among = Nodes {
            count: members.len(),
            label_counts: &label_counts,
        };
        let overlay = of.build(among, rng)?.embedded(nodes.count, &members)?;
        let mut is_member = vec![false; nodes.count];
        for member in members {
            is_member[member as usize] = true;
        }
        Ok((overlay, is_member))
    }

    /// What is written behind a label: nothing for all.
    pub(super) fn label(&self) -> String {
        match self {
            Self::All => String::new(),
            Self::First(count) => format!(" first={count}"),
            Self::Share(share) => format!(" share={share}"),
            Self::List(list) => {
                let nodes: Vec<String> = list.iter().map(u32::to_string).collect();
                format!(" list={}", nodes.join(","))
            }
        }
    }
}

impl Outside {
    /// What is written behind a label: nothing for the default.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Alone => "",
            Self::Frozen => " outside=frozen",
        }
    }
}

/// Whether each node has an edge in `overlay`, `[N]`; a single node needs none.
pub(super) fn have_edges(overlay: &Overlay) -> Vec<bool> {
    let nodes = overlay.nodes();
    let has_edges = |node| nodes == 1 || overlay.degree(node) > 0;
    (0..nodes).map(has_edges).collect()
}

/// What is wrong with a list of nodes: what it has and what it needs.
fn wrong_list(list: &[u32], nodes: usize) -> Option<(String, String)> {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    let Some(&last) = sorted.last() else {
        return Some(("none".to_owned(), "at least one node".to_owned()));
    };
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        let found = format!("node {} twice", pair[0]);
        return Some((found, "every node at most once".to_owned()));
    }
    let outside = last as usize >= nodes;
    outside.then(|| {
        (
            format!("node {last}"),
            format!("nodes in 0..={}", nodes - 1),
        )
    })
}

/// Checks that `of` is one overlay for all rounds.
///
/// # Errors
/// [`TopologyError::Setting`] if `of`, at `setting`, itself changes over time.
pub(super) fn check_fixed(of: &Topology, setting: String) -> Result<(), TopologyError> {
    match of.varies() {
        true => Err(TopologyError::setting(
            setting,
            of.label(),
            "an overlay that does not itself change over time",
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Path, Ring};
    use rand::SeedableRng;

    #[test]
    fn a_listed_path_runs_in_the_order_of_the_list() {
        let members = Members::List(vec![0, 7, 4, 1]);
        let (overlay, is_member) = members
            .build(
                &Topology::Path(Path {}),
                8.into(),
                &mut ChaCha8Rng::seed_from_u64(1),
            )
            .unwrap();
        let edges: Vec<_> = overlay.edges().collect();
        assert_eq!(edges, [(0, 7), (1, 4), (4, 7)]);
        assert_eq!(
            is_member,
            [true, true, false, false, true, false, false, true]
        );
    }

    #[test]
    fn every_node_is_drawn_equally_often() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut times = [0_u32; 10];
        let draws = 4000;
        for _ in 0..draws {
            let drawn = Members::Share(0.3).draw(10, &mut rng).unwrap();
            assert_eq!(drawn.len(), 3);
            drawn.iter().for_each(|&node| times[node as usize] += 1);
        }
        // 1,200 times each, with a standard deviation of 29.
        assert!(
            times.iter().all(|&count| count.abs_diff(1200) < 130),
            "{times:?}"
        );
    }

    #[test]
    fn a_share_is_rounded_but_never_to_none() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut count = |share, nodes| Members::Share(share).draw(nodes, &mut rng).unwrap().len();
        assert_eq!(count(0.5, 9), 5);
        assert_eq!(count(0.01, 9), 1);
        assert_eq!(count(1.0, 9), 9);
    }

    #[test]
    fn members_that_cannot_be_are_named() {
        let message = |members: Members| members.check(4, "redraw.nodes").unwrap_err().to_string();
        for (members, expected) in [
            (
                Members::First(5),
                "redraw.nodes.first: found 5, needed a number in 1..=4",
            ),
            (
                Members::First(0),
                "redraw.nodes.first: found 0, needed a number in 1..=4",
            ),
            (
                Members::Share(0.0),
                "redraw.nodes.share: found 0, needed a share above 0 and up to 1",
            ),
            (
                Members::Share(f64::NAN),
                "redraw.nodes.share: found NaN, needed a share above 0 and up to 1",
            ),
            (
                Members::List(vec![]),
                "redraw.nodes.list: found none, needed at least one node",
            ),
            (
                Members::List(vec![1, 0, 1]),
                "redraw.nodes.list: found node 1 twice, needed every node at most once",
            ),
            (
                Members::List(vec![4, 0]),
                "redraw.nodes.list: found node 4, needed nodes in 0..=3",
            ),
        ] {
            assert_eq!(message(members), expected);
        }
        for good in [Members::All, Members::First(4), Members::List(vec![3])] {
            assert_eq!(good.check(4, "x"), Ok(()));
        }
    }

    #[test]
    fn all_members_draw_nothing_more() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let ring = Topology::Ring(Ring::default());
        let (overlay, is_member) = Members::All.build(&ring, 5.into(), &mut rng).unwrap();
        assert_eq!((overlay.edge_count(), is_member), (5, vec![true; 5]));
        assert_eq!(rng.get_word_pos(), 0);
    }
}
