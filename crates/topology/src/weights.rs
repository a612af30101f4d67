//! Mixing weights as a configuration names them. To add some: ARCHITECTURE.md, "Adding mixing weights".

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
mod prescribed;
mod random;
mod surviving;
mod uniform;
mod weights_spec;

pub use by_examples::ByExamples;
pub use column_stochastic::{arriving_shares, column_stochastic};
pub use edge_weights::{EdgeWeights, WeightEntry, parse_weight_list};
pub use fastest::Fastest;
pub use laplacian::Laplacian;
pub use max_degree::MaxDegree;
pub use metropolis_hastings::MetropolisHastings;
pub use own::OwnWeights;
pub(crate) use own::fault;
pub use prescribed::Prescribed;
pub use random::Random;
pub use uniform::Uniform;
use weights_spec::{AfterFailures, WeightsSpec};

/// Makes [`Weights`] of the weights, each of which gives what its settings say of it as a [`WeightsSpec`].
macro_rules! weights {
    ($($(#[$doc:meta])* $name:ident($settings:ty),)+) => {
        /// How much each node's row counts with its neighbours.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Weights {
            $($(#[$doc])* $name($settings),)+
        }

        impl Weights {
            fn spec(&self) -> &dyn WeightsSpec {
                match self {
                    $(Self::$name(settings) => settings,)+
                }
            }

            fn spec_mut(&mut self) -> &mut dyn WeightsSpec {
                match self {
                    $(Self::$name(settings) => settings,)+
                }
            }
        }
    };
}

weights! {
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
    /// Those that the overlay brings.
    Prescribed(Prescribed),
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
        match topology.prescribes_weights() {
            true => Self::Prescribed(Prescribed {}),
            false => Self::usual(topology.is_directed()),
        }
    }

    /// The weights that suit overlays which bring none.
    pub(crate) fn usual(is_directed: bool) -> Self {
        match is_directed {
            // Directed overlays have no symmetric weights.
            true => Self::Uniform(Uniform {}),
            false => Self::default(),
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
    /// From `prescribed`, [`TopologyError::NotPrescribed`].
    /// [`TopologyError::Directed`] if the overlay is directed and the weights are neither `uniform` nor `prescribed` nor a program's own
    /// for such overlays.
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
        if overlay.is_directed() && !self.spec().suit_directed() {
            return Err(TopologyError::Directed {
                weights: self.label(),
            });
        }
        self.spec().matrix(overlay, rng)
    }

    /// A short name for tables and legends, with the parameters that are not the default.
    #[must_use]
    pub fn label(&self) -> String {
        self.spec().label()
    }

    /// Whether weights may go by the examples that nodes hold.
    #[must_use]
    pub fn read_examples(&self) -> bool {
        self.spec().read_examples()
    }

    /// Whether weights are drawn one by one.
    #[must_use]
    pub fn are_drawn(&self) -> bool {
        self.spec().are_drawn()
    }

    /// Whether they are those that the overlay brings.
    #[must_use]
    pub fn are_prescribed(&self) -> bool {
        matches!(self, Self::Prescribed(_))
    }

    /// Whether the nodes that failures leave of a complete overlay share one row of weights.
    #[must_use]
    pub fn share_a_row_after_failures(&self) -> bool {
        match self.spec().after_failures() {
            AfterFailures::FromDegrees | AfterFailures::FromExamples => true,
            AfterFailures::OneWeight | AfterFailures::ToDiagonal => false,
        }
    }

    /// The weights that are read from a file, with their dotted path below `weights`: for whoever reads the file.
    pub fn list_mut(&mut self) -> Option<(&'static str, &mut EdgeWeights)> {
        self.spec_mut().list()
    }

    /// Whether all rows of the matrix of a complete overlay are one mean, of which no weight is held one by one.
    pub(crate) fn is_mean_when_complete(&self) -> bool {
        self.spec().is_mean_when_complete()
    }

    /// The distribution π over the nodes that mixing preserves, `πᵀ W = πᵀ`: `Σ π_i w_i` is the same before and after.
    ///
    /// It also makes W similar to the symmetric `Π^{1/2} W Π^{-1/2}`, by which its eigenvalues are found. For undirected
    /// overlays. NaN for `by_examples` on an overlay that does not know its examples.
    #[must_use]
    pub fn stationary(&self, overlay: &Overlay) -> Vec<f64> {
        self.spec().stationary(overlay)
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
    fn what_weights_say_of_themselves_holds() {
        let pairs = |nodes: u32| (0..nodes).flat_map(|a| (0..a).map(move |b| (a, b)));
        let examples: Vec<u64> = (1..=8).collect();
        let complete = Overlay::from_edges(8, pairs(8)).unwrap();
        let complete = complete.with_examples(examples.clone()).unwrap();
        let without_one = Overlay::from_edges(8, pairs(7)).unwrap();
        let without_one = without_one.with_examples(examples).unwrap();
        let path = Overlay::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let path = path.with_examples(vec![1, 2, 3]).unwrap();
        let weighed = |overlay: Overlay| {
            let matrix = MixingMatrix::over_neighbours(&overlay, |_, _| 0.1, |_, sum| 1.0 - sum);
            overlay.with_weights(matrix).unwrap()
        };
        let (complete, path) = (weighed(complete), weighed(path));
        let other_examples = path.clone().with_examples(vec![3, 2, 2]).unwrap();
        for text in [
            r#"{"metropolis_hastings": {}}"#,
            r#"{"max_degree": {}}"#,
            r#"{"laplacian": {}}"#,
            r#"{"laplacian": {"theta": 0.5}}"#,
            r#"{"uniform": {}}"#,
            r#"{"by_examples": {}}"#,
            r#"{"random": {}}"#,
            r#"{"fastest": {}}"#,
            r#"{"prescribed": {}}"#,
        ] {
            let weights: Weights = serde_json::from_str(text).unwrap();
            let is_mean = matches!(weights.matrix(&complete).unwrap().form(), Form::Average(_));
            assert_eq!(weights.is_mean_when_complete(), is_mean, "{text}");
            let mut rng = ChaCha8Rng::seed_from_u64(0);
            let matrix = weights.draw(&path, &mut rng).unwrap();
            assert_eq!(weights.are_drawn(), rng.get_word_pos() > 0, "{text}");
            let others = weights.matrix(&other_examples).unwrap();
            assert_eq!(weights.read_examples(), matrix != others, "{text}");
            let whole = weights.matrix(&complete).unwrap();
            let left = weights.surviving(&complete, &whole, &without_one).unwrap();
            // A row of so many weights, and one weight for each node.
            let is_shared = left.stored_weights() <= 2 * complete.nodes();
            assert_eq!(weights.share_a_row_after_failures(), is_shared, "{text}");
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
