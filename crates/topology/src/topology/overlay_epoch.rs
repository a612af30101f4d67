//! Overlays over time: which rounds have the same overlay, and how it is built.

use super::overlay_spec::Contents;
use super::schedule::{Schedule, Survey};
use super::{Edges, Outside, Topology};
use crate::overlay::check_nodes;
use crate::{Nodes, Overlay, TopologyError, Weights};
use rand_chacha::ChaCha8Rng;

/// Rounds that have the same overlay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlayEpoch<'a> {
    /// Two rounds with the same draw have the same overlay, given streams that are keyed by it. 0 for an overlay that
    /// does not change.
    pub draw: u64,
    topology: &'a Topology,
}

/// The overlay of an epoch.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// On all N nodes; those outside have no edges.
    pub overlay: Overlay,
    /// Whether each node is in the overlay, `[N]`.
    pub members: Vec<bool>,
    /// What the others do.
    pub outside: Outside,
}

impl Snapshot {
    /// An overlay that all nodes are in.
    pub(super) fn of_all(overlay: Overlay) -> Self {
        Self {
            members: vec![true; overlay.nodes()],
            outside: Outside::default(),
            overlay,
        }
    }
}

impl Topology {
    /// Whether the overlay is another one in other rounds.
    #[must_use]
    pub fn varies(&self) -> bool {
        self.schedule().is_some()
    }

    /// What nodes outside a schedule's overlays do.
    #[must_use]
    pub fn outside(&self) -> Outside {
        self.schedule()
            .map_or_else(Outside::default, Schedule::outside)
    }

    /// After how many rounds the overlays of `nodes` nodes repeat: 1 if they do not change, `None` if they never do.
    #[must_use]
    pub fn period(&self, nodes: usize) -> Option<usize> {
        self.schedule()
            .map_or(Some(1), |schedule| schedule.turns(nodes).period())
    }

    /// Which overlays tell whether they connect the nodes: the only one, if it does not change.
    #[must_use]
    pub fn survey(&self) -> Survey {
        self.schedule().map_or(Survey::First, Schedule::survey)
    }

    /// What links `nodes` nodes in a round, counted from 1.
    #[must_use]
    pub fn epoch(&self, round: usize, nodes: usize) -> OverlayEpoch<'_> {
        let draw = self
            .schedule()
            .map_or(0, |schedule| schedule.turns(nodes).draw(round));
        OverlayEpoch {
            draw: draw as u64,
            topology: self,
        }
    }

    /// The rounds up to `rounds` that bring an overlay which no earlier round has, ascending: the first round, and in a
    /// schedule each round in which another draw begins.
    pub fn change_rounds(
        &self,
        nodes: usize,
        rounds: usize,
    ) -> impl Iterator<Item = usize> + use<> {
        let changes = match self.schedule() {
            Some(schedule) => schedule.turns(nodes).first_rounds(),
            None => Box::new(std::iter::once(1)),
        };
        changes.take_while(move |round| *round <= rounds)
    }

    /// Checks that a schedule makes sense for `nodes` nodes; overlays that do not change are only checked when built.
    ///
    /// # Errors
    /// [`TopologyError::Setting`] with the path of the value at fault, as for a schedule inside a schedule.
    pub fn check(&self, nodes: usize) -> Result<(), TopologyError> {
        self.schedule()
            .map_or(Ok(()), |schedule| schedule.check(nodes))
    }

    /// The edge lists that the topology names, also those inside a schedule, with the dotted path of each below
    /// `topology`: for whoever reads the files.
    pub fn edge_lists_mut(&mut self) -> Vec<(String, &mut Edges)> {
        let inside = match self.spec_mut().contents() {
            Contents::Values => return Vec::new(),
            Contents::EdgeList(path, edges) => return vec![(path.to_owned(), edges)],
            Contents::Topologies(inside) => inside,
        };
        let lists = inside.into_iter().flat_map(|(path, of)| {
            let below = of.edge_lists_mut().into_iter();
            below.map(move |(name, edges)| (format!("{path}.{name}"), edges))
        });
        lists.collect()
    }
}

impl OverlayEpoch<'_> {
    /// Builds the overlay, drawing the nodes that it links and then its edges from `rng`.
    ///
    /// # Errors
    /// Those of [`Topology::check`] and [`Topology::build`]; the latter as [`TopologyError::Within`] where a part of a
    /// schedule is at fault. Members must be connected among each other, except by the edge lists of `periodic`, by
    /// `one_peer` and by `random_matching`.
    pub fn build<'a>(
        &self,
        nodes: impl Into<Nodes<'a>>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Snapshot, TopologyError> {
        let nodes = nodes.into();
        check_nodes(nodes.count)?;
        if let Some(schedule) = self.topology.schedule() {
            schedule.check(nodes.count)?;
            let snapshot = schedule.snapshot(self.draw as usize, nodes, rng)?;
            return self.weighed(snapshot);
        }
        Ok(Snapshot::of_all(self.topology.build(nodes, rng)?))
    }

    /// The snapshot with the weights that suit it, if others of the schedule bring weights and it brings none.
    fn weighed(&self, snapshot: Snapshot) -> Result<Snapshot, TopologyError> {
        if !self.topology.prescribes_weights() || snapshot.overlay.weights().is_some() {
            return Ok(snapshot);
        }
        let weights = Weights::usual(snapshot.overlay.is_directed());
        let matrix = weights.matrix(&snapshot.overlay)?;
        Ok(Snapshot {
            overlay: snapshot.overlay.with_weights(matrix)?,
            ..snapshot
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
            let draw = topology.epoch(*round, 9).draw;
            let new = !seen.contains(&draw);
            seen.push(draw);
            new
        };
        (1..=12).filter(|round| first(round)).collect()
    }

    #[test]
    fn change_rounds_are_those_of_overlays_not_seen_before() {
        for text in [
            r#"{"ring": {}}"#,
            r#"{"one_peer": {}}"#,
            r#"{"random_matching": {}}"#,
            r#"{"periodic": [{"ring": {}}, {"star": {}}, {"ring": {}}]}"#,
            r#"{"redraw": {"every": 5, "of": {"ring": {}}}}"#,
            r#"{"phases": [{"rounds": 3, "of": {"ring": {}}}, {"rounds": 8, "of": {"star": {}}}, {"of": {"path": {}}}]}"#,
            r#"{"phases": [{"rounds": 12, "of": {"ring": {}}}, {"of": {"path": {}}}]}"#,
        ] {
            let topology: Topology = serde_json::from_str(text).unwrap();
            let found: Vec<usize> = topology.change_rounds(9, 12).collect();
            assert_eq!(found, first_rounds(&topology), "{text}");
        }
    }
}
