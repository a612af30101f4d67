//! Accuracy and loss of models.

use crate::kernels::BatchScore;

/// Which examples models are judged on.
#[derive(Debug, Clone, Copy)]
pub enum Split<'a> {
    /// The test set.
    Test,
    /// The examples kept apart for validation.
    Validation,
    /// The whole training set.
    Train,
    /// For row `i` the training shard of client `clients[i]`.
    Shards(&'a [u32]),
    /// For row `i` the [local test set](meshfold_data::Partition::local_test) of client `clients[i]`. The score on an empty one is 0.
    LocalTests(&'a [u32]),
}

/// How well one model does.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Score {
    /// Mean loss: cross-entropy in nats, or half the squared error of a linear model.
    pub loss: f64,
    /// Share of examples whose largest output is that of their label. Where the one output of a linear model stands for
    /// the label, share of examples with `|output − label| < ½`.
    pub accuracy: f64,
}

impl Split<'_> {
    /// The clients whose own examples these are, `[R]`, if they are anybody's own.
    pub(crate) fn clients(&self) -> Option<&[u32]> {
        match self {
            Self::Shards(clients) | Self::LocalTests(clients) => Some(clients),
            Self::Test | Self::Validation | Self::Train => None,
        }
    }
}

impl Score {
    pub(crate) fn of(outcomes: impl Iterator<Item = BatchScore>, examples: usize) -> Self {
        let (mut loss, mut correct) = (0.0, 0u64);
        for outcome in outcomes {
            loss += outcome.loss;
            correct += u64::from(outcome.correct);
        }
        let examples = examples.max(1) as f64;
        Self {
            loss: loss / examples,
            accuracy: correct as f64 / examples,
        }
    }
}
