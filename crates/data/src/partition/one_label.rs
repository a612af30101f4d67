//! `one_label`: the hardest split, a single label per client.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::label_groups::by_label;
use super::{Labelled, PartitionError, Shard, Strategy, cut};

/// Client `i` holds only label `i mod C`; a label's examples are split equally among its clients.
///
/// # Interpretation
/// With fewer clients than classes the labels from `N` on belong to nobody. Which of a label's
/// clients gets which example is drawn at random.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OneLabel {
    /// Number of clients `N`.
    pub clients: usize,
}

impl Strategy for OneLabel {
    fn clients(&self) -> Option<usize> {
        Some(self.clients)
    }

    fn label(&self) -> String {
        "one label each".into()
    }

    fn check(&self, _examples: usize, _classes: usize) -> Result<(), PartitionError> {
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
        let mut shards = vec![Vec::new(); self.clients];
        for (label, mut group) in by_label(labels, classes).into_iter().enumerate() {
            let holders = (label..self.clients).step_by(classes);
            let asked = holders.len();
            if group.len() < asked {
                return Err(PartitionError::LabelTooSmall {
                    label,
                    asked,
                    available: group.len(),
                });
            }
            group.shuffle(rng);
            for (client, piece) in holders.zip(cut::pieces(&group, asked)) {
                shards[client] = piece.to_vec();
            }
        }
        Ok(Shard::all(shards))
    }
}
