//! `dirichlet_balanced`: clients of one size, each with label shares of its own.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dirichlet::{check_alpha, shares};
use super::label_groups::by_label;
use super::{Labelled, PartitionError, Shard, Strategy};

/// Each client draws its shares of the labels from Dir(α p), where `p` are the shares of the labels among all examples, and takes as many
/// examples as every other client.
///
/// # Source
/// T. Hsu, H. Qi, M. Brown, "Measuring the effects of non-identical data distribution for federated visual classification",
/// arXiv:1909.06335, section 3.
///
/// # Interpretation
/// Sizes differ by one at most. Clients take their examples in a random order of clients, one example after the other: first a label by the
/// client's shares, then an example of it at random. A label that has no examples left is drawn no more, so the last clients take what is
/// left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirichletBalanced {
    /// Number of clients `N`.
    pub clients: usize,
    /// Concentration α, 1e-6 to 1e6: small is one label a client, large is nearly iid.
    pub alpha: f64,
}

impl Strategy for DirichletBalanced {
    fn clients(&self) -> Option<usize> {
        Some(self.clients)
    }

    fn label(&self) -> String {
        format!("dirichlet of equal sizes, alpha {}", self.alpha)
    }

    fn check(&self, _examples: usize, _classes: usize) -> Result<(), PartitionError> {
        check_alpha("dirichlet_balanced.alpha", self.alpha)
    }

    fn deal(
        &self,
        examples: Labelled<'_>,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Shard>, PartitionError> {
        let Labelled {
            labels, classes, ..
        } = examples;
        let mut groups = by_label(labels, classes);
        groups.retain(|group| !group.is_empty());
        groups.iter_mut().for_each(|group| group.shuffle(rng));
        let of_labels: Vec<f64> = groups
            .iter()
            .map(|group| self.alpha * group.len() as f64 / labels.len() as f64)
            .collect();
        let mut order: Vec<usize> = (0..self.clients).collect();
        order.shuffle(rng);
        let mut shards = vec![Vec::new(); self.clients];
        for (place, client) in order.into_iter().enumerate() {
            let larger = usize::from(place < labels.len() % self.clients);
            let mut shares = shares(&of_labels, rng);
            shards[client] = (0..labels.len() / self.clients + larger)
                .map(|_| take(&mut groups, &mut shares, rng))
                .collect();
        }
        Ok(Shard::all(shards))
    }
}

/// Takes an example of a label drawn by `shares`, or of one drawn by what is left where nothing is left of those that have shares.
fn take(groups: &mut [Vec<u32>], shares: &mut [f64], rng: &mut ChaCha8Rng) -> u32 {
    for (share, group) in shares.iter_mut().zip(groups.iter()) {
        *share = if group.is_empty() { 0.0 } else { *share };
    }
    if shares.iter().sum::<f64>() <= 0.0 {
        for (share, group) in shares.iter_mut().zip(groups.iter()) {
            *share = group.len() as f64;
        }
    }
    let mut left = rng.random::<f64>() * shares.iter().sum::<f64>();
    let chosen = shares.iter().position(|share| {
        left -= share;
        left < 0.0
    });
    // Rounding may leave nothing to draw from at the end.
    let chosen = chosen.or_else(|| shares.iter().rposition(|share| *share > 0.0));
    let chosen = chosen.expect("there are as many examples as are taken");
    groups[chosen]
        .pop()
        .expect("labels without examples have no share")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// The labels of each client's examples, counted.
    fn dealt(labels: &[u16], classes: usize, clients: usize, alpha: f64) -> Vec<Vec<usize>> {
        let asked = DirichletBalanced { clients, alpha };
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let shards = asked
            .deal(Labelled::new(labels, classes), &mut rng)
            .unwrap();
        let mut all: Vec<u32> = shards.iter().flat_map(Shard::indices).copied().collect();
        all.sort_unstable();
        assert!(
            all.into_iter().eq(0..labels.len() as u32),
            "each example once"
        );
        let counted = |shard: &Shard| {
            let mut counts = vec![0; classes];
            for example in shard.indices() {
                counts[labels[*example as usize] as usize] += 1;
            }
            counts
        };
        shards.iter().map(counted).collect()
    }

    #[test]
    fn all_clients_have_as_many_examples_whatever_the_concentration() {
        let labels: Vec<u16> = (0..1003).map(|i| i % 10).collect();
        for alpha in [1e-6, 0.1, 1.0, 1e6] {
            let counts = dealt(&labels, 12, 100, alpha);
            let sizes: Vec<usize> = counts.iter().map(|counts| counts.iter().sum()).collect();
            assert!(
                sizes.iter().all(|size| [10, 11].contains(size)),
                "{sizes:?}"
            );
        }
    }

    #[test]
    fn labels_are_as_mixed_as_the_concentration_says() {
        let labels: Vec<u16> = (0..60_000).map(|i| i % 10).collect();
        let labels_of = |alpha: f64| {
            let counts = dealt(&labels, 10, 100, alpha);
            // The most frequent label of a client holds this share of its examples, in the mean over the clients.
            let largest = counts.iter().map(|counts| *counts.iter().max().unwrap());
            largest.sum::<usize>() as f64 / 60_000.0
        };
        // Of 200,000 draws from Dir(α/10, ..., α/10) by NumPy: .894, .534 and .137. The last clients take what is left.
        for (alpha, expected, off) in [(0.2, 0.894, 0.06), (2.0, 0.534, 0.05), (200.0, 0.137, 0.01)]
        {
            let found = labels_of(alpha);
            assert!((found - expected).abs() < off, "{alpha}: {found}");
        }
    }

    #[test]
    fn rare_labels_are_rare_with_every_client_where_alpha_is_large() {
        // Nine tenths are of label 0.
        let labels: Vec<u16> = (0..10_000).map(|i| u16::from(i % 10 == 0)).collect();
        let counts = dealt(&labels, 2, 10, 1e6);
        assert!(
            counts.iter().all(|counts| (60..=140).contains(&counts[1])),
            "{counts:?}"
        );
    }
}
