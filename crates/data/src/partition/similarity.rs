//! `similarity`: a share of every client's data is common, the rest is of few labels.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::label_groups::by_label;
use super::{Labelled, PartitionError, Shard, Strategy, cut};

/// `percent` % of the examples are dealt iid; the rest is cut within each label into
/// `N * shards_per_client / C` shards, of which every client gets `shards_per_client` at random.
///
/// # Source
/// DFedRW, section VI-A, "deterministic partitioning" (20 devices, 10 labels of four shards).
///
/// # Interpretation
/// The pool is drawn from all examples without regard to labels. Where `N * shards_per_client / C`
/// is not whole, some labels have one shard more than others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Similarity {
    /// Number of clients `N`.
    pub clients: usize,
    /// Share of the examples that is dealt iid, in per cent (the paper's u).
    pub percent: f64,
    /// Shards of single labels that each client gets.
    #[serde(default = "two")]
    pub shards_per_client: usize,
}

fn two() -> usize {
    2
}

impl Strategy for Similarity {
    fn clients(&self) -> Option<usize> {
        Some(self.clients)
    }

    fn label(&self) -> String {
        format!("similarity {} %", self.percent)
    }

    fn check(&self, examples: usize, classes: usize) -> Result<(), PartitionError> {
        if !(0.0..=100.0).contains(&self.percent) {
            return Err(PartitionError::setting(
                "similarity.percent",
                self.percent,
                "0 to 100",
            ));
        }
        let (clients, per_client) = (self.clients, self.shards_per_client);
        let shards = clients.saturating_mul(per_client);
        if self.pooled(examples) < examples && shards < classes {
            let least = classes.div_ceil(clients);
            let needed = format!("at least {least} (a shard for each of {classes} labels)");
            return Err(PartitionError::setting(
                "similarity.shards_per_client",
                per_client as f64,
                needed,
            ));
        }
        if shards > examples {
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
        let mut examples: Vec<u32> = (0..labels.len() as u32).collect();
        examples.shuffle(rng);
        let (pool, rest) = examples.split_at(self.pooled(labels.len()));
        let mut clients: Vec<Vec<u32>> = cut::pieces(pool, self.clients)
            .map(<[u32]>::to_vec)
            .collect();
        if rest.is_empty() {
            return Ok(Shard::all(clients));
        }
        let rest_labels: Vec<u16> = rest.iter().map(|&e| labels[e as usize]).collect();
        let groups = by_label(&rest_labels, classes);
        let mut shards: Vec<&[u32]> = Vec::with_capacity(self.clients * self.shards_per_client);
        for (label, group) in groups.iter().enumerate() {
            let count = cut::range(self.clients * self.shards_per_client, classes, label).len();
            shards.extend(cut::pieces(group, count));
        }
        shards.shuffle(rng);
        for (client, shards) in clients
            .iter_mut()
            .zip(shards.chunks(self.shards_per_client))
        {
            // The groups hold positions within the rest.
            client.extend(
                shards
                    .iter()
                    .flat_map(|s| s.iter())
                    .map(|&at| rest[at as usize]),
            );
        }
        Ok(Shard::all(clients))
    }
}

impl Similarity {
    /// How many of `examples` are dealt iid.
    fn pooled(&self, examples: usize) -> usize {
        (examples as f64 * self.percent / 100.0).round() as usize
    }
}
