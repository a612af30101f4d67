//! `two_label_power_law`: two labels per client, heavy-tailed numbers of examples, and a tenth of every client's
//! examples as the test set.

use std::mem;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::apportion::lognormal;
use super::label_groups::by_label;
use super::{Labelled, PartitionError, Shard, Strategy};

/// Client `u` holds the labels `u mod C` and `(u + 1) mod C`: first 5 examples of each, then a share of what remains of
/// it. The shares of a label over its holders are proportional to draws of the lognormal distribution of the standard
/// normal times 2. Training and test examples are pooled; every client keeps 90 % of what it holds for training, and
/// the held-out tenths together are the test set.
///
/// # Source
/// MNIST of P-FedAvg (section VII-A: 69,035 images, 1000 clients, two digits each), which takes it from FedProx: T. Li
/// et al., "Federated optimization in heterogeneous networks", MLSys 2020, `data/mnist/generate_niid.py`.
///
/// # Interpretation
/// As there, the examples of a label go to its clients in ascending order, in the order of the files, training examples
/// first; shares are rounded down, so that a few examples of each label belong to nobody; the tenth is drawn at random
/// and rounded up. A share that no longer fits is dropped, which rounding down leaves to floating point errors. For
/// other numbers of clients than a multiple of `C`, a label's shares are taken over the clients that there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TwoLabelPowerLaw {
    /// Number of clients `N`.
    pub clients: usize,
}

impl Default for TwoLabelPowerLaw {
    fn default() -> Self {
        Self { clients: 1000 }
    }
}

/// Labels of each client.
const LABELS: usize = 2;
/// Examples of each of its labels that every client has.
const FIRST: usize = 5;
/// Standard deviation of the logarithm of a share.
const SIGMA: f64 = 2.0;

impl Strategy for TwoLabelPowerLaw {
    fn clients(&self) -> Option<usize> {
        Some(self.clients)
    }

    fn label(&self) -> String {
        "two labels each, power law".into()
    }

    fn pools(&self) -> bool {
        true
    }

    fn limits_clients(&self) -> bool {
        true
    }

    fn check(&self, examples: usize, classes: usize) -> Result<(), PartitionError> {
        if classes < LABELS {
            return Err(PartitionError::TooFewClasses {
                classes,
                needed: LABELS,
            });
        }
        let most = examples / (LABELS * FIRST);
        if self.clients > most {
            let needed = format!(
                "at most {most} ({examples} examples, {} for each client to begin with)",
                LABELS * FIRST
            );
            let found = self.clients as f64;
            return Err(PartitionError::setting(
                "two_label_power_law.clients",
                found,
                needed,
            ));
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
        let mut shards = vec![Vec::new(); self.clients];
        for (label, group) in by_label(labels, classes).iter().enumerate() {
            let holders: Vec<usize> = (0..self.clients)
                .filter(|client| (0..LABELS).any(|j| (client + j) % classes == label))
                .collect();
            let asked = FIRST * holders.len();
            if asked > group.len() {
                return Err(PartitionError::NotEnough {
                    label,
                    asked,
                    available: group.len(),
                    setting: "clients",
                });
            }
            let (first, rest) = group.split_at(asked);
            for (&client, part) in holders.iter().zip(first.chunks(FIRST)) {
                shards[client].extend_from_slice(part);
            }
            for (&client, part) in holders.iter().zip(shares(rest, holders.len(), rng)) {
                shards[client].extend_from_slice(part);
            }
        }
        Ok(Shard::all(shards))
    }

    fn hold_out(&self, shards: &mut [Shard], rng: &mut ChaCha8Rng) -> Option<Vec<u32>> {
        let mut held_out = Vec::new();
        for shard in shards {
            let mut indices = mem::take(shard).into_indices();
            indices.shuffle(rng);
            held_out.extend(indices.split_off(indices.len() * 9 / 10));
            *shard = Shard::from(indices);
        }
        held_out.sort_unstable();
        Some(held_out)
    }
}

/// Consecutive parts of `examples` in lognormal proportions, rounded down.
fn shares<'a>(examples: &'a [u32], count: usize, rng: &mut ChaCha8Rng) -> Vec<&'a [u32]> {
    let weights = lognormal(count, SIGMA, rng);
    let sum: f64 = weights.iter().sum();
    let mut rest = examples;
    let mut take = |weight: &f64| {
        let size = (examples.len() as f64 * (weight / sum)) as usize;
        let fitting = if size <= rest.len() { size } else { 0 };
        let (part, others) = rest.split_at(fitting);
        rest = others;
        part
    };
    weights.iter().map(&mut take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Who is dealt which of `labels`, before the test set is held out.
    fn dealt(clients: usize, labels: &[u16], classes: usize) -> Vec<Vec<u32>> {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let examples = Labelled::new(labels, classes);
        TwoLabelPowerLaw { clients }
            .deal(examples, &mut rng)
            .unwrap()
            .into_iter()
            .map(Shard::into_indices)
            .collect()
    }

    #[test]
    fn every_client_begins_with_five_of_its_two_labels() {
        let labels: Vec<u16> = (0..7000).map(|i| i % 7).collect();
        for clients in [1, 5, 40, 140] {
            for (client, shard) in dealt(clients, &labels, 7).iter().enumerate() {
                let of = |label: usize| {
                    let is_of = |example: &&u32| **example as usize % 7 == label;
                    shard.iter().filter(is_of).count()
                };
                let (first, second) = (of(client % 7), of((client + 1) % 7));
                assert_eq!(first + second, shard.len());
                assert!(first >= 5 && second >= 5, "{first} {second}");
                // The first holders of a label begin with the first examples of it.
                if client == 1 {
                    assert_eq!(shard[..5], [36, 43, 50, 57, 64]);
                }
            }
        }
    }

    #[test]
    fn a_label_is_dealt_up_to_one_example_of_each_holder() {
        let labels: Vec<u16> = (0..7000).map(|i| i % 7).collect();
        for clients in [7, 40, 140] {
            let shards = dealt(clients, &labels, 7).concat();
            let undealt = 7000 - shards.len();
            assert!(undealt <= 2 * clients, "{undealt}");
        }
    }

    #[test]
    fn shares_are_log_normal_with_deviation_two() {
        let examples = vec![0; 10_000_000];
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut sizes: Vec<usize> = shares(&examples, 2000, &mut rng)
            .into_iter()
            .map(<[u32]>::len)
            .collect();
        sizes.sort_unstable();
        let logarithm = |quantile: f64| (sizes[(quantile * 2000.0) as usize] as f64).ln();
        // One deviation below and above the median; five standard errors of their difference.
        let (below, median, above) = (logarithm(0.1587), logarithm(0.5), logarithm(0.8413));
        assert!((median - below - 2.0).abs() < 0.35, "{below} {median}");
        assert!((above - median - 2.0).abs() < 0.35, "{median} {above}");
    }
}
