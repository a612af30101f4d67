//! `shards`: sorted by label and cut, so that most clients see few labels.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::label_groups::by_label;
use super::{Labelled, PartitionError, Shard, Strategy, cut};

/// The examples sorted by label, cut into equal shards, the shards dealt at random.
///
/// # Source
/// B. McMahan et al., "Communication-efficient learning of deep networks from decentralized data",
/// AISTATS 2017, section 3; D-Cliques, section 4.1.
///
/// # Interpretation
/// Within a label the examples keep the order of the file. Shards are equal up to one example and
/// cover everything, so a shard may span labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shards {
    /// Number of clients `N`.
    pub clients: usize,
    /// Shards of each client.
    #[serde(default = "two")]
    pub per_client: usize,
}

fn two() -> usize {
    2
}

impl Strategy for Shards {
    fn clients(&self) -> Option<usize> {
        Some(self.clients)
    }

    fn label(&self) -> String {
        format!("{} shards each", self.per_client)
    }

    fn check(&self, examples: usize, _classes: usize) -> Result<(), PartitionError> {
        let Self {
            clients,
            per_client,
        } = *self;
        if per_client == 0 {
            return Err(PartitionError::setting(
                "shards.per_client",
                0.0,
                "at least 1",
            ));
        }
        if clients.saturating_mul(per_client) > examples {
            return Err(PartitionError::TooManyShards {
                clients,
                per_client,
                examples,
            });
        }
        Ok(())
    }

    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Shard>, PartitionError> {
        let Labelled {
            labels, classes, ..
        } = examples;
        let sorted = by_label(labels, classes).concat();
        let mut shards: Vec<&[u32]> =
            cut::pieces(&sorted, self.clients * self.per_client).collect();
        shards.shuffle(rng);
        Ok(shards
            .chunks(self.per_client)
            .map(|shards| Shard::from(shards.concat()))
            .collect())
    }
}
