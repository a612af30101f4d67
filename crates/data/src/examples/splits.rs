//! Training and test examples of a dataset.

use std::sync::Arc;

use super::{Examples, Features, Windows};
use crate::Partition;

/// A dataset ready for use: what clients train on, and what models are judged by.
#[derive(Clone, Debug)]
pub struct Splits {
    /// Training examples, dealt to clients by a [`Partitioner`](crate::Partitioner).
    pub train: Arc<Examples>,
    /// Test examples, seen by evaluation alone.
    pub test: Arc<Examples>,
    /// Examples kept apart from training, by which settings may be chosen; none if the dataset was not asked for any.
    pub validation: Option<Arc<Examples>>,
}

impl Splits {
    /// Where the examples lie in their text, if they are of one: the training examples, then the test examples.
    pub fn windows(&self) -> Option<Windows> {
        match (self.train.features(), self.test.features()) {
            (Features::Tokens(train), Features::Tokens(test)) => Some(train.followed_by(test)),
            _ => None,
        }
    }

    /// The examples in the order that the indices of `partition` count.
    ///
    /// Where the partition [holds out](Partition::held_out) its own test set, the training examples are followed by the
    /// test examples, and the test examples are those held out; else nothing changes. The held-out examples stay among
    /// the training examples, of no client.
    ///
    /// # Panics
    /// If the partition holds out an example that there is not.
    pub fn apply_partition(self, partition: &Partition) -> Self {
        let Some(held_out) = partition.held_out() else {
            return self;
        };
        let pooled = self.train.followed_by(&self.test);
        Self {
            test: Arc::new(pooled.selected(held_out)),
            train: Arc::new(pooled),
            validation: self.validation,
        }
    }

    /// These with the training examples `kept` alone, in their order: see [`Partition::of_clients`]. Windows of a text go on to
    /// share the whole text.
    ///
    /// # Panics
    /// If there is no such example.
    pub fn keeping(self, kept: &[u32]) -> Self {
        Self {
            train: Arc::new(self.train.selected(kept)),
            ..self
        }
    }
}
