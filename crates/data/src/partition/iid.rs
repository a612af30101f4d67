//! `iid`: every client gets a uniform sample.

use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Labelled, PartitionError, Shard, Strategy, at_random, cut};

/// All examples, shuffled and cut into parts whose sizes differ by at most one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Iid {
    /// Number of clients `N`.
    pub clients: usize,
}

impl Strategy for Iid {
    fn clients(&self) -> Option<usize> {
        Some(self.clients)
    }

    fn label(&self) -> String {
        "iid".into()
    }

    fn reads_labels(&self) -> bool {
        false
    }

    fn check(&self, _examples: usize, _classes: usize) -> Result<(), PartitionError> {
        Ok(())
    }

    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Shard>, PartitionError> {
        let size = |client| cut::range(examples.examples, self.clients, client).len();
        Ok(at_random::deal(examples, (0..self.clients).map(size), rng))
    }
}
