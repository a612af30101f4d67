//! Overlays, mixing weights and their spectra.
//!
//! The crate knows nodes, edges and weights; it knows nothing of tensors, datasets or files. A [`Topology`] describes
//! an overlay as a configuration file does and builds an [`Overlay`]; [`Weights`] turn an overlay into a
//! [`MixingMatrix`]; [`Spectrum`] says how fast that matrix mixes and [`OverlaySummary`] is what is written of it.
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

mod edge_connectivity;
mod error;
mod mixing_matrix;
mod nodes;
mod overlay;
pub mod protocol;
mod spectrum;
mod summary;
mod topology;
mod weights;

pub use error::TopologyError;
pub use mixing_matrix::{Form, MixingMatrix};
pub use nodes::Nodes;
pub use overlay::Overlay;
pub use spectrum::{DENSE_NODES, Spectrum};
pub use summary::{DegreeSummary, OverlaySummary};
pub use topology::{
    BalancedTree, Barbell, Complete, Edges, ErdosRenyi, Exponential, Grid, Path, Probability,
    Regular, Ring, RingPlusMatching, Star, Topology, Torus, VirtualRings, WattsStrogatz,
    parse_edge_list,
};
pub use weights::{Laplacian, MaxDegree, MetropolisHastings, Uniform, Weights};
