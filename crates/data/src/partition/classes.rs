//! `classes`: a fixed number of labels per client.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::apportion::{apportion, hand_out};
use super::label_groups::by_label;
use super::{Labelled, PartitionError, Shard, Strategy};

/// Every client holds `per_client` distinct labels; a label's examples are split among its holders.
///
/// # Interpretation
/// Labels are dealt like cards from shuffled packs of all `C`, so that every label has nearly the
/// same number of holders. A label that no client holds belongs to nobody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Classes {
    /// Number of clients `N`.
    pub clients: usize,
    /// Labels of each client.
    pub per_client: usize,
    /// How a label's examples are split among its holders.
    #[serde(default)]
    pub sizes: ClassSizes,
}

/// How a label's examples are split among the clients that hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClassSizes {
    /// In equal parts.
    #[default]
    Equal,
    /// In proportion to 1/rank (Zipf's law), each at least one. The ranks are one random order of
    /// all clients, so a client that is large is large in all its labels.
    PowerLaw,
}

impl Strategy for Classes {
    fn clients(&self) -> Option<usize> {
        Some(self.clients)
    }

    fn label(&self) -> String {
        let sizes = match self.sizes {
            ClassSizes::Equal => "",
            ClassSizes::PowerLaw => ", power law",
        };
        format!("{} labels each{sizes}", self.per_client)
    }

    fn check(&self, _examples: usize, classes: usize) -> Result<(), PartitionError> {
        if self.per_client == 0 || self.per_client > classes {
            let found = self.per_client as f64;
            let needed = format!("1 to {classes}, the number of classes,");
            return Err(PartitionError::setting("classes.per_client", found, needed));
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
        let holders = self.holders(classes, rng);
        let weights = self.weights(rng);
        let mut shards = vec![Vec::new(); self.clients];
        for (label, mut group) in by_label(labels, classes).into_iter().enumerate() {
            let holders = &holders[label];
            if group.len() < holders.len() {
                return Err(PartitionError::LabelTooSmall {
                    label,
                    asked: holders.len(),
                    available: group.len(),
                });
            }
            if holders.is_empty() {
                continue;
            }
            group.shuffle(rng);
            let weights: Vec<f64> = holders.iter().map(|&client| weights[client]).collect();
            let sizes = apportion(group.len(), &weights, 1);
            hand_out(&group, holders.iter().copied(), sizes, &mut shards);
        }
        Ok(Shard::all(shards))
    }
}

impl Classes {
    /// The clients that hold each label, `[C][..]`.
    fn holders(&self, classes: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<usize>> {
        let mut holders: Vec<Vec<usize>> = vec![Vec::new(); classes];
        let mut pack: Vec<usize> = Vec::new();
        for client in 0..self.clients {
            let mut hand: Vec<usize> = Vec::with_capacity(self.per_client);
            while hand.len() < self.per_client {
                match pack.iter().rposition(|label| !hand.contains(label)) {
                    Some(position) => hand.push(pack.remove(position)),
                    None => {
                        // What the client holds already stays on top for the next one.
                        let mut fresh: Vec<usize> = (0..classes).collect();
                        fresh.shuffle(rng);
                        pack.splice(0..0, fresh);
                    }
                }
            }
            for label in hand {
                holders[label].push(client);
            }
        }
        holders
    }

    /// The relative size of each client, `[N]`.
    fn weights(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        match self.sizes {
            ClassSizes::Equal => vec![1.0; self.clients],
            ClassSizes::PowerLaw => {
                let mut ranks: Vec<usize> = (1..=self.clients).collect();
                ranks.shuffle(rng);
                ranks.into_iter().map(|rank| 1.0 / rank as f64).collect()
            }
        }
    }
}
