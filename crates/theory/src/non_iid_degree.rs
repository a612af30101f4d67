//! Γ of P-FedAvg: what the clients lose by sharing one model.

mod basis;
mod cross_entropy;
mod inputs;
mod lanes;
mod least_squares;
mod minimum;
mod problem;
mod tile;

use rayon::prelude::*;
use std::sync::atomic::AtomicBool;

use cross_entropy::CrossEntropy;
use least_squares::LeastSquares;

pub use problem::{LogisticClient, LogisticProblem};

/// How far above its minimum a least loss may be, in nats.
const TOLERANCE: f64 = 1e-6;

/// Features of a dataset's examples.
pub trait Features: Sync {
    /// Features of an example, `d`.
    fn width(&self) -> usize;

    /// Writes the features of example `index` into `to`, `[d]`.
    fn read(&self, index: usize, to: &mut [f64]);
}

/// Examples and their classes.
#[derive(Debug, Clone, Copy)]
pub struct Labelled<'a, F> {
    /// The examples.
    pub features: &'a F,
    /// The class of each, below `classes`.
    pub labels: &'a [u16],
    /// Classes, `C`.
    pub classes: usize,
}

/// Γ, and a bound on its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NonIidDegree {
    /// `Γ = f* − Σ_j q_j f_j*`.
    pub degree: f64,
    /// Bound on the error of `degree`, in nats, if the least losses are searched for.
    pub error: Option<f64>,
}

/// `q_j = 1/(M N_i)` for client `j` of server `i`, and the examples of every client.
///
/// # Source
/// P-FedAvg (Liu et al.), Assumption 6.
#[derive(Debug, Clone)]
pub struct Shares<'a>(Vec<(f64, &'a [u32])>);

impl<'a> Shares<'a> {
    /// The shares of the clients in `groups`, one for each server; `shard` gives a client's examples.
    pub fn new(groups: &[Vec<u32>], shard: impl Fn(u32) -> &'a [u32]) -> Self {
        let shard = &shard;
        let shares = groups.iter().flat_map(|group| {
            let share = 1.0 / (groups.len() * group.len()) as f64;
            group.iter().map(move |client| (share, shard(*client)))
        });
        Self(shares.collect())
    }

    /// The shares of the clients in `groups` if a server weighs its clients' losses by examples, `f_j = M N_i p_j f̃_j`
    /// of (2). The weight of a client is `p_j`, its share of all examples.
    pub fn by_examples(groups: &[Vec<u32>], shard: impl Fn(u32) -> &'a [u32]) -> Self {
        let shards: Vec<&[u32]> = groups
            .iter()
            .flatten()
            .map(|client| shard(*client))
            .collect();
        let all: usize = shards.iter().map(|shard| shard.len()).sum();
        let share = |shard: &[u32]| shard.len() as f64 / all as f64;
        Self(
            shards
                .into_iter()
                .map(|shard| (share(shard), shard))
                .collect(),
        )
    }

    /// All clients' examples, with the weight of each in `f`.
    fn examples(&self) -> impl Iterator<Item = (u32, f64)> {
        self.0.iter().flat_map(|(share, shard)| {
            let weight = share / shard.len() as f64;
            shard.iter().map(move |example| (*example, weight))
        })
    }
}

/// `Γ = f* − Σ_j q_j f_j*`, `f = Σ_j q_j f_j`, of the losses `½ ‖W x + b − target‖²`, whose minima have a formula.
///
/// `targets` gives the targets of an example; without `bias`, `b` is 0.
///
/// # Source
/// P-FedAvg (Liu et al.), Assumption 6.
///
/// # Complexity
/// O(n d²) for n examples of d features, and a copy of the examples in double precision: a minute for 60,000 of 784.
pub fn linear_degree(
    shares: &Shares<'_>,
    features: &impl Features,
    targets: impl Fn(usize) -> Vec<f64>,
    bias: bool,
) -> NonIidDegree {
    let add = |to: &mut LeastSquares, example: u32, weight| {
        let example = example as usize;
        let mut inputs = vec![0.0; features.width()];
        features.read(example, &mut inputs);
        inputs.extend(bias.then_some(1.0));
        to.add(inputs, targets(example), weight);
    };
    let mut own = 0.0;
    for (share, shard) in &shares.0 {
        let mut alone = LeastSquares::default();
        for example in *shard {
            add(&mut alone, *example, share / shard.len() as f64);
        }
        own += alone.least();
    }
    let mut all = LeastSquares::default();
    for (example, weight) in shares.examples() {
        add(&mut all, example, weight);
    }
    NonIidDegree {
        degree: all.least() - own,
        error: None,
    }
}

/// `Γ = f* − Σ_j q_j f_j*`, `f = Σ_j q_j f_j`, of logistic regression with weight decay `decay`, which makes the losses
/// strongly convex.
///
/// The least losses are searched for until `stop` becomes true; a search that is stopped may end anywhere above the
/// minimum. The bits do not depend on the number of threads.
///
/// # Source
/// P-FedAvg (Liu et al.), Assumption 6.
///
/// # Complexity
/// A pass over all examples, O(n C d), for each step of the search of `f*`, which are hundreds; a client with `m` examples
/// has steps of O(m C min(m, d)), and O(m² d) before them if `m < d`. MNIST's 60,000 images on 1,000 clients with a decay
/// of 1e-4: 160 seconds of one core at 2.50 GHz that is shared with other work, about nine tenths of it for `f*`.
pub fn logistic_degree(
    shares: &Shares<'_>,
    train: &Labelled<'_, impl Features>,
    decay: f64,
    stop: &AtomicBool,
) -> NonIidDegree {
    let own: Vec<[f64; 2]> = shares
        .0
        .par_iter()
        .map(|(_, shard)| {
            let weights = vec![1.0 / shard.len() as f64; shard.len()];
            let least = CrossEntropy::of(train, shard, weights, decay, stop).least(TOLERANCE);
            [least.loss, least.error]
        })
        .collect();
    let (mut mean, mut error, mut sum) = (0.0, 0.0, 0.0);
    for ((share, _), [own, too_large]) in shares.0.iter().zip(own) {
        mean += share * own;
        error += share * too_large;
        sum += share;
    }
    let (examples, weights): (Vec<u32>, Vec<f64>) = shares.examples().unzip();
    let all = CrossEntropy::of(train, &examples, weights, decay * sum, stop).least(TOLERANCE);
    NonIidDegree {
        degree: all.loss - mean,
        // What was found is above the minima: one error raises Γ, the other lowers it.
        error: Some(all.error.max(error)),
    }
}

#[cfg(test)]
mod tests;
