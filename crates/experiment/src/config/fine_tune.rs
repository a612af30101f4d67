//! Local steps that a client makes from its model before the model is judged.

use meshfold_algorithms::training::{BatchSetting, Local, Training, one_epoch};
use meshfold_engine::{Draw, LearningRate, Sgd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fine-tuning: local steps of plain SGD on the client's training examples, from the client's model, at every evaluation anew.
///
/// Mini-batches are drawn from a stream of their own, the same at every evaluation.
///
/// # Source
/// Cheng, Chadha and Duchi, 2021 (arXiv 2108.07313), "FTFA".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FineTune {
    /// How long each client trains.
    #[serde(default = "one_epoch")]
    pub local: Local,
    /// Examples of a mini-batch, at most as many as the client has; `full` is all of them.
    pub batch_size: BatchSetting,
    /// The learning rate of these steps.
    pub learning_rate: f64,
}

impl FineTune {
    /// Models that are tuned at once where clients share models.
    pub(crate) const AT_ONCE: usize = 64;

    /// Rows that are tuned beside the models of the run, of which there are `rows` for `clients` clients.
    pub(crate) fn extra_rows(rows: usize, clients: usize) -> usize {
        match rows == clients {
            true => rows,
            false => Self::AT_ONCE.min(clients),
        }
    }

    /// The same as the keys of a method.
    pub(crate) fn training(&self) -> Training {
        Training {
            local: self.local,
            sgd: Sgd {
                learning_rate: LearningRate::Constant(self.learning_rate),
                momentum: 0.0,
                nesterov: false,
                weight_decay: 0.0,
                clip_norm: None,
                batch_size: self.batch_size.0,
                draw: Draw::Shuffled,
            },
        }
    }
}
