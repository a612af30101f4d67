//! Overlays over time: which rounds share one, and how it is built.

use super::{Edges, Outside, Topology};
use crate::overlay::check_nodes;
use crate::{Nodes, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;

/// The rounds that have the same overlay as a given one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch<'a> {
    /// Two rounds with the same draw have the same overlay, given streams that are keyed by it. 0 for an overlay that
    /// does not change.
    pub draw: u64,
    topology: &'a Topology,
}

/// The overlay of a stretch of rounds.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// On all N nodes; those outside have no edges.
    pub overlay: Overlay,
    /// Whether each node is in the overlay, `[N]`.
    pub members: Vec<bool>,
    /// What the others do.
    pub outside: Outside,
}

impl Topology {
    /// Whether the overlay is another one in other rounds.
    #[must_use]
    pub fn varies(&self) -> bool {
        matches!(
            self,
            Self::Phases(_) | Self::Periodic(_) | Self::Redraw(_) | Self::OnePeer(_)
        )
    }

    /// What nodes outside a schedule's overlays do.
    #[must_use]
    pub fn outside(&self) -> Outside {
        match self {
            Self::Phases(phases) => phases.outside,
            Self::Periodic(periodic) => periodic.outside,
            Self::Redraw(redraw) => redraw.outside,
            _ => Outside::default(),
        }
    }

    /// After how many rounds the overlays of `nodes` nodes repeat: 1 if they do not change, `None` if they never do.
    #[must_use]
    pub fn period(&self, nodes: usize) -> Option<usize> {
        match self {
            Self::Phases(_) | Self::Redraw(_) => None,
            Self::Periodic(periodic) => Some(periodic.list.len().max(1)),
            Self::OnePeer(one_peer) => Some(one_peer.period(nodes)),
            _ => Some(1),
        }
    }

    /// What links `nodes` nodes in a round, counted from 1.
    #[must_use]
    pub fn stretch(&self, round: usize, nodes: usize) -> Stretch<'_> {
        let in_period = |period: usize| round.saturating_sub(1) % period.max(1);
        let draw = match self {
            Self::Phases(phases) => phases.index(round),
            Self::Periodic(periodic) => in_period(periodic.list.len()),
            Self::Redraw(redraw) => redraw.index(round),
            Self::OnePeer(one_peer) => in_period(one_peer.period(nodes)),
            _ => 0,
        };
        Stretch {
            draw: draw as u64,
            topology: self,
        }
    }

    /// The rounds up to `rounds` that bring an overlay which no round before them has, ascending: the first, and of a
    /// schedule those in which another draw begins.
    pub fn beginnings(&self, nodes: usize, rounds: usize) -> Box<dyn Iterator<Item = usize> + '_> {
        let until = |last: usize| 1..=last.min(rounds);
        match self {
            Self::Phases(phases) => {
                Box::new(phases.beginnings().take_while(move |at| *at <= rounds))
            }
            Self::Redraw(redraw) => Box::new(until(rounds).step_by(redraw.every.max(1))),
            _ => Box::new(until(self.period(nodes).unwrap_or(1))),
        }
    }

    /// Whether a schedule makes sense for `nodes` nodes; overlays that do not change are only checked when built.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] with the path of the value at fault, as for a schedule inside a schedule.
    pub fn check(&self, nodes: usize) -> Result<(), TopologyError> {
        match self {
            Self::Phases(phases) => phases.check(nodes),
            Self::Periodic(periodic) => periodic.check(),
            Self::Redraw(redraw) => redraw.check(nodes),
            _ => Ok(()),
        }
    }

    /// The edge lists that the topology names, also those inside a schedule, with the dotted path of each below
    /// `topology`: for whoever reads the files.
    pub fn edge_lists_mut(&mut self) -> Vec<(String, &mut Edges)> {
        let inside: Vec<(String, &mut Topology)> = match self {
            Self::Edges(edges) => return vec![("edges".to_owned(), edges)],
            Self::Phases(phases) => {
                let list = phases.list.iter_mut().enumerate();
                list.map(|(index, phase)| (format!("phases.{index}.of"), &mut phase.of))
                    .collect()
            }
            Self::Periodic(periodic) => {
                let list = periodic.list.iter_mut().enumerate();
                list.map(|(index, of)| (format!("periodic.{index}"), of))
                    .collect()
            }
            Self::Redraw(redraw) => vec![("redraw.of".to_owned(), &mut *redraw.of)],
            _ => Vec::new(),
        };
        let lists = inside.into_iter().flat_map(|(path, of)| {
            let below = of.edge_lists_mut().into_iter();
            below.map(move |(name, edges)| (format!("{path}.{name}"), edges))
        });
        lists.collect()
    }
}

impl Stretch<'_> {
    /// Builds the overlay, drawing the nodes that it links and then its edges from `rng`.
    ///
    /// # Errors
    /// Those of [`Topology::check`] and [`Topology::build`]; the latter as [`TopologyError::Within`] where a part of a
    /// schedule is at fault. Members must be connected among each other, except by the edge lists of `periodic` and by
    /// `one_peer`.
    pub fn build<'a>(
        &self,
        nodes: impl Into<Nodes<'a>>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        let nodes = nodes.into();
        check_nodes(nodes.count)?;
        self.topology.check(nodes.count)?;
        let index = self.draw as usize;
        let overlay = match self.topology {
            Topology::Phases(phases) => return phases.snapshot(index, nodes, rng),
            Topology::Periodic(periodic) => return periodic.snapshot(index, nodes, rng),
            Topology::Redraw(redraw) => return redraw.snapshot(nodes, rng),
            Topology::OnePeer(one_peer) => one_peer.build(index, nodes.count)?,
            fixed => fixed.build(nodes, rng)?,
        };
        Ok(Snapshot {
            members: vec![true; nodes.count],
            overlay,
            outside: Outside::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first rounds of 12 in which each draw appears.
    fn first_rounds(topology: &Topology) -> Vec<usize> {
        let mut seen = Vec::new();
        let mut first = |round: &usize| {
            let draw = topology.stretch(*round, 9).draw;
            let new = !seen.contains(&draw);
            seen.push(draw);
            new
        };
        (1..=12).filter(|round| first(round)).collect()
    }

    #[test]
    fn beginnings_are_the_rounds_of_overlays_not_seen_before() {
        for text in [
            r#"{"ring": {}}"#,
            r#"{"one_peer": {}}"#,
            r#"{"periodic": [{"ring": {}}, {"star": {}}, {"ring": {}}]}"#,
            r#"{"redraw": {"every": 5, "of": {"ring": {}}}}"#,
            r#"{"phases": [{"rounds": 3, "of": {"ring": {}}}, {"rounds": 8, "of": {"star": {}}}, {"of": {"path": {}}}]}"#,
            r#"{"phases": [{"rounds": 12, "of": {"ring": {}}}, {"of": {"path": {}}}]}"#,
        ] {
            let topology: Topology = serde_json::from_str(text).unwrap();
            let found: Vec<usize> = topology.beginnings(9, 12).collect();
            assert_eq!(found, first_rounds(&topology), "{text}");
        }
    }
}
