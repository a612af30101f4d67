//! Mixing weights as a configuration names them.
//!
//! To add weights, write one file below `weights/` and add its lines here: `mod`, `pub use`, a variant, and an arm of
//! `draw`, `label`, `stationary` and `is_mean_when_complete`; `lib.rs` exports them. None of these matches has a
//! wildcard, so that the compiler names what is missing.

use crate::{MixingMatrix, Overlay, Topology, TopologyError};
use meshfold_own::OwnPart;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod by_examples;
mod column_stochastic;
mod edge_weights;
mod fastest;
mod laplacian;
mod max_degree;
mod metropolis_hastings;
mod own;
mod random;
mod surviving;
mod uniform;

pub use by_examples::ByExamples;
pub use column_stochastic::column_stochastic;
pub use edge_weights::{EdgeWeights, WeightEntry, parse_weight_list};
pub use fastest::Fastest;
pub use laplacian::Laplacian;
pub use max_degree::MaxDegree;
pub use metropolis_hastings::MetropolisHastings;
pub use own::OwnWeights;
pub use random::Random;
pub use uniform::Uniform;

/// How much each node's row counts with its neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Weights {
    /// Pairs weigh each other by the larger of their degrees.
    MetropolisHastings(MetropolisHastings),
    /// Every edge weighs the same, by the largest degree.
    MaxDegree(MaxDegree),
    /// Every edge weighs the same, by the Laplacian's spectrum.
    Laplacian(Laplacian),
    /// A node takes the plain mean of itself and its neighbours.
    Uniform(Uniform),
    /// A node takes the mean over the examples that it and its neighbours hold.
    ByExamples(ByExamples),
    /// Every edge weighs what it draws.
    Random(Random),
    /// The weights that mix fastest.
    Fastest(Fastest),
    /// Those that a file gives each edge.
    Edges(EdgeWeights),
    /// Weights of a program's own.
    Own(OwnPart<dyn OwnWeights>),
}

impl Default for Weights {
    fn default() -> Self {
        Self::MetropolisHastings(MetropolisHastings {})
    }
}

impl Weights {
    /// The weights that suit the overlays of `topology`, where none are named.
    #[must_use]
    pub fn suited_to(topology: &Topology) -> Self {
        match topology {
            // Directed overlays have no symmetric weights.
            Topology::OnePeer(_) => Self::Uniform(Uniform {}),
            _ => Self::default(),
        }
    }

    /// The N x N mixing matrix of an overlay of N nodes.
    ///
    /// Where all weights are equal (a complete overlay under all but a chosen θ), it has the form
    /// [`Form::Average`](crate::Form::Average). Weights that are drawn take the stream of seed 0, see [`Weights::draw`].
    ///
    /// # Errors
    /// From `laplacian`, [`TopologyError::Theta`] and [`TopologyError::Eigenvalues`]. From `by_examples`,
    /// [`TopologyError::UnknownExamples`] and [`TopologyError::NoExamples`]. From `fastest`,
    /// [`TopologyError::FastestSize`], [`TopologyError::FastestGap`] and [`TopologyError::Eigenvalues`]. From `edges`,
    /// [`TopologyError::MissingWeight`], [`TopologyError::WeightOfNoEdge`], [`TopologyError::AsymmetricWeights`] and
    /// [`TopologyError::OwnWeight`].
    /// [`TopologyError::Directed`] if the overlay is directed and the weights are not `uniform`.
    pub fn matrix(&self, overlay: &Overlay) -> Result<MixingMatrix, TopologyError> {
        self.draw(overlay, &mut ChaCha8Rng::seed_from_u64(0))
    }

    /// [`Weights::matrix`] with a stream for weights that are drawn; the others leave `rng` alone.
    ///
    /// # Errors
    /// As [`Weights::matrix`].
    pub fn draw(
        &self,
        overlay: &Overlay,
        rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError> {
        if overlay.is_directed() && !matches!(self, Self::Uniform(_)) {
            return Err(TopologyError::Directed {
                weights: self.label(),
            });
        }
        match self {
            Self::MetropolisHastings(metropolis_hastings) => metropolis_hastings.matrix(overlay),
            Self::MaxDegree(max_degree) => max_degree.matrix(overlay),
            Self::Laplacian(laplacian) => laplacian.matrix(overlay),
            Self::Uniform(uniform) => uniform.matrix(overlay),
            Self::ByExamples(by_examples) => by_examples.matrix(overlay),
            Self::Random(random) => random.matrix(overlay, rng),
            Self::Fastest(fastest) => fastest.matrix(overlay),
            Self::Edges(edges) => edges.matrix(overlay),
            Self::Own(own) => own::matrix(own, overlay, rng),
        }
    }

    /// A short name for tables and legends, with the parameters that are not the default.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::MetropolisHastings(_) => "metropolis_hastings".to_owned(),
            Self::MaxDegree(_) => "max_degree".to_owned(),
            Self::Laplacian(laplacian) => laplacian.label(),
            Self::Uniform(_) => "uniform".to_owned(),
            Self::ByExamples(_) => "by_examples".to_owned(),
            Self::Random(_) => "random".to_owned(),
            Self::Fastest(fastest) => fastest.label(),
            Self::Edges(edges) => edges.label(),
            Self::Own(own) => {
                let label = own.part().label();
                label.unwrap_or_else(|| own.name().to_owned())
            }
        }
    }

    /// Whether all rows of the matrix of a complete overlay are one mean, of which no weight is held one by one.
    pub(crate) fn is_mean_when_complete(&self) -> bool {
        match self {
            Self::MetropolisHastings(_)
            | Self::MaxDegree(_)
            | Self::Uniform(_)
            | Self::ByExamples(_)
            | Self::Fastest(_) => true,
            Self::Laplacian(laplacian) => laplacian.is_mean_when_complete(),
            // Those of a program's own may have any form.
            Self::Random(_) | Self::Edges(_) | Self::Own(_) => false,
        }
    }

    /// The distribution π over the nodes that mixing preserves, `πᵀ W = πᵀ`: `Σ π_i w_i` is the same before and after.
    ///
    /// It also makes W similar to the symmetric `Π^{1/2} W Π^{-1/2}`, by which its eigenvalues are found. For undirected
    /// overlays. NaN for `by_examples` on an overlay that does not know its examples.
    #[must_use]
    pub fn stationary(&self, overlay: &Overlay) -> Vec<f64> {
        match self {
            Self::MetropolisHastings(_)
            | Self::MaxDegree(_)
            | Self::Laplacian(_)
            | Self::Random(_)
            | Self::Fastest(_)
            | Self::Edges(_) => {
                vec![1.0 / overlay.nodes() as f64; overlay.nodes()]
            }
            Self::Uniform(uniform) => uniform.stationary(overlay),
            Self::ByExamples(by_examples) => by_examples.stationary(overlay),
            Self::Own(own) => own.part().stationary(overlay),
        }
    }
}

/// The matrix in which every node of an overlay has the same weight 1/N.
fn equal(overlay: &Overlay) -> Result<MixingMatrix, TopologyError> {
    let nodes = overlay.nodes();
    MixingMatrix::average(nodes, vec![1.0 / nodes as f64; nodes])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;

    #[test]
    fn a_complete_overlay_has_equal_weights_in_one_row() {
        let complete =
            Overlay::from_edges(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]).unwrap();
        let theta_star = Laplacian { theta: None };
        for weights in [
            Weights::default(),
            Weights::MaxDegree(MaxDegree {}),
            Weights::Laplacian(theta_star),
            Weights::Uniform(Uniform {}),
        ] {
            assert_eq!(
                weights.matrix(&complete).unwrap().form(),
                Form::Average(&[0.25; 4]),
                "{}",
                weights.label()
            );
        }
    }

    #[test]
    fn weights_of_a_star_are_as_defined() {
        let star = Overlay::from_edges(3, [(0, 1), (0, 2)]).unwrap();
        let rows = |weights: Weights| -> Vec<Vec<f64>> {
            let matrix = weights.matrix(&star).unwrap();
            (0..3)
                .map(|i| (0..3).map(|j| matrix.weight(i, j)).collect())
                .collect()
        };
        let third = 1.0 / 3.0;
        let close = |found: Vec<Vec<f64>>, expected: [[f64; 3]; 3]| {
            let pairs = found.iter().flatten().zip(expected.iter().flatten());
            assert!(
                pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-14),
                "{found:?}"
            );
        };
        let mh = [
            [third; 3],
            [third, 2.0 * third, 0.0],
            [third, 0.0, 2.0 * third],
        ];
        close(rows(Weights::default()), mh);
        close(rows(Weights::MaxDegree(MaxDegree {})), mh);
        close(
            rows(Weights::Uniform(Uniform {})),
            [[third; 3], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]],
        );
        // The Laplacian of the star of 3 has eigenvalues 0, 1, 3: θ* = 1/3 and I - L/2.
        close(
            rows(Weights::Laplacian(Laplacian { theta: None })),
            [[0.0, 0.5, 0.5], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]],
        );
    }
}
