//! The constants of logistic regression with weight decay that the convergence theorems need.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use meshfold_topology::largest_eigenvalue;
use rayon::prelude::*;
use std::sync::atomic::AtomicBool;

use super::cross_entropy::CrossEntropy;
use super::inputs::Inputs;
use super::minimum::{StronglyConvex, minimum};
use super::{Features, Labelled, Shares};

/// How far above the minimum the least loss of all may be, in nats: the distance from `x*` is then known to `√(2·10⁻¹⁰/μ)`.
const LEAST: f64 = 1e-10;

/// The same of a client's own least loss.
const OWN: f64 = 1e-8;

/// Examples whose products are summed up at once.
const BLOCK: usize = 256;

/// Digits of the smoothness: it is rounded up to them.
const DIGITS: i32 = 6;

/// Logistic regression with weight decay over all clients, and the constants of its losses. All of them are computed or
/// proven from the examples; none is estimated.
#[derive(Debug, Clone, PartialEq)]
pub struct LogisticProblem {
    /// L, a bound on the smoothness of every client's loss: half of the largest eigenvalue of `(1/n) Σ x xᵀ` plus the
    /// weight decay, rounded up to six digits. `x` are an example's features, and a one for the biases.
    pub smoothness: f64,
    /// μ, the weight decay: a lower bound on the strong convexity of every client's loss.
    pub convexity: f64,
    /// The clients, server by server.
    pub clients: Vec<LogisticClient>,
    /// The largest `‖x‖` of all examples.
    pub largest: f64,
    /// `f* = min Σ_j q_j f_j`, at most `10⁻¹⁰` nats too large, unless the search ended before.
    pub least: f64,
    /// `x*`, where that is, `[C, d + 1]` row-major, the biases last.
    pub minimiser: Vec<f64>,
}

/// One client of a [`LogisticProblem`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogisticClient {
    /// `q_j`.
    pub share: f64,
    /// Mean of `‖x‖²` over its examples.
    pub squares: f64,
    /// `f_j* = min f_j`, at most `10⁻⁸` nats too large, unless the search ended before.
    pub least: f64,
    /// `f_j(w_j(0)) − f_j*`, for the model that it starts with.
    pub gap: f64,
}

impl LogisticProblem {
    /// The problem of clients with these `shares`, of which client `j` starts with the model `first(j)`, `[C, d + 1]`
    /// row-major, the biases last.
    ///
    /// The least losses are searched for, until `stop` becomes true: then they may be anywhere above the minima.
    ///
    /// # Complexity
    /// That of [`logistic_degree`](super::logistic_degree), with more steps of the search, and O(n d min(n, d)) for a client
    /// with `n` examples of `d` features.
    pub fn new<'m>(
        shares: &Shares<'_>,
        train: &Labelled<'_, impl Features>,
        decay: f64,
        first: impl Fn(usize) -> &'m [f64] + Sync,
        stop: &AtomicBool,
    ) -> Self {
        let own: Vec<(LogisticClient, f64)> = shares
            .0
            .par_iter()
            .enumerate()
            .map(|(client, (share, shard))| {
                let weights = vec![1.0 / shard.len() as f64; shard.len()];
                let loss = CrossEntropy::of(train, shard, weights, decay, stop);
                let squares = mean_squares(&loss.inputs);
                let most = largest_curvature(&loss.inputs);
                let model = padded(first(client), loss.classes, loss.padded());
                let begins = loss.at(&model, &mut vec![0.0; model.len()]);
                let least = loss.least(OWN).loss;
                let client = LogisticClient {
                    share: *share,
                    squares,
                    least,
                    gap: (begins - least).max(0.0),
                };
                (client, most)
            })
            .collect();
        let (examples, weights): (Vec<u32>, Vec<f64>) = shares.examples().unzip();
        let sum: f64 = shares.0.iter().map(|(share, _)| share).sum();
        let all = CrossEntropy::of(train, &examples, weights, decay * sum, stop);
        let found = minimum(&all, LEAST);
        let most = own.iter().map(|(_, most)| *most).fold(0.0, f64::max);
        Self {
            smoothness: rounded_up(0.5 * most + decay),
            convexity: decay,
            clients: own.into_iter().map(|(client, _)| client).collect(),
            largest: largest_norm(&all.inputs),
            least: found.loss,
            minimiser: unpadded(&found.model, all.padded(), all.inputs.width()),
        }
    }

    /// G, a bound on the root mean square norm of every client's stochastic gradient, for models that SGD with rates up
    /// to `1/μ` can reach from a model of norm `first`.
    ///
    /// An example's gradient is `(p − y) xᵀ + μ w` with `‖p − y‖² ≤ 2`, and such steps leave
    /// `‖w‖ ≤ max(‖w(0)‖, √2 max ‖x‖ / μ)`.
    #[must_use]
    pub fn gradient_norm(&self, first: f64) -> f64 {
        let squares = self.clients.iter().map(|client| client.squares);
        let decay = (self.convexity * first).max(2_f64.sqrt() * self.largest);
        (2.0 * squares.fold(0.0, f64::max)).sqrt() + decay
    }

    /// Bound on the variance `σ_j²` of the gradient of one example of a client: the mean square `2 (1/n) Σ ‖x‖²` of the
    /// part that depends on the example.
    #[must_use]
    pub fn variance(client: &LogisticClient) -> f64 {
        2.0 * client.squares
    }

    /// `Γ = f* − Σ_j q_j f_j*`.
    #[must_use]
    pub fn non_iid_degree(&self) -> f64 {
        let own = self
            .clients
            .iter()
            .map(|client| client.share * client.least);
        (self.least - own.sum::<f64>()).max(0.0)
    }

    /// `‖model − x*‖`, `model` being `[C, d + 1]` row-major, the biases last.
    ///
    /// # Panics
    /// If `model` has another length.
    #[must_use]
    pub fn distance(&self, model: &[f64]) -> f64 {
        assert_eq!(model.len(), self.minimiser.len(), "models of one shape");
        let apart = model.iter().zip(&self.minimiser);
        apart.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }
}

/// `model` `[C][width]` with every class padded with zeros to `padded` numbers.
fn padded(model: &[f64], classes: usize, padded: usize) -> Vec<f64> {
    let width = model.len() / classes.max(1);
    let mut whole = vec![0.0; classes * padded];
    for (to, from) in whole
        .chunks_exact_mut(padded)
        .zip(model.chunks_exact(width))
    {
        to[..width].copy_from_slice(from);
    }
    whole
}

/// The first `width` numbers of every `padded`.
fn unpadded(model: &[f64], padded: usize, width: usize) -> Vec<f64> {
    let classes = model.chunks_exact(padded);
    classes.flat_map(|class| &class[..width]).copied().collect()
}

/// The squared norms of all examples.
fn squares(inputs: &impl Inputs) -> impl Iterator<Item = f64> {
    let mut row = vec![0.0; inputs.width()];
    (0..inputs.count()).map(move |index| {
        inputs.read(index, &mut row);
        row.iter().map(|x| x * x).sum::<f64>()
    })
}

fn mean_squares(inputs: &impl Inputs) -> f64 {
    squares(inputs).sum::<f64>() / inputs.count().max(1) as f64
}

fn largest_norm(inputs: &impl Inputs) -> f64 {
    squares(inputs).fold(0.0, f64::max).sqrt()
}

/// The largest eigenvalue of `(1/n) Σ x xᵀ`.
fn largest_curvature(inputs: &impl Inputs) -> f64 {
    let (count, width) = (inputs.count(), inputs.width());
    let block = |first: usize, rows: usize| {
        let mut block = Mat::<f64>::zeros(width, rows);
        for (at, mut column) in block.col_iter_mut().enumerate() {
            let to = column.as_mut().try_as_col_major_mut();
            inputs.read(first + at, to.expect("columns lie in a row").as_slice_mut());
        }
        block
    };
    let mut gram = Mat::<f64>::zeros(width.min(count), width.min(count));
    if count < width {
        let all = block(0, count);
        add_product(&mut gram, all.transpose(), all.as_ref());
    } else {
        for first in (0..count).step_by(BLOCK) {
            let some = block(first, BLOCK.min(count - first));
            add_product(&mut gram, some.as_ref(), some.transpose());
        }
    }
    // No eigenvalue is above the sum of all, which is the trace.
    let trace = || gram.diagonal().column_vector().iter().sum();
    largest_eigenvalue(gram.as_ref()).unwrap_or_else(trace) / count.max(1) as f64
}

/// `sum + a b`; not part of what is generic, so that it is compiled once.
fn add_product(sum: &mut Mat<f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    matmul(sum.as_mut(), Accum::Add, a, b, 1.0, Par::Seq);
}

/// `value` rounded up to [`DIGITS`]: the last bits of an eigenvalue depend on the processor.
fn rounded_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(DIGITS - 1 - value.log10().floor() as i32);
    (value * scale).ceil() / scale
}

#[cfg(test)]
mod tests;
