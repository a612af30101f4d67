//! The quantities of the papers' bounds that a run may be asked to measure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A quantity that is recorded when asked for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TheoryQuantity")]
pub enum Quantity {
    /// δ² of DFedRW, Definition 1, at the mean model: the mean over clients alive of `‖∇F_i‖²` over `‖∇f‖²`.
    ///
    /// # Interpretation
    /// `F_i` is the mean loss of client `i` on all its examples, and `f` the plain mean of the `F_i` of the clients alive. Both are without
    /// weight decay.
    Dissimilarity,
    /// γ of DFedRW, Definition 2: mean and largest `‖∇F_i(w_i^{t+1})‖ / ‖∇F_i(w_i^t)‖` over the clients alive.
    ///
    /// # Interpretation
    /// `w_i^{t+1}` is the client's model after the whole round, its exchange included. `F_i` is that of `dissimilarity`.
    Inexactness,
    /// `‖∇f‖` at the mean model, and the mean of `‖∇F_i‖` there.
    ///
    /// # Interpretation
    /// `f` and `F_i` are those of `dissimilarity`, without weight decay: a method with weight decay does not bring this norm to zero.
    GradientNorm,
    /// `f` at the mean model: the loss on the training examples by which theorems judge.
    ///
    /// # Interpretation
    /// `f` is that of `dissimilarity`, without weight decay.
    MeanModelLoss,
    /// Mean and largest skew of the cliques of the round's overlay, D-Cliques (3).
    ///
    /// # Interpretation
    /// Members that have failed count as the others do.
    CliqueSkew,
    /// Accuracy and loss of the weighted average of the mean models over the rounds so far.
    ///
    /// # Source
    /// DFedRW (15), weights `η`; P-FedAvg (10), weights `(t + γ)²`, where the method is `p_fedavg` and the learning
    /// rate `harmonic`.
    ///
    /// # Interpretation
    /// A round counts once, with the rate of its first step, or `t` as it stands after the round; steps and epochs are
    /// those that were due. The models of a round are those after it, so the first models do not count. Accuracy and loss are on the test
    /// examples.
    AveragedIterates,
    /// Γ of P-FedAvg, Assumption 6: how far the least loss of all is above the mean of the clients' own least losses. Of the
    /// model `linear`, whose least losses are those of least squares, and of `logistic` where the method's `weight_decay`
    /// is positive. Those are searched for, and `non_iid_degree_error` says how far from Γ the figure is at most, in
    /// nats: a millionth, unless a search ends before.
    ///
    /// # Interpretation
    /// A client of server `i` counts `1/(M N_i)`, as printed, and with `weighting: examples` of `p_fedavg` its share of all examples, as
    /// its loss does in (2); without servers all count alike. Losses are those of all
    /// the client's examples, whether clients are alive or not. Those of `linear` are without weight decay. Those of
    /// `logistic` have `λ/2 ‖w‖²` besides, biases included, as the steps have: without it, examples that planes separate
    /// have no least loss, and P-FedAvg's Assumption 2 does not hold.
    NonIidDegree,
    /// The bound of the theorem about the method beside what it bounds, of the model `logistic` with a positive `weight_decay`.
    /// `decefl`: `disagreement`, `√(Σ ‖w_k − w̄‖²)`, and `distance_to_minimum`, `‖w̄ − w*‖`. `dfedrw` (of `rows: walkers`) and
    /// `p_fedavg`: `excess_loss`, how far the training loss of the averaged iterates is above the least. Bounds have the same names with
    /// `_bound`. The theorem's constants are recorded beside them (`smoothness` L, `convexity` μ, `lambda`, `consensus_rate` p or
    /// `walk_lambda` λ_P, ...); all are computed or proven from the examples.
    ///
    /// # Source
    /// DeceFL (Yuan et al.), Theorem 1; P-FedAvg (Liu et al.), Theorems 1 and 2; DFedRW (Wang et al.), Theorem 1.
    ///
    /// # Interpretation
    /// A run that the theorem does not speak of is refused, before it begins where that depends on the examples (L). L is
    /// half of the largest eigenvalue of `(1/n) Σ x xᵀ` of any client, and the weight decay μ. Gradients and their variance
    /// are bounded by the examples' norms, as `‖p − y‖² ≤ 2`.
    Bound,
}

impl Quantity {
    /// Whether it is computed from all training examples before the first round.
    pub(crate) fn is_of_examples(self) -> bool {
        matches!(self, Self::NonIidDegree | Self::Bound)
    }

    /// The name in a configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dissimilarity => "dissimilarity",
            Self::Inexactness => "inexactness",
            Self::GradientNorm => "gradient_norm",
            Self::MeanModelLoss => "mean_model_loss",
            Self::CliqueSkew => "clique_skew",
            Self::AveragedIterates => "averaged_iterates",
            Self::NonIidDegree => "non_iid_degree",
            Self::Bound => "bound",
        }
    }
}
