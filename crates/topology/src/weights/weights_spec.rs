//! What the settings of mixing weights say of them.

use super::EdgeWeights;
use crate::{MixingMatrix, Overlay, TopologyError};
use rand_chacha::ChaCha8Rng;

/// What the settings of mixing weights say of them.
///
/// No function has a default: weights that leave one out do not compile. [`usual!`] gives the answers that most weights
/// have in common, each by its name.
pub(super) trait WeightsSpec {
    /// A short name for tables and legends, with the parameters that are not the default.
    fn label(&self) -> String;

    /// The N x N mixing matrix of an overlay of N nodes. Only random weights draw from `rng`.
    ///
    /// # Errors
    /// Parameters or an overlay for which the weights are not defined.
    fn matrix(
        &self,
        overlay: &Overlay,
        rng: &mut ChaCha8Rng,
    ) -> Result<MixingMatrix, TopologyError>;

    /// The distribution π over the nodes that mixing preserves, see [`Weights::stationary`](super::Weights::stationary).
    fn stationary(&self, overlay: &Overlay) -> Vec<f64>;

    /// Whether they are defined on directed overlays.
    fn suit_directed(&self) -> bool;

    /// Whether all rows of the matrix of a complete overlay are one mean, of which no weight is held one by one.
    fn is_mean_when_complete(&self) -> bool;

    /// Whether weights are drawn one by one: the matrix then takes more memory while it is made, and a page does without
    /// its eigenvalues.
    fn are_drawn(&self) -> bool;

    /// Whether they go by the examples that nodes hold.
    fn read_examples(&self) -> bool;

    /// What becomes of them where nodes or edges have failed.
    fn after_failures(&self) -> AfterFailures;

    /// Weights that are read from a file, with their dotted path below `weights`.
    fn list(&mut self) -> Option<(&'static str, &mut EdgeWeights)>;
}

/// What becomes of weights where nodes or edges have failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterFailures {
    /// They are made anew from the degrees left. Nodes that are all linked with each other share one row of equal weights.
    FromDegrees,
    /// They are made anew from degrees and examples. Nodes that are all linked with each other share one row, by their
    /// examples.
    FromExamples,
    /// Each edge keeps the one weight that all edges had.
    OneWeight,
    /// Each edge keeps its weight, and that of a lost neighbour goes to the diagonal.
    ToDiagonal,
}

/// The answers that most weights have in common.
///
/// - `symmetric`: π gives every node the same share, and the weights are not defined on directed overlays.
/// - `mean_when_complete`: all rows of the matrix of a complete overlay are one mean; `each_held`: they need not be.
/// - `not_drawn`: nothing is drawn.
/// - `ignore_examples`: weights do not go by examples.
/// - `no_list`: the settings name no file.
macro_rules! usual {
    (@ symmetric) => {
        fn stationary(&self, overlay: &$crate::Overlay) -> Vec<f64> {
            vec![1.0 / overlay.nodes() as f64; overlay.nodes()]
        }

        fn suit_directed(&self) -> bool {
            false
        }
    };
    (@ mean_when_complete) => {
        fn is_mean_when_complete(&self) -> bool {
            true
        }
    };
    (@ each_held) => {
        fn is_mean_when_complete(&self) -> bool {
            false
        }
    };
    (@ not_drawn) => {
        fn are_drawn(&self) -> bool {
            false
        }
    };
    (@ ignore_examples) => {
        fn read_examples(&self) -> bool {
            false
        }
    };
    (@ no_list) => {
        fn list(&mut self) -> Option<(&'static str, &mut $crate::EdgeWeights)> {
            None
        }
    };
    ($($answer:ident),+) => {
        $($crate::weights::weights_spec::usual!(@ $answer);)+
    };
}
pub(super) use usual;

/// The matrix of an overlay under weights that draw nothing, for tests.
#[cfg(test)]
pub(super) fn matrix_of(
    weights: &impl WeightsSpec,
    overlay: &Overlay,
) -> Result<MixingMatrix, TopologyError> {
    use rand::SeedableRng;
    weights.matrix(overlay, &mut ChaCha8Rng::seed_from_u64(1))
}
