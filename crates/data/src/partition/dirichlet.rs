//! `dirichlet`: label shares at random, more uneven the smaller α.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Gamma, Open01};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::apportion::hand_out;
use super::label_groups::by_label;
use super::{Labelled, PartitionError, Shard, Strategy};

/// For each label, the clients' shares of its examples are drawn from Dir(α, ..., α).
///
/// # Source
/// M. Yurochkin et al., "Bayesian nonparametric federated learning of neural networks", arXiv:1905.12022; DFedRW, section VI-A,
/// "probabilistic partitioning".
///
/// # Interpretation
/// A draw that leaves a client with fewer than `min_examples` examples in all is repeated, at most
/// 100 times, or the client is [topped up](Shortfall::TopUp). Shares become counts by rounding their cumulative sums down. Clients differ in
/// size as well as in labels; with [`dirichlet_balanced`](super::DirichletBalanced) all have one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dirichlet {
    /// Number of clients `N`.
    pub clients: usize,
    /// Concentration α, 1e-6 to 1e6: small is uneven, large is nearly iid.
    pub alpha: f64,
    /// The fewest examples that a client may end with.
    #[serde(default = "one")]
    pub min_examples: usize,
    /// What is done about a draw that leaves a client with fewer.
    #[serde(default, skip_serializing_if = "Shortfall::is_default")]
    #[schemars(extend("default" = "redraw"))]
    pub shortfall: Shortfall,
}

/// What is done about a draw that leaves a client with too few examples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shortfall {
    /// The draw is repeated. With many clients and a small α none succeeds.
    #[default]
    Redraw,
    /// The client gets random examples of whoever holds the most, one after the other. The others keep what they drew.
    TopUp,
}

impl Shortfall {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn one() -> usize {
    1
}

/// Draws before giving up.
const DRAWS: usize = 100;
/// Draws for each concentration that is tried as a suggestion.
const TRIALS: usize = 10;

impl Strategy for Dirichlet {
    fn clients(&self) -> Option<usize> {
        Some(self.clients)
    }

    fn label(&self) -> String {
        format!("dirichlet, alpha {}", self.alpha)
    }

    fn check(&self, examples: usize, _classes: usize) -> Result<(), PartitionError> {
        check_alpha("dirichlet.alpha", self.alpha)?;
        let most = examples / self.clients;
        if self.min_examples == 0 || self.min_examples > most {
            let needed = format!(
                "1 to {most} ({examples} examples over {} clients)",
                self.clients
            );
            let found = self.min_examples as f64;
            return Err(PartitionError::setting(
                "dirichlet.min_examples",
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
        let groups = by_label(labels, classes);
        let totals: Vec<usize> = groups.iter().map(Vec::len).collect();
        if self.shortfall == Shortfall::TopUp {
            let counts = self.counts(self.alpha, &totals, rng);
            let mut shards = dealt(groups, &counts, self.clients, rng);
            top_up(&mut shards, self.min_examples, rng);
            return Ok(Shard::all(shards));
        }
        match self.draw(self.alpha, DRAWS, &totals, rng) {
            Some(counts) => Ok(Shard::all(dealt(groups, &counts, self.clients, rng))),
            None => Err(PartitionError::Dirichlet {
                alpha: self.alpha,
                clients: self.clients,
                min_examples: self.min_examples,
                draws: DRAWS,
                suggestion: self.suggestion(&totals, rng),
            }),
        }
    }
}

impl Dirichlet {
    /// Counts `[C][N]` of the first draw that gives every client enough; `None` if `draws` draws do not.
    fn draw(
        &self,
        alpha: f64,
        draws: usize,
        totals: &[usize],
        rng: &mut ChaCha8Rng,
    ) -> Option<Vec<Vec<usize>>> {
        (0..draws).find_map(|_| {
            let counts = self.counts(alpha, totals, rng);
            let size = |client: usize| counts.iter().map(|label| label[client]).sum::<usize>();
            let enough = (0..self.clients).all(|client| size(client) >= self.min_examples);
            enough.then_some(counts)
        })
    }

    /// Counts `[C][N]` of a draw.
    fn counts(&self, alpha: f64, totals: &[usize], rng: &mut ChaCha8Rng) -> Vec<Vec<usize>> {
        let concentrations = vec![alpha; self.clients];
        let of = |&total: &usize| counts(total, &shares(&concentrations, rng));
        totals.iter().map(of).collect()
    }

    /// The smallest round concentration above α for which draws succeed within a few trials, twice.
    fn suggestion(&self, totals: &[usize], rng: &mut ChaCha8Rng) -> Option<f64> {
        let decades = [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4];
        let mut ladder = decades.into_iter().flat_map(|d| [d, 2.0 * d, 5.0 * d]);
        let mut works = |alpha| self.draw(alpha, TRIALS, totals, rng).is_some();
        ladder.find(|&alpha| alpha > self.alpha && works(alpha) && works(alpha))
    }
}

/// Requires a concentration that can be drawn with: beyond these the draws are one client or equal parts, and their logarithms overflow.
pub(super) fn check_alpha(setting: &'static str, alpha: f64) -> Result<(), PartitionError> {
    match (1e-6..=1e6).contains(&alpha) {
        true => Ok(()),
        false => Err(PartitionError::setting(
            setting,
            alpha,
            "0.000001 to 1000000",
        )),
    }
}

/// One draw from the Dirichlet distribution of these concentrations, as unnormalised shares whose largest is 1.
///
/// Gamma variables of small shape underflow, so their logarithms are drawn:
/// `ln G(α) = ln G(α + 1) + ln(U) / α`.
pub(super) fn shares(concentrations: &[f64], rng: &mut impl Rng) -> Vec<f64> {
    let mut logarithm = |alpha: &f64| {
        let gamma = Gamma::new(alpha + 1.0, 1.0).expect("concentrations are positive and finite");
        let uniform: f64 = rng.sample(Open01);
        gamma.sample(rng).ln() + uniform.ln() / alpha
    };
    let logarithms: Vec<f64> = concentrations.iter().map(&mut logarithm).collect();
    let largest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logarithms.iter().map(|l| (l - largest).exp()).collect()
}

/// Whole numbers in the proportions of `shares` that sum to `total`.
fn counts(total: usize, shares: &[f64]) -> Vec<usize> {
    let sum: f64 = shares.iter().sum();
    let mut cumulative = 0.0;
    let mut given = 0;
    let mut counts: Vec<usize> = Vec::with_capacity(shares.len());
    for share in shares {
        cumulative += share;
        let edge = ((total as f64 * (cumulative / sum)) as usize).clamp(given, total);
        counts.push(edge - given);
        given = edge;
    }
    assert_eq!(given, total, "the last cumulative share is exactly one");
    counts
}

/// Deals each label's examples, shuffled, by `counts[label][client]`.
fn dealt(
    groups: Vec<Vec<u32>>,
    counts: &[Vec<usize>],
    clients: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Vec<u32>> {
    let mut shards = vec![Vec::new(); clients];
    for (mut group, counts) in groups.into_iter().zip(counts) {
        group.shuffle(rng);
        hand_out(&group, 0..clients, counts.iter().copied(), &mut shards);
    }
    shards
}

/// Gives every client at least `least` examples; there must be enough. They are drawn from the client that then has the
/// most.
fn top_up(shards: &mut [Vec<u32>], least: usize, rng: &mut ChaCha8Rng) {
    let sizes = shards.iter().enumerate();
    let mut holders: BinaryHeap<(usize, Reverse<usize>)> = sizes
        .map(|(client, shard)| (shard.len(), Reverse(client)))
        .collect();
    for client in 0..shards.len() {
        while shards[client].len() < least {
            let mut most = holders.peek_mut().expect("every client is a holder");
            let (size, Reverse(holder)) = *most;
            let example = rng.random_range(0..size);
            let example = shards[holder].swap_remove(example);
            shards[client].push(example);
            // Those who were given some are listed with less than they have. They hold too little to give.
            most.0 = size - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn shares_have_the_moments_of_the_dirichlet_distribution() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        for alpha in [0.05, 0.5, 3.0] {
            let (clients, draws) = (8, 20_000);
            let mut first = Vec::new();
            for _ in 0..draws {
                let shares = shares(&vec![alpha; clients], &mut rng);
                first.push(shares[0] / shares.iter().sum::<f64>());
            }
            let mean = first.iter().sum::<f64>() / f64::from(draws);
            let variance = first.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(draws);
            let n = clients as f64;
            let expected = (1.0 / n) * (1.0 - 1.0 / n) / (n * alpha + 1.0);
            // Five standard errors of the mean; the variance of a skewed share needs 8 %.
            assert!((mean - 1.0 / n).abs() < 5.0 * (expected / f64::from(draws)).sqrt());
            assert!(
                (variance / expected - 1.0).abs() < 0.08,
                "{variance} {expected}"
            );
        }
    }

    #[test]
    fn tiny_concentrations_neither_underflow_nor_lose_examples() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut largest = 0;
        for _ in 0..100 {
            let counts = counts(1000, &shares(&[1e-6; 5], &mut rng));
            assert_eq!(counts.iter().sum::<usize>(), 1000);
            largest += counts.iter().max().unwrap();
        }
        assert!(
            largest > 99_500,
            "one client takes nearly all: {largest} of 100000"
        );
    }

    #[test]
    fn an_alpha_that_starves_clients_is_answered_with_one_that_does_not() {
        let labels: Vec<u16> = (0..2000).map(|i| i % 10).collect();
        let asked = |alpha| Dirichlet {
            clients: 100,
            alpha,
            min_examples: 1,
            shortfall: Shortfall::Redraw,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let error = asked(0.01)
            .deal(Labelled::new(&labels, 10), &mut rng)
            .unwrap_err();
        let PartitionError::Dirichlet {
            suggestion: Some(enough),
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert!(enough > 0.01);
        assert!(
            error
                .to_string()
                .ends_with(&format!("alpha {enough} would do, or `shortfall: top_up`")),
            "{error}"
        );
        asked(enough)
            .deal(Labelled::new(&labels, 10), &mut rng)
            .unwrap();
    }

    #[test]
    fn clients_are_topped_up_from_those_who_hold_the_most() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut shards = vec![
            vec![0],
            (1..8).collect(),
            vec![],
            (8..13).collect(),
            vec![13],
        ];
        top_up(&mut shards, 2, &mut rng);
        let sizes: Vec<usize> = shards.iter().map(Vec::len).collect();
        // 7 gives first, then it gives twice more against 5; of two who hold as many the first gives.
        assert_eq!(sizes, [2, 4, 2, 4, 2]);
        let mut all = shards.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..14));
    }

    #[test]
    fn a_thousand_clients_share_mnist_with_alpha_a_tenth() {
        let labels: Vec<u16> = (0..60_000).map(|i| i % 10).collect();
        let asked = Dirichlet {
            clients: 1000,
            alpha: 0.1,
            min_examples: 2,
            shortfall: Shortfall::TopUp,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let shards = asked.deal(Labelled::new(&labels, 10), &mut rng).unwrap();
        let least = shards.iter().map(Shard::len).min();
        assert_eq!(least, Some(2));
        assert_eq!(shards.iter().map(Shard::len).sum::<usize>(), 60_000);
        // Those who drew enough keep their labels, which are some and not all.
        let skewed = shards.iter().filter(|shard| {
            let mut known: Vec<u16> = shard
                .indices()
                .iter()
                .map(|&e| labels[e as usize])
                .collect();
            known.sort_unstable();
            known.dedup();
            known.len() < 8
        });
        assert!(skewed.count() > 900);
    }
}
