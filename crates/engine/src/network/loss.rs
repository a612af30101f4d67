//! The loss that a network's outputs are judged by.

use super::model::Targets;
use crate::kernels::{
    BatchScore, cross_entropy, cross_entropy_of_models, sigmoid_cross_entropy, squared_error,
};

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
    ) -> BatchScore {
        match self {
            Self::CrossEntropy => cross_entropy(outputs, labels, width, scale),
            Self::Sigmoid => sigmoid_cross_entropy(outputs, labels, scale),
            Self::SquaredError(targets) => squared_error(outputs, labels, width, targets, scale),
        }
    }

    /// Adds to `outcomes` `[models]` what several models' outputs for one example, `[width, models]`, amount to.
    #[inline(always)]
    pub(crate) fn judge_models(self, outputs: &[f32], label: u16, outcomes: &mut [BatchScore]) {
        if self == Self::CrossEntropy {
            cross_entropy_of_models(outputs, label, outcomes);
            return;
        }
        let models = outcomes.len();
        for (model, outcome) in outcomes.iter_mut().enumerate() {
            let mut own: Vec<f32> = outputs[model..].iter().step_by(models).copied().collect();
            let width = own.len();
            outcome.add(self.judge(&mut own, &[label], width, None));
        }
    }
}
