//! Overlays as a configuration names them.
//!
//! To add an overlay, write one file below `topology/` and add its lines here: `mod`, a variant, and an arm of `build`,
//! `label` and `schedule`; `size.rs` asks how large it becomes. None of these matches has a wildcard, so that the
//! compiler names what is missing.

use crate::overlay::check_nodes;
use crate::{Nodes, Overlay, TopologyError};
use meshfold_own::OwnPart;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod balanced_tree;
mod barbell;
mod complete;
mod d_cliques;
mod edges;
mod erdos_renyi;
mod exponential;
mod grid;
mod listed;
mod members;
mod one_peer;
mod overlay_epoch;
mod own;
mod path;
mod periodic;
mod phases;
mod random_matching;
mod rectangle;
mod redraw;
mod regular;
mod ring;
mod ring_plus_matching;
mod size;
mod star;
mod torus;
mod virtual_rings;
mod watts_strogatz;

pub use balanced_tree::BalancedTree;
pub use barbell::Barbell;
pub use complete::Complete;
pub use d_cliques::{
    DCliques, HistogramNoise, InterClique, Leaders, NoiseScale, SmallWorld, clique_skew,
};
pub use edges::{Edges, parse_edge_list};
pub(crate) use edges::{of_file, parse_lines};
pub use erdos_renyi::{ErdosRenyi, Probability};
pub use exponential::Exponential;
pub use grid::Grid;
pub use members::{Members, Outside};
pub use one_peer::OnePeer;
use overlay_epoch::Schedule;
pub use overlay_epoch::{OverlayEpoch, Snapshot};
pub use own::{OverlayChange, OwnOverlay};
pub use path::Path;
pub use periodic::Periodic;
pub use phases::{Phase, Phases};
pub use random_matching::RandomMatching;
pub use redraw::Redraw;
pub use regular::Regular;
pub use ring::Ring;
pub use ring_plus_matching::RingPlusMatching;
pub use size::OverlaySize;
pub use star::Star;
pub use torus::Torus;
pub use virtual_rings::VirtualRings;
pub use watts_strogatz::WattsStrogatz;

/// The overlays that can be asked for by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Topology {
    /// A line of nodes.
    Path(Path),
    /// A cycle, each node linked some hops both ways.
    Ring(Ring),
    /// A rectangle of nodes.
    Grid(Grid),
    /// A rectangle whose opposite sides meet.
    Torus(Torus),
    /// Every two nodes linked.
    Complete(Complete),
    /// All nodes linked to node 0.
    Star(Star),
    /// A tree filled level by level.
    BalancedTree(BalancedTree),
    /// Two cliques joined by a path.
    Barbell(Barbell),
    /// Every edge with the same probability.
    ErdosRenyi(ErdosRenyi),
    /// Uniformly random among graphs of one degree.
    Regular(Regular),
    /// A ring and a random perfect matching.
    RingPlusMatching(RingPlusMatching),
    /// Neighbours on several randomly ordered rings.
    VirtualRings(VirtualRings),
    /// Neighbours at powers of two.
    Exponential(Exponential),
    /// A ring lattice with some edges rewired at random.
    WattsStrogatz(WattsStrogatz),
    /// Cliques whose labels are those of all nodes, sparsely joined.
    DCliques(DCliques),
    /// Edges read from a file.
    Edges(Edges),
    /// One overlay after another.
    Phases(Phases),
    /// Overlays that take turns.
    Periodic(Periodic),
    /// A fresh overlay every so many rounds.
    Redraw(Redraw),
    /// One listener at a time, at powers of two.
    OnePeer(OnePeer),
    /// Random pairs, drawn anew in each round.
    RandomMatching(RandomMatching),
    /// An overlay of a program's own.
    Own(OwnPart<dyn OwnOverlay>),
}

impl Topology {
    /// Builds a connected overlay of `nodes` nodes; of one that changes over time, that of the first round, see
    /// [`Topology::epoch`].
    ///
    /// Only the random topologies draw from `rng`. Where a draw may come out disconnected, draws are repeated until one
    /// is connected, so the result is a draw of the named distribution given that it is connected.
    ///
    /// # Errors
    /// Parameters that do not fit `nodes`, see each topology; [`TopologyError::Disconnected`] if the given edges
    /// do not connect the nodes.
    pub fn build<'a>(
        &self,
        nodes: impl Into<Nodes<'a>>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Overlay, TopologyError> {
        let given = nodes.into();
        let nodes = given.count;
        check_nodes(nodes)?;
        let overlay = match self {
            Self::Path(path) => path.build(nodes),
            Self::Ring(ring) => ring.build(nodes),
            Self::Grid(grid) => grid.build(nodes),
            Self::Torus(torus) => torus.build(nodes),
            Self::Complete(complete) => complete.build(nodes),
            Self::Star(star) => star.build(nodes),
            Self::BalancedTree(tree) => tree.build(nodes),
            Self::Barbell(barbell) => barbell.build(nodes),
            Self::ErdosRenyi(erdos_renyi) => erdos_renyi.build(nodes, rng),
            Self::Regular(regular) => regular.build(nodes, rng),
            Self::RingPlusMatching(matching) => matching.build(nodes, rng),
            Self::VirtualRings(rings) => rings.build(nodes, rng),
            Self::Exponential(exponential) => exponential.build(nodes),
            Self::WattsStrogatz(watts_strogatz) => watts_strogatz.build(nodes, rng),
            Self::DCliques(d_cliques) => d_cliques.build(given, rng),
            Self::Edges(edges) => edges.build(nodes),
            Self::Own(own) if self.schedule().is_none() => own::build(own, 0, given, rng),
            Self::Phases(_)
            | Self::Periodic(_)
            | Self::Redraw(_)
            | Self::OnePeer(_)
            | Self::RandomMatching(_)
            | Self::Own(_) => {
                return Ok(self.epoch(1, nodes).build(given, rng)?.overlay);
            }
        }?;
        if overlay.is_connected() {
            return Ok(overlay);
        }
        Err(TopologyError::Disconnected {
            topology: self.label(),
            nodes,
            components: overlay.components().len(),
        })
    }

    /// The overlay as a schedule, if it changes over time.
    fn schedule(&self) -> Option<&dyn Schedule> {
        match self {
            Self::Phases(phases) => Some(phases),
            Self::Periodic(periodic) => Some(periodic),
            Self::Redraw(redraw) => Some(redraw),
            Self::OnePeer(one_peer) => Some(one_peer),
            Self::RandomMatching(matching) => Some(matching),
            Self::Own(own) if own.part().change() != OverlayChange::Never => Some(own),
            Self::Path(_)
            | Self::Ring(_)
            | Self::Grid(_)
            | Self::Torus(_)
            | Self::Complete(_)
            | Self::Star(_)
            | Self::BalancedTree(_)
            | Self::Barbell(_)
            | Self::ErdosRenyi(_)
            | Self::Regular(_)
            | Self::RingPlusMatching(_)
            | Self::VirtualRings(_)
            | Self::Exponential(_)
            | Self::WattsStrogatz(_)
            | Self::DCliques(_)
            | Self::Edges(_)
            | Self::Own(_) => None,
        }
    }

    /// A short name for tables and legends, with the parameters that are not the default.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Path(_) => "path".to_owned(),
            Self::Ring(ring) => ring.label(),
            Self::Grid(grid) => rectangle::label("grid", grid.rows),
            Self::Torus(torus) => rectangle::label("torus", torus.rows),
            Self::Complete(_) => "complete".to_owned(),
            Self::Star(_) => "star".to_owned(),
            Self::BalancedTree(tree) => format!("balanced_tree branching={}", tree.branching),
            Self::Barbell(barbell) => format!("barbell m1={} m2={}", barbell.m1, barbell.m2),
            Self::ErdosRenyi(erdos_renyi) => format!("erdos_renyi p={}", erdos_renyi.p),
            Self::Regular(regular) => format!("{}-regular", regular.degree),
            Self::RingPlusMatching(_) => "ring_plus_matching".to_owned(),
            Self::VirtualRings(rings) => format!("virtual_rings spaces={}", rings.spaces),
            Self::Exponential(_) => "exponential".to_owned(),
            Self::WattsStrogatz(watts_strogatz) => watts_strogatz.label(),
            Self::DCliques(d_cliques) => d_cliques.label(),
            Self::Edges(edges) => edges.label(),
            Self::Phases(phases) => phases.label(),
            Self::Periodic(periodic) => periodic.label(),
            Self::Redraw(redraw) => redraw.label(),
            Self::OnePeer(_) => "one_peer".to_owned(),
            Self::RandomMatching(_) => "random_matching".to_owned(),
            Self::Own(own) => own::label(own),
        }
    }
}
