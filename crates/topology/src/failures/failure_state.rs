//! Which clients and edges fail in a round, and which messages are lost.

use super::{Failure, FailureRedraw, Failures, Loses, Repair, Target};
use crate::Overlay;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// What has failed in a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureState {
    /// Whether each node lives, `[N]`.
    pub alive: Vec<bool>,
    /// Whether each node has lost its inputs: it lives, if no other failure hits it, but does not train and is not judged, `[N]`.
    pub masked: Vec<bool>,
    /// Whether each node is dead for good, `[N]`: it failed in a single draw, and no round brings it back.
    pub gone: Vec<bool>,
    /// Edges lost beside those of the dead, ascending, each once: as [`Overlay::edges`] has them.
    pub lost_edges: Vec<(u32, u32)>,
}

impl FailureState {
    /// What is left of the overlay.
    #[must_use]
    pub fn surviving(&self, overlay: &Overlay) -> Overlay {
        overlay.surviving(&self.alive, &self.lost_edges)
    }

    /// Whether each node lives and has its inputs, `[N]`.
    #[must_use]
    pub fn sound(&self) -> Vec<bool> {
        let nodes = self.alive.iter().zip(&self.masked);
        nodes.map(|(alive, masked)| *alive && !masked).collect()
    }

    /// Whether no node and no edge of the overlay has failed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lost_edges.is_empty() && self.alive.iter().all(|&alive| alive)
    }
}

impl Failures {
    /// What fails of an overlay in a round, counted from 1.
    ///
    /// `rng` gives the stream for the failure with this index in the list and this draw: 0 for one drawn once, the round
    /// for one drawn in each round. Clients that are drawn depend on the number of nodes alone; a share of edges is one
    /// of the overlay's.
    pub fn at(
        &self,
        round: usize,
        overlay: &Overlay,
        mut rng: impl FnMut(usize, u64) -> ChaCha8Rng,
    ) -> FailureState {
        let mut broken = FailureState {
            alive: vec![true; overlay.nodes()],
            masked: vec![false; overlay.nodes()],
            gone: vec![false; overlay.nodes()],
            lost_edges: Vec::new(),
        };
        for (index, failure) in self.in_force(round) {
            let draw = match failure.redraw {
                FailureRedraw::Never => 0,
                FailureRedraw::EachRound => round as u64,
            };
            let mut rng = rng(index, draw);
            if let Some(clients) = &failure.clients {
                let for_good = failure.until_round.is_none() && !failure.is_drawn_anew();
                let at =
                    |places: Vec<usize>| places.into_iter().map(|place| place as u32).collect();
                for client in clients.of(overlay.nodes(), at, &mut rng) {
                    let client = client as usize;
                    if client >= broken.alive.len() {
                        continue;
                    }
                    match failure.loses {
                        Loses::Everything => {
                            broken.alive[client] = false;
                            broken.gone[client] |= for_good;
                        }
                        Loses::Inputs => broken.masked[client] = true,
                    }
                }
            }
            if let Some(edges) = &failure.edges {
                let at = |places| overlay.edges_at(places);
                let lost = edges.of(overlay.edge_count(), at, &mut rng);
                let lost = lost.into_iter().flat_map(|edge| existing(overlay, edge));
                broken.lost_edges.extend(lost);
            }
        }
        broken.lost_edges.sort_unstable();
        broken.lost_edges.dedup();
        broken
    }

    /// The probability that a message of a round, counted from 1, is lost.
    #[must_use]
    pub fn loss_probability(&self, round: usize) -> f64 {
        let losses = self
            .in_force(round)
            .filter_map(|(_, failure)| failure.messages);
        1.0 - losses.map(|loss| 1.0 - loss.probability).product::<f64>()
    }

    /// The messages of one exchange over `overlay` that are lost in a round, counted from 1: as `(from, to)`, in the order of
    /// [`Overlay::arcs`]. `rng` is as for [`Failures::at`].
    pub fn lost_messages(
        &self,
        round: usize,
        overlay: &Overlay,
        mut rng: impl FnMut(usize, u64) -> ChaCha8Rng,
    ) -> Vec<(u32, u32)> {
        let losses = self
            .in_force(round)
            .filter_map(|(index, failure)| Some((index, failure.messages?.probability)));
        let mut losses: Vec<(ChaCha8Rng, f64)> = losses
            .filter(|(_, probability)| *probability > 0.0)
            .map(|(index, probability)| (rng(index, round as u64), probability))
            .collect();
        if losses.is_empty() {
            return Vec::new();
        }
        let is_lost = |_: &(u32, u32)| {
            // Each loss draws for each message, so that one that is added leaves the draws of the others as they are.
            let drawn = losses
                .iter_mut()
                .map(|(rng, probability)| rng.random::<f64>() < *probability);
            drawn.fold(false, |lost, this| lost | this)
        };
        overlay.arcs().filter(is_lost).collect()
    }

    /// A key that two rounds share only if the same fails in both, given the same overlay: the first round since which
    /// nothing has changed, or the round itself where something is drawn anew in it; 0 before anything changes.
    #[must_use]
    pub fn draw_key(&self, round: usize) -> u64 {
        let drawn = self
            .in_force(round)
            .any(|(_, failure)| failure.is_drawn_anew());
        if drawn {
            return round as u64;
        }
        let changes = self.0.iter().flat_map(|failure| {
            let back = failure.until_round;
            std::iter::once(failure.from_round).chain(back)
        });
        changes.filter(|&change| change <= round).max().unwrap_or(0) as u64
    }

    /// What happens about the clients that fail in a round. The protocol repairs the overlay if any failure in force
    /// asks for it.
    #[must_use]
    pub fn repair(&self, round: usize) -> Repair {
        match self
            .in_force(round)
            .any(|(_, failure)| failure.repair == Repair::Protocol)
        {
            true => Repair::Protocol,
            false => Repair::None,
        }
    }

    fn in_force(&self, round: usize) -> impl Iterator<Item = (usize, &Failure)> {
        let failures = self.0.iter().enumerate();
        failures.filter(move |(_, failure)| failure.is_in_force(round))
    }
}

impl Failure {
    /// Whether each round draws anew, as it does for messages; listed clients and edges stay the same.
    fn is_drawn_anew(&self) -> bool {
        let listed = matches!(self.clients, Some(Target::List(_)))
            || matches!(self.edges, Some(Target::List(_)));
        (self.redraw == FailureRedraw::EachRound && !listed) || self.messages.is_some()
    }
}

impl<T: Copy> Target<T> {
    /// How many fail out of `all`.
    #[must_use]
    pub fn count(&self, all: usize) -> usize {
        match self {
            Self::List(list) => list.len().min(all),
            Self::Count(count) => (*count).min(all),
            Self::Share(share) => number(*share, all),
        }
    }

    /// Those who fail out of `all`, in no particular order; `at` gives those at some of the places `0..all`.
    fn of(
        &self,
        all: usize,
        at: impl FnOnce(Vec<usize>) -> Vec<T>,
        rng: &mut ChaCha8Rng,
    ) -> Vec<T> {
        match self {
            Self::List(list) => list.clone(),
            Self::Count(_) | Self::Share(_) => {
                at(rand::seq::index::sample(rng, all, self.count(all)).into_vec())
            }
        }
    }
}

/// A share of `all`: the nearest number, but above 0 at least one and never all.
fn number(share: f64, all: usize) -> usize {
    let nearest = (share * all as f64).round() as usize;
    let least = usize::from(share > 0.0);
    nearest.max(least).min(all.saturating_sub(1))
}

/// An edge as the overlay has it, if it does; in a directed overlay `(a, b)` is the arc from a to b.
fn existing(overlay: &Overlay, (a, b): (u32, u32)) -> Option<(u32, u32)> {
    let (from, to) = match overlay.is_directed() {
        true => (a, b),
        false => (a.min(b), a.max(b)),
    };
    let exists =
        (from.max(to) as usize) < overlay.nodes() && overlay.listeners(from as usize).contains(&to);
    exists.then_some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Complete, Ring, Topology, Weights};
    use rand::SeedableRng;
    use std::collections::BTreeSet;

    fn ring(nodes: usize) -> Overlay {
        let ring = Topology::Ring(Ring::default());
        ring.build(nodes, &mut ChaCha8Rng::seed_from_u64(1))
            .unwrap()
    }

    fn failures(text: &str) -> Failures {
        serde_json::from_str(text).unwrap()
    }

    /// A stream of its own for each failure and draw.
    fn stream(index: usize, draw: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(1000 * index as u64 + draw)
    }

    fn dead(broken: &FailureState) -> Vec<usize> {
        let nodes = 0..broken.alive.len();
        nodes.filter(|&node| !broken.alive[node]).collect()
    }

    #[test]
    fn a_share_of_clients_dies_once_and_stays_dead() {
        let failures = failures(r#"[{"clients": {"share": 0.2}, "from_round": 10}]"#);
        let overlay = ring(50);
        assert!(failures.at(9, &overlay, stream).is_whole());
        let first = failures.at(10, &overlay, stream);
        assert_eq!(dead(&first).len(), 10);
        assert_eq!(failures.at(900, &overlay, stream), first);
        assert!(first.lost_edges.is_empty());
        // Which clients die does not depend on the overlay.
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let complete = Topology::Complete(Complete {}).build(50, &mut rng).unwrap();
        assert_eq!(failures.at(10, &complete, stream).alive, first.alive);
    }

    #[test]
    fn who_loses_its_inputs_keeps_its_links() {
        let listed = |loses: &str| {
            let text = format!(r#"[{{"clients": {{"share": 0.2}}{loses}}}]"#);
            failures(&text).at(1, &ring(50), stream)
        };
        let (gone, masked) = (listed(""), listed(r#", "loses": "inputs""#));
        assert!(masked.is_whole() && !gone.is_whole());
        assert_eq!(masked.surviving(&ring(50)).edge_count(), 50);
        // The draw is the same.
        assert_eq!(masked.sound(), gone.alive);
        assert_eq!((gone.sound(), gone.masked), (gone.alive, vec![false; 50]));
        assert!(!masked.gone.contains(&true));
        let both = failures(
            r#"[{"clients": {"list": [3]}, "loses": "inputs"}, {"clients": {"list": [3]}}]"#,
        );
        let both = both.at(1, &ring(5), stream);
        assert_eq!(dead(&both), [3]);
    }

    #[test]
    fn edges_are_lost_anew_in_each_round() {
        let failures = failures(r#"[{"edges": {"share": 0.1}, "redraw": "each_round"}]"#);
        let overlay = ring(60);
        let lost = |round| failures.at(round, &overlay, stream).lost_edges;
        assert_eq!(lost(1).len(), 6);
        assert_eq!(lost(1), lost(1));
        assert_ne!(lost(1), lost(2));
        let left = failures.at(3, &overlay, stream).surviving(&overlay);
        assert_eq!(left.edge_count(), 54);
    }

    #[test]
    fn who_is_listed_fails_and_comes_back() {
        let failures = failures(
            r#"[{"clients": {"list": [3, 5]}, "from_round": 2, "until_round": 4},
                {"edges": {"list": [[1, 0], [0, 2], [7, 0]]}, "from_round": 3}]"#,
        );
        let overlay = ring(8);
        let at = |round| failures.at(round, &overlay, stream);
        assert!(at(1).is_whole());
        assert_eq!((dead(&at(2)), at(2).lost_edges), (vec![3, 5], vec![]));
        // 0-2 is no edge of the ring.
        assert_eq!(at(3).lost_edges, [(0, 1), (0, 7)]);
        assert_eq!(dead(&at(3)), [3, 5]);
        assert_eq!((dead(&at(4)), at(4).lost_edges.len()), (vec![], 2));
    }

    #[test]
    fn a_count_fails_exactly() {
        let overlay = ring(10);
        let broken = failures(r#"[{"clients": {"count": 3}}]"#).at(1, &overlay, stream);
        assert_eq!(dead(&broken).len(), 3);
        let broken = failures(r#"[{"edges": {"count": 99}}]"#).at(1, &overlay, stream);
        assert_eq!(broken.surviving(&overlay).edge_count(), 0);
    }

    #[test]
    fn a_share_leaves_one_and_takes_one() {
        assert_eq!(number(0.0, 10), 0);
        assert_eq!(number(0.001, 10), 1);
        assert_eq!(number(0.25, 10), 3);
        assert_eq!(number(0.999, 10), 9);
        assert_eq!((number(0.5, 1), number(0.5, 0)), (0, 0));
    }

    #[test]
    fn one_direction_of_a_directed_overlay_is_lost() {
        let both = Overlay::directed(3, [(0, 1), (1, 0), (1, 2)]).unwrap();
        let broken = failures(r#"[{"edges": {"list": [[1, 0], [2, 1]]}}]"#).at(1, &both, stream);
        assert_eq!(broken.lost_edges, [(1, 0)]);
    }

    #[test]
    fn each_message_is_lost_by_itself() {
        let losing = |text: &str| failures(text);
        let overlay = ring(2000);
        let lost = |failures: &Failures, round| failures.lost_messages(round, &overlay, stream);
        let some = losing(r#"[{"messages": {"probability": 0.25}, "until_round": 7}]"#);
        assert!(some.at(1, &overlay, stream).is_whole());
        let first = lost(&some, 1);
        // 4,000 messages: a mean of 1,000 and a standard deviation of 27.
        assert!((850..1150).contains(&first.len()), "{}", first.len());
        assert_eq!(first, lost(&some, 1));
        assert_ne!(first, lost(&some, 2));
        assert!(lost(&some, 7).is_empty());
        assert_ne!(some.draw_key(1), some.draw_key(2));
        // Of both directions of a link a quarter of a quarter are lost together.
        let back: BTreeSet<(u32, u32)> = first.iter().map(|&(a, b)| (b, a)).collect();
        let both = first.iter().filter(|arc| back.contains(arc)).count() / 2;
        assert!((70..180).contains(&both), "{both}");
        // A second failure loses more, and none fewer.
        let more =
            losing(r#"[{"messages": {"probability": 0.25}}, {"messages": {"probability": 0.5}}]"#);
        let more = lost(&more, 1);
        assert!((2300..2700).contains(&more.len()), "{}", more.len());
        assert!(first.iter().all(|arc| more.contains(arc)));
        assert!(lost(&losing(r#"[{"messages": {"probability": 0}}]"#), 1).is_empty());
        assert_eq!(
            [6, 7].map(|round| some.loss_probability(round)),
            [0.25, 0.0]
        );
        let both =
            losing(r#"[{"messages": {"probability": 0.25}}, {"messages": {"probability": 0.5}}]"#);
        assert_eq!(both.loss_probability(1), 0.625);
    }

    #[test]
    fn what_arrives_is_a_directed_overlay_whose_rows_keep_their_sums() {
        let overlay = ring(6).with_examples(vec![1, 2, 3, 4, 5, 6]).unwrap();
        let lost = [(0, 1), (0, 5), (5, 4)];
        let heard = overlay.without_arcs(&lost);
        let expected = overlay.arcs().filter(|arc| !lost.contains(arc));
        assert!(heard.is_directed() && heard.arcs().eq(BTreeSet::from_iter(expected)));
        assert_eq!(heard.examples(), overlay.examples());
        let matrix = Weights::default().matrix(&overlay).unwrap();
        let left = matrix.surviving(&overlay, &heard).unwrap();
        let third = 1.0 / 3.0;
        assert_eq!(
            left.row(1).map(|(from, _)| from).collect::<Vec<_>>(),
            [1, 2]
        );
        assert!((left.weight(1, 1) - (third + third)).abs() < 1e-15);
        assert_eq!(left.weight(1, 2), matrix.weight(1, 2));
        assert_eq!(left.row(0).count(), 3);
        assert!(left.is_row_stochastic(1e-15) && !left.is_doubly_stochastic(1e-3));
    }

    #[test]
    fn rounds_with_the_same_key_have_the_same_outcome() {
        let failures = failures(
            r#"[{"clients": {"share": 0.2}, "from_round": 3},
                {"edges": {"share": 0.2}, "redraw": "each_round", "from_round": 5, "until_round": 8},
                {"clients": {"list": [1]}, "redraw": "each_round", "from_round": 10, "until_round": 12}]"#,
        );
        let overlay = ring(20);
        let keys: Vec<u64> = (1..=14).map(|round| failures.draw_key(round)).collect();
        assert_eq!(keys, [0, 0, 3, 3, 5, 6, 7, 8, 8, 10, 10, 12, 12, 12]);
        for one in 1..=14 {
            for other in
                (1..=14).filter(|&other| failures.draw_key(other) == failures.draw_key(one))
            {
                let outcome = |round| failures.at(round, &overlay, stream);
                assert_eq!(outcome(one), outcome(other), "rounds {one} and {other}");
            }
        }
    }

    #[test]
    fn the_protocol_repairs_while_a_failure_says_so() {
        let failures = failures(
            r#"[{"clients": {"count": 1}},
                {"clients": {"count": 1}, "repair": "protocol", "from_round": 4}]"#,
        );
        assert_eq!(failures.repair(3), Repair::None);
        assert_eq!(failures.repair(4), Repair::Protocol);
    }
}
