//! Γ against formulas, bisection and plain descent.

use super::*;
use rayon::ThreadPoolBuilder;

/// Nobody calls the search off.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// Examples whose features are bytes.
struct Bytes {
    features: Vec<u8>,
    labels: Vec<u16>,
    width: usize,
    classes: usize,
}

impl Bytes {
    fn labelled(&self) -> Labelled<'_, Self> {
        Labelled {
            features: self,
            labels: &self.labels,
            classes: self.classes,
        }
    }

    fn row(&self, index: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.width];
        self.read(index, &mut row);
        row
    }
}

impl Features for Bytes {
    fn width(&self) -> usize {
        self.width
    }

    fn read(&self, index: usize, to: &mut [f64]) {
        let row = &self.features[index * self.width..][..self.width];
        for (to, byte) in to.iter_mut().zip(row) {
            *to = f64::from(*byte);
        }
    }
}

/// Examples of `width` features in `classes` classes, each feature a byte.
fn examples(features: Vec<u8>, labels: Vec<u16>, (width, classes): (usize, usize)) -> Bytes {
    Bytes {
        features,
        labels,
        width,
        classes,
    }
}

/// The shares of clients in `groups` that have these examples.
fn shares<'a>(groups: &[Vec<u32>], shards: &[&'a [u32]]) -> Shares<'a> {
    Shares::new(groups, |client| shards[client as usize])
}

fn close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} {expected} {tolerance:e}"
    );
}

/// Clients 0 and 2 have (0, 0) and (2, 2), client 1 has (0, 2) and (2, 0): each alone is met by a line.
#[test]
fn the_degree_is_what_clients_lose_by_sharing_a_line() {
    let train = examples(vec![0, 2, 0, 2, 0, 2], vec![0, 2, 2, 0, 0, 2], (1, 3));
    let shards: [&[u32]; 3] = [&[0, 1], &[2, 3], &[4, 5]];
    let degree = |groups: &[Vec<u32>]| {
        let value = |example| vec![f64::from(train.labels[example])];
        let found = linear_degree(&shares(groups, &shards), &train, value, true);
        assert_eq!(found.error, None);
        found.degree
    };
    // Two thirds of all want 0 where one third wants 2: a variance of 8/9 about the best line.
    close(degree(&[vec![0, 1, 2]]), 4.0 / 9.0, 1e-12);
    // Two servers, and half of the weight on client 1: a variance of 1.
    close(degree(&[vec![0, 2], vec![1]]), 0.5, 1e-12);
    close(degree(&[vec![0, 2]]), 0.0, 1e-12);
    // All have as many examples, so that servers make no difference where examples count.
    let value = |example| vec![f64::from(train.labels[example])];
    let by_examples = Shares::by_examples(&[vec![0, 2], vec![1]], |client| shards[client as usize]);
    let found = linear_degree(&by_examples, &train, value, true);
    close(found.degree, 4.0 / 9.0, 1e-12);
}

/// Two clients with the feature 2, one all of class 0, the other all of class 1.
///
/// A client's minimum is antisymmetric, `±(v, v_b)` with `v = 2 v_b`: for `m = 4 v + 2 v_b` between the logits the loss is
/// `ln(1 + e^{-m}) + λ/2 · 2 (v² + v_b²)`, `m²/20 · λ` of it the weights', and stationary where `λ m/10 = 1/(1 + e^m)`.
/// Together the best is zero, `ln 2`.
#[test]
fn two_clients_of_opposite_classes_lose_what_bisection_says() {
    let train = examples(vec![2, 2], vec![0, 1], (1, 2));
    let shards: [&[u32]; 2] = [&[0], &[1]];
    let decay = 0.01;
    let (mut low, mut high) = (0.0_f64, 1000.0_f64);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        match decay * middle / 10.0 < 1.0 / (1.0 + middle.exp()) {
            true => low = middle,
            false => high = middle,
        }
    }
    let least = (-low).exp().ln_1p() + decay * low * low / 20.0;
    let found = logistic_degree(
        &shares(&[vec![0, 1]], &shards),
        &train.labelled(),
        decay,
        &RUNNING,
    );
    let error = found.error.unwrap();
    assert!(error <= 1e-6, "{error}");
    close(found.degree, 2.0_f64.ln() - least, error + 1e-14);
}

#[test]
fn clients_with_the_same_examples_lose_nothing() {
    let shard = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8];
    let features = shard.repeat(3);
    let labels = [0, 1, 2, 1].repeat(3);
    let train = examples(features, labels, (3, 3));
    let shards: [&[u32]; 3] = [&[0, 1, 2, 3], &[4, 5, 6, 7], &[8, 9, 10, 11]];
    let shares = shares(&[vec![0, 1], vec![2]], &shards);
    let found = logistic_degree(&shares, &train.labelled(), 0.001, &RUNNING);
    close(found.degree, 0.0, found.error.unwrap() + 1e-14);
}

/// Random bytes, of which the first of ten features is always zero and the second twice the third.
fn random(count: usize) -> Bytes {
    let mut state = 1_u32;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 24
    };
    let (mut features, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let mut row = [0; 10].map(|_: u8| (next() % 4) as u8);
        row[0] = 0;
        row[1] = 2 * row[2];
        features.extend(row);
        labels.push((next() % 3) as u16);
    }
    examples(features, labels, (10, 3))
}

/// The least loss by descent with a constant step from zero, `[C][d + 1]` weights.
fn descended(train: &Bytes, examples: &[(u32, f64)], decay: f64) -> f64 {
    let (width, classes) = (train.width, train.classes);
    let mut model = vec![vec![0.0; width + 1]; classes];
    let mut loss = f64::NAN;
    for _ in 0..40_000 {
        loss = 0.0;
        let mut gradient = vec![vec![0.0; width + 1]; classes];
        for (example, weight) in examples {
            let mut row = train.row(*example as usize);
            row.push(1.0);
            let exponentials: Vec<f64> = model
                .iter()
                .map(|weights| {
                    weights
                        .iter()
                        .zip(&row)
                        .map(|(w, x)| w * x)
                        .sum::<f64>()
                        .exp()
                })
                .collect();
            let sum: f64 = exponentials.iter().sum();
            let label = usize::from(train.labels[*example as usize]);
            loss -= weight * (exponentials[label] / sum).ln();
            for (class, gradient) in gradient.iter_mut().enumerate() {
                let target = if class == label { 1.0 } else { 0.0 };
                let by = weight * (exponentials[class] / sum - target);
                gradient
                    .iter_mut()
                    .zip(&row)
                    .for_each(|(g, x)| *g += by * x);
            }
        }
        for (weights, gradient) in model.iter_mut().zip(gradient) {
            for (weight, gradient) in weights.iter_mut().zip(gradient) {
                loss += 0.5 * decay * *weight * *weight;
                *weight -= 0.03 * (gradient + decay * *weight);
            }
        }
    }
    loss
}

/// One client has more examples than features, the other fewer.
#[test]
fn the_degree_is_that_of_plain_descent() {
    let train = random(24);
    let shards: [Vec<u32>; 2] = [(0..18).collect(), (18..24).collect()];
    let decay = 0.01;
    let shares = shares(&[vec![0], vec![1]], &[&shards[0], &shards[1]]);
    let found = logistic_degree(&shares, &train.labelled(), decay, &RUNNING);
    let own = |shard: &[u32]| {
        let weight = 1.0 / shard.len() as f64;
        let examples: Vec<_> = shard.iter().map(|example| (*example, weight)).collect();
        descended(&train, &examples, decay)
    };
    let all: Vec<_> = shares.examples().collect();
    let expected = descended(&train, &all, decay) - 0.5 * (own(&shards[0]) + own(&shards[1]));
    // Forty thousand steps of .03 leave exp(−2 · .01 · 1200) of what the decay alone would undo: below 1e-10.
    close(found.degree, expected, found.error.unwrap() + 1e-9);
    assert!(found.degree > 0.01, "{found:?}");
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    // More than two blocks of examples together.
    let train = random(1300);
    let shards: Vec<Vec<u32>> = (0..13)
        .map(|client| (100 * client..100 * client + 100).collect())
        .collect();
    let shares = Shares::new(&[(0..13).collect()], |client| &shards[client as usize]);
    let found = |threads: usize| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let found = pool.install(|| logistic_degree(&shares, &train.labelled(), 1e-3, &RUNNING));
        (found.degree.to_bits(), found.error.map(f64::to_bits))
    };
    let alone = found(1);
    for threads in [2, 3, 8] {
        assert_eq!(found(threads), alone);
    }
}

#[test]
fn a_search_that_is_called_off_ends_where_it_begins() {
    let train = random(24);
    let shard: Vec<u32> = (0..24).collect();
    let stop = AtomicBool::new(true);
    let shares = shares(&[vec![0]], &[&shard]);
    let found = logistic_degree(&shares, &train.labelled(), 1e-3, &stop);
    // The loss of a model of zeros is ln 3 both for the client and for all.
    assert!(found.degree.abs() < 1e-12, "{}", found.degree);
    let least = logistic_degree(&shares, &train.labelled(), 1e-3, &RUNNING);
    assert!(found.error.unwrap() > 1e-3 && least.error.unwrap() <= 1e-6);
}

#[test]
fn a_search_that_ends_early_says_how_far_it_may_be_off() {
    // Weights hardly decay: the gradient would have to be smaller than rounding lets it.
    let train = random(24);
    let shard: Vec<u32> = (0..24).collect();
    let shares = shares(&[vec![0]], &[&shard]);
    let found = logistic_degree(&shares, &train.labelled(), 1e-30, &RUNNING);
    let error = found.error.unwrap();
    assert!(error > 1e-6 && error <= 3.0_f64.ln(), "{error}");
}
