//! Overlays, mixing weights and their spectra.
//!
//! The crate knows nodes, edges and weights; it knows nothing of tensors, datasets or files. A [`Topology`] describes
//! an overlay as a configuration file does and builds an [`Overlay`]; [`Weights`] turn an overlay into a
//! [`MixingMatrix`]; [`Spectrum`] says how fast that matrix mixes and [`OverlaySummary`] is what is written of it.
//! Where overlays change over time, an [`OverlayEpoch`] builds a [`Snapshot`] of its rounds; [`Failures`] say what the
//! [`FailureState`] of a round is.
//!
//! ```
//! use meshfold_topology::{OverlaySummary, Ring, Topology, Weights};
//! use rand::SeedableRng;
//! use rand_chacha::ChaCha8Rng;
//!
//! let mut rng = ChaCha8Rng::seed_from_u64(1);
//! let overlay = Topology::Ring(Ring::default()).build(10, &mut rng)?;
//! let weights = Weights::default();
//! let matrix = weights.matrix(&overlay)?;
//! let (summary, _) = OverlaySummary::new(&overlay, &weights, &matrix)?;
//! assert!((summary.kappa.expect("the ring is connected") - 10.472).abs() < 1e-3);
//! # Ok::<(), meshfold_topology::TopologyError>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod clustering;
mod distances;
mod division;
mod edge_connectivity;
mod error;
mod failures;
mod joint_connectivity;
mod laplacian;
mod mixing_matrix;
mod nodes;
mod overlay;
pub mod picture;
pub mod protocol;
mod redacted;
mod spectrum;
mod summary;
mod topology;
mod weights;

pub use division::{DividedGraph, Division};
pub use error::TopologyError;
pub use failures::{
    Failure, FailureRedraw, FailureState, Failures, Loses, MessageLoss, Repair, Target,
};
pub use joint_connectivity::{GrowingUnion, rounds_to_connect};
pub use mixing_matrix::{Form, MixingMatrix};
pub use nodes::Nodes;
pub use overlay::{Neighbours, Overlay};
pub use redacted::redacted;
pub use spectrum::{
    DECAYS, DENSE_NODES, Differences, Spectrum, effective_neighbours, joint_lambda,
    largest_eigenvalue, rate_in_the_long_run,
};
pub use summary::{DegreeSummary, EffectiveNeighbours, OverlaySummary};
pub use topology::{
    BalancedTree, BarabasiAlbert, Barbell, BaseGraph, Complete, DCliques, Edges, EquiDyn,
    EquiStatic, ErdosRenyi, Exponential, Grid, HistogramNoise, Hypercube, InterClique, Leaders,
    Matcha, Members, NoiseScale, OnePeer, Outside, OverlayChange, OverlayEpoch, OverlaySize,
    OwnOverlay, Path, Periodic, Phase, Phases, Probability, RandomGeometric, RandomMatching,
    RandomWaypoint, Redraw, Regular, Ring, RingPlusMatching, SlowPart, SmallWorld, Snapshot, Star,
    StochasticBlock, Survey, Topology, Torus, VirtualRings, WattsStrogatz, clique_skew,
    parse_edge_list,
};
pub use weights::{
    ByExamples, EdgeWeights, Fastest, Laplacian, MaxDegree, MetropolisHastings, OwnWeights,
    Prescribed, Random, Uniform, WeightEntry, Weights, arriving_shares, column_stochastic,
    parse_weight_list,
};
