//! What the rows of a stack are to do between two exchanges.

use super::schedule::LearningRate;
use super::trained_layers::TrainedLayers;
use meshfold_data::Partition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much local work a row does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// The row neither moves nor does its velocity: it is dead, or not chosen.
    Idle,
    /// So many mini-batch steps. With [`Draw::Shuffled`] the pass over the shard goes on over rounds.
    Steps(u32),
    /// So many passes over the shard, each in a fresh order, the last batch of a pass short.
    Epochs(u32),
}

impl Amount {
    /// How many steps or epochs these are; 0 if the row is idle.
    pub fn count(self) -> u32 {
        match self {
            Self::Idle => 0,
            Self::Steps(count) | Self::Epochs(count) => count,
        }
    }
}

/// One row's task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowWork {
    /// Whose examples the row trains on.
    pub client: u32,
    /// How long.
    pub amount: Amount,
}

impl RowWork {
    /// One step, if there is anything to do.
    pub(crate) fn one_step(&self) -> Self {
        let amount = match self.amount {
            Amount::Idle => Amount::Idle,
            Amount::Steps(_) | Amount::Epochs(_) => Amount::Steps(1),
        };
        Self { amount, ..*self }
    }
}

/// How many examples make a mini-batch. A shard smaller than that is one batch; drawn with replacement, a batch has no more draws than
/// the shard has examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSize {
    /// The whole shard.
    Full,
    /// At most so many examples, at least one.
    Size(u32),
}

/// How examples are drawn into batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Passes through a fresh permutation of the shard. The last batch of a pass has the examples that are left, and is a step like
    /// the others.
    #[default]
    Shuffled,
    /// Each example anew from the whole shard, so that one may come several times in a batch. A batch has `batch_size` draws, but no more
    /// than the client has examples; with `full` it has as many as these, a bootstrap sample of them. An epoch has as many batches as with
    /// `shuffled`.
    WithReplacement,
}

/// Mini-batch SGD in PyTorch's order: mean gradient, clip, plus `weight_decay * w`, plus correction and anchor,
/// `v <- momentum * v + g`, `w <- w - rate * v`. With Nesterov momentum the last is `w <- w - rate * (g + momentum * v)`.
///
/// # Source
/// PyTorch, `torch.optim.SGD` with `dampening=0`. Heavy-ball momentum is Polyak's; Nesterov's is that of Sutskever et al., On the
/// importance of initialization and momentum in deep learning (ICML 2013), (3) and (4), of which PyTorch keeps the iterates at which
/// gradients are taken, `θ + μ v`.
#[derive(Debug, Clone, PartialEq)]
pub struct Sgd {
    /// Step size.
    pub learning_rate: LearningRate,
    /// Momentum, in `[0, 1)`.
    pub momentum: f32,
    /// Whether the momentum is Nesterov's. Without momentum it has no effect.
    pub nesterov: bool,
    /// Weight decay, not negative.
    pub weight_decay: f32,
    /// Largest Euclidean norm of a mini-batch gradient over all parameters of a row.
    pub clip_norm: Option<f32>,
    /// Examples per step.
    pub batch_size: BatchSize,
    /// How batches are drawn.
    pub draw: Draw,
}

/// What the memory for local steps and judging depends on, besides models and examples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkloadSize<'a> {
    /// Rows that are trained at once.
    pub rows: usize,
    /// How they are trained.
    pub sgd: &'a Sgd,
    /// Examples of the largest batch.
    pub batch: usize,
    /// Test examples that models are judged on.
    pub tests: usize,
    /// Bytes of the examples as they are stored.
    pub stored: usize,
    /// Whether a correction or a pull is added to gradients.
    pub adds: bool,
}

/// What the rows of a stack are to do in one call, whatever is added to their gradients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tasks<'a> {
    /// Communication round, 1-based.
    pub(crate) round: usize,
    /// One entry per row.
    pub(crate) rows: &'a [RowWork],
    pub(crate) sgd: &'a Sgd,
    pub(crate) rate_scales: Option<&'a [f32]>,
    /// The layers that local steps move; all if absent.
    pub(crate) layers: Option<&'a TrainedLayers>,
}

impl Tasks<'_> {
    /// Examples of the largest batch of rows that are not idle; 0 if all are.
    pub(crate) fn largest_batch(&self, partition: &Partition) -> usize {
        let busy = self.rows.iter().filter(|work| work.amount != Amount::Idle);
        let batch = |work: &RowWork| {
            let shard = partition.shard(work.client as usize);
            self.sgd.batch_on(shard.len())
        };
        busy.map(batch).max().unwrap_or(0)
    }

    /// What the learning rate of row `row` is multiplied by.
    pub(crate) fn rate_scale(&self, row: usize) -> f32 {
        self.rate_scales.map_or(1.0, |scales| scales[row])
    }
}
