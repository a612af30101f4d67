//! The loss that a network's outputs are judged by.

use crate::kernels::{Outcome, cross_entropy, sigmoid_cross_entropy, squared_error};
use crate::model::{Model, Targets};

/// What the outputs of an example cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Softmax over one logit per class, and cross-entropy.
    CrossEntropy,
    /// One logit, that of the second of two classes, and cross-entropy.
    ///
    /// It is the softmax of two logits of which the first is zero.
    Sigmoid,
    /// Half the squared distance from the target.
    SquaredError(Targets),
}

impl Loss {
    /// The loss of `model` on examples of `classes` classes.
    pub(crate) fn of(model: &Model, classes: usize) -> Self {
        match model {
            Model::Linear(linear) => Self::SquaredError(linear.targets),
            Model::Dnn8(_) if classes == 2 => Self::Sigmoid,
            _ => Self::CrossEntropy,
        }
    }

    /// Outputs that examples of `classes` classes need.
    pub(crate) fn outputs(self, classes: usize) -> usize {
        match self {
            Self::CrossEntropy | Self::SquaredError(Targets::OneHot) => classes,
            Self::Sigmoid | Self::SquaredError(Targets::Value) => 1,
        }
    }

    /// Judges `outputs` `[rows, width]` against `labels` `[rows]`; with a `scale` the outputs become the gradient of
    /// the losses by them, times `scale`.
    #[inline(always)]
    pub(crate) fn judge(
        self,
        outputs: &mut [f32],
        labels: &[u16],
        width: usize,
        scale: Option<f32>,
    ) -> Outcome {
        match self {
            Self::CrossEntropy => cross_entropy(outputs, labels, width, scale),
            Self::Sigmoid => sigmoid_cross_entropy(outputs, labels, scale),
            Self::SquaredError(targets) => squared_error(outputs, labels, width, targets, scale),
        }
    }
}
