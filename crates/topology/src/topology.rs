//! Overlays as a configuration names them. To add one: ARCHITECTURE.md, "Adding an overlay".

use crate::overlay::check_nodes;
use crate::{Nodes, Overlay, TopologyError, Weights};
use meshfold_own::OwnPart;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod balanced_tree;
mod barabasi_albert;
mod barbell;
mod base_graph;
mod complete;
mod d_cliques;
mod edges;
mod equi_dyn;
mod equi_static;
mod erdos_renyi;
mod exponential;
mod grid;
mod hypercube;
mod listed;
mod matcha;
mod members;
mod one_peer;
mod overlay_epoch;
mod overlay_spec;
mod own;
mod path;
mod periodic;
mod phases;
mod random_geometric;
mod random_matching;
mod random_waypoint;
mod rectangle;
mod redraw;
mod regular;
mod ring;
mod ring_plus_matching;
mod schedule;
mod shift;
mod size;
mod star;
mod stochastic_block;
mod torus;
mod unit_square;
mod virtual_rings;
mod watts_strogatz;

pub use balanced_tree::BalancedTree;
pub use barabasi_albert::BarabasiAlbert;
pub use barbell::Barbell;
pub use base_graph::BaseGraph;
pub use complete::Complete;
pub use d_cliques::{
    DCliques, HistogramNoise, InterClique, Leaders, NoiseScale, SmallWorld, clique_skew,
};
pub use edges::{Edges, parse_edge_list};
pub(crate) use edges::{of_file, parse_lines};
pub use equi_dyn::EquiDyn;
pub use equi_static::EquiStatic;
pub use erdos_renyi::{ErdosRenyi, Probability};
pub use exponential::Exponential;
pub use grid::Grid;
pub use hypercube::Hypercube;
pub use matcha::Matcha;
pub use members::{Members, Outside};
pub use one_peer::OnePeer;
pub use overlay_epoch::{OverlayEpoch, Snapshot};
pub use overlay_spec::SlowPart;
use overlay_spec::{Kind, OverlaySpec};
pub use own::{OverlayChange, OwnOverlay};
pub use path::Path;
pub use periodic::Periodic;
pub use phases::{Phase, Phases};
pub use random_geometric::RandomGeometric;
pub use random_matching::RandomMatching;
pub use random_waypoint::RandomWaypoint;
pub use redraw::Redraw;
pub use regular::Regular;
pub use ring::Ring;
pub use ring_plus_matching::RingPlusMatching;
use schedule::Schedule;
pub use schedule::Survey;
pub use size::OverlaySize;
pub use star::Star;
pub use stochastic_block::StochasticBlock;
pub use torus::Torus;
pub use virtual_rings::VirtualRings;
pub use watts_strogatz::WattsStrogatz;

/// Makes [`Topology`] of the overlays, each of which gives what its settings say of it as an [`OverlaySpec`].
macro_rules! overlays {
    ($($(#[$doc:meta])* $name:ident($settings:ty),)+) => {
        /// The overlays that can be asked for by name.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Topology {
            $($(#[$doc])* $name($settings),)+
        }

        impl Topology {
            fn spec(&self) -> &dyn OverlaySpec {
                match self {
                    $(Self::$name(settings) => settings,)+
                }
            }

            fn spec_mut(&mut self) -> &mut dyn OverlaySpec {
                match self {
                    $(Self::$name(settings) => settings,)+
                }
            }
        }
    };
}

overlays! {
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
    /// Neighbours differ in one bit of their numbers.
    Hypercube(Hypercube),
    /// Random shifts of a ring, weighed alike.
    EquiStatic(EquiStatic),
    /// A ring lattice with some edges rewired at random.
    WattsStrogatz(WattsStrogatz),
    /// Newcomers link to nodes that have many links.
    BarabasiAlbert(BarabasiAlbert),
    /// Communities, linked more among themselves than with each other.
    StochasticBlock(StochasticBlock),
    /// Nodes at random places, linked to those within reach.
    RandomGeometric(RandomGeometric),
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
    /// Nodes that move, linked to those within reach.
    RandomWaypoint(RandomWaypoint),
    /// Few links at a time, whose cycle takes the exact mean.
    BaseGraph(BaseGraph),
    /// A random shift of a ring in each round.
    EquiDyn(EquiDyn),
    /// Random matchings of the edges of an overlay, within a budget.
    Matcha(Matcha),
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
    /// do not connect the nodes, [`TopologyError::OneWay`] if they do, but not both ways.
    pub fn build<'a>(
        &self,
        nodes: impl Into<Nodes<'a>>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Overlay, TopologyError> {
        let nodes = nodes.into();
        check_nodes(nodes.count)?;
        let overlay = match self.spec().kind() {
            Kind::Fixed(fixed) => fixed.build(nodes, rng)?,
            Kind::Changing(_) => {
                let mut prepared = self.clone();
                prepared.prepare(nodes, rng)?;
                return Ok(prepared.epoch(1, nodes.count).build(nodes, rng)?.overlay);
            }
        };
        if overlay.is_directed()
            && overlay.is_connected()
            && let Some((from, to)) = overlay.one_way()
        {
            let topology = self.label();
            return Err(TopologyError::OneWay { topology, from, to });
        }
        if overlay.is_connected() {
            return Ok(overlay);
        }
        Err(TopologyError::Disconnected {
            topology: self.label(),
            nodes: nodes.count,
            components: overlay.components().len(),
        })
    }

    /// The overlay as a schedule, if it changes over time.
    fn schedule(&self) -> Option<&dyn Schedule> {
        match self.spec().kind() {
            Kind::Fixed(_) => None,
            Kind::Changing(schedule) => Some(schedule),
        }
    }

    /// A short name for tables and legends, with the parameters that are not the default.
    #[must_use]
    pub fn label(&self) -> String {
        self.spec().label()
    }

    /// The size of an overlay of `nodes` nodes. Parameters that do not fit are not refused here.
    #[must_use]
    pub fn size(&self, nodes: usize) -> OverlaySize {
        self.spec().size(nodes)
    }

    /// Whether a node may send to another one without hearing it. An overlay of a program's own
    /// [says it](OwnOverlay::is_directed).
    #[must_use]
    pub fn is_directed(&self) -> bool {
        self.spec().is_directed()
    }

    /// Whether its overlays bring weights of their own: those of every round do, or of none.
    #[must_use]
    pub fn prescribes_weights(&self) -> bool {
        self.spec().prescribes_weights()
    }

    /// Decides what all rounds have in common, such as the overlay of `matcha` whose edges take part by turns. It must be called
    /// before rounds of such an overlay are built, with the same stream whenever a run is planned; only random overlays
    /// draw from it.
    ///
    /// # Errors
    /// Those of [`Topology::check`] and [`Topology::build`].
    pub fn prepare<'a>(
        &mut self,
        nodes: impl Into<Nodes<'a>>,
        rng: &mut ChaCha8Rng,
    ) -> Result<(), TopologyError> {
        self.spec_mut().prepare(nodes.into(), rng)
    }

    /// `λ` of overlays of `nodes` nodes that are drawn independently in each round, `√‖E[WᵀW] − J‖` with the mixing matrix W of a
    /// round under `weights` and `J = 11ᵀ/N`: in the mean square, differences from the mean shrink by it in each exchange
    /// (`√(1 − p)` with the p of Koloskova et al., *A unified theory of decentralized SGD*, 2020). For `random_matching`, `equi_dyn`
    /// and `matcha` under the weights that they have if none are named; `None` otherwise. Call [`Topology::prepare`] before.
    ///
    /// # Errors
    /// [`TopologyError::Eigenvalues`], [`TopologyError::Unprepared`].
    pub fn lambda_of_draws(
        &self,
        weights: &Weights,
        nodes: usize,
    ) -> Result<Option<f64>, TopologyError> {
        match self.schedule() {
            Some(schedule) => schedule.lambda_of_draws(weights, nodes),
            None => Ok(None),
        }
    }

    /// Whether edges may go by the labels that nodes hold.
    #[must_use]
    pub fn reads_labels(&self) -> bool {
        self.spec().reads_labels()
    }

    /// What may take long before the edges among `nodes` are known, if anything does.
    #[must_use]
    pub fn slow_part(&self, nodes: Nodes<'_>) -> Option<SlowPart> {
        self.spec().slow_part(nodes)
    }
}
