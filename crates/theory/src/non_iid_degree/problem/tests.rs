//! The constants against a plain loop over examples.

use super::super::inputs::Chosen;
use super::*;

static RUNNING: AtomicBool = AtomicBool::new(false);

/// Examples `[n][d]` in double precision.
struct Table(Vec<Vec<f64>>);

impl Features for Table {
    fn width(&self) -> usize {
        self.0[0].len()
    }

    fn read(&self, index: usize, to: &mut [f64]) {
        to.copy_from_slice(&self.0[index]);
    }
}

/// Numbers from -1 to 1 that look like noise.
fn noise(seed: usize) -> impl Iterator<Item = f64> {
    (0..).map(move |at: usize| ((at * 7919 + seed * 104_729) as f64 * 0.618).sin())
}

const CLASSES: usize = 3;
const DECAY: f64 = 0.05;

fn table(examples: usize, width: usize) -> (Table, Vec<u16>) {
    let mut values = noise(examples + width);
    let rows: Vec<Vec<f64>> = (0..examples)
        .map(|_| values.by_ref().take(width).collect())
        .collect();
    let label = |row: &Vec<f64>| row[..CLASSES - 1].iter().filter(|x| **x > 0.0).count() as u16;
    let labels = rows.iter().map(label).collect();
    (Table(rows), labels)
}

/// The gradient of one example's loss with respect to `model` `[C, d + 1]`, without weight decay.
fn gradient(model: &[f64], features: &[f64], label: u16) -> Vec<f64> {
    let x: Vec<f64> = features.iter().copied().chain([1.0]).collect();
    let logits = model.chunks(x.len());
    let logits: Vec<f64> = logits
        .map(|class| class.iter().zip(&x).map(|(w, x)| w * x).sum())
        .collect();
    let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
    let slopes = logits.iter().enumerate().map(|(class, logit)| {
        let is_label = f64::from(u8::from(class == usize::from(label)));
        logit.exp() / sum - is_label
    });
    slopes
        .flat_map(|slope| x.iter().map(move |x| slope * x).collect::<Vec<_>>())
        .collect()
}

/// The gradient of the mean loss of `examples`, weight decay included.
fn mean_gradient(model: &[f64], (table, labels): &(Table, Vec<u16>), examples: &[u32]) -> Vec<f64> {
    let mut mean: Vec<f64> = model.iter().map(|w| DECAY * w).collect();
    for &example in examples {
        let own = gradient(model, &table.0[example as usize], labels[example as usize]);
        for (mean, own) in mean.iter_mut().zip(own) {
            *mean += own / examples.len() as f64;
        }
    }
    mean
}

fn norm(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn problem(data: &(Table, Vec<u16>), shards: &[Vec<u32>], first: &[f64]) -> LogisticProblem {
    let groups = [(0..shards.len() as u32).collect()];
    let shares = Shares::new(&groups, |client| shards[client as usize].as_slice());
    let train = Labelled {
        features: &data.0,
        labels: &data.1,
        classes: CLASSES,
    };
    LogisticProblem::new(&shares, &train, DECAY, |_| first, &RUNNING)
}

/// Many examples of few features, and few of many.
fn sizes() -> [(usize, usize); 2] {
    [(600, 4), (12, 20)]
}

fn halves(examples: usize) -> Vec<Vec<u32>> {
    let examples = examples as u32;
    vec![
        (0..examples / 2).collect(),
        (examples / 2..examples).collect(),
    ]
}

#[test]
fn the_gradient_vanishes_at_the_minimiser() {
    for (examples, width) in sizes() {
        let data = table(examples, width);
        let found = problem(&data, &halves(examples), &vec![0.0; CLASSES * (width + 1)]);
        let all: Vec<u32> = (0..examples as u32).collect();
        let slope = norm(mean_gradient(&found.minimiser, &data, &all));
        assert!(slope < 1e-4, "{slope}");
        assert!(found.distance(&found.minimiser) == 0.0);
        let zeros = vec![0.0; found.minimiser.len()];
        let away = norm(found.minimiser.iter().copied());
        assert!((found.distance(&zeros) - away).abs() < 1e-12 && away > 0.1);
    }
}

#[test]
fn gradients_change_no_faster_than_the_smoothness_and_almost_as_fast_somewhere() {
    for (examples, width) in sizes() {
        let data = table(examples, width);
        let shards = halves(examples);
        let size = CLASSES * (width + 1);
        let found = problem(&data, &shards, &vec![0.0; size]);
        let mut fastest = 0.0_f64;
        for seed in 0..200 {
            let here: Vec<f64> = noise(seed).take(size).map(|w| 0.2 * w).collect();
            let there: Vec<f64> = here
                .iter()
                .zip(noise(seed + 1000))
                .map(|(w, x)| w + 1e-3 * x)
                .collect();
            for shard in &shards {
                let [a, b] = [&here, &there].map(|model| mean_gradient(model, &data, shard));
                let change = norm(a.iter().zip(&b).map(|(a, b)| a - b));
                let step = norm(here.iter().zip(&there).map(|(a, b)| a - b));
                fastest = fastest.max(change / step);
            }
        }
        assert!(
            fastest <= found.smoothness,
            "{fastest} {}",
            found.smoothness
        );
        assert!(
            fastest > 0.2 * found.smoothness,
            "{fastest} {}",
            found.smoothness
        );
    }
}

#[test]
fn the_largest_curvature_is_that_of_power_iteration() {
    for (examples, width) in sizes() {
        let (table, _) = table(examples, width);
        let inputs = Chosen::new(&table, (0..examples as u32).collect());
        let mut row = vec![0.0; width + 1];
        let mut vector = vec![1.0; width + 1];
        let mut value = 0.0;
        for _ in 0..2000 {
            let mut next = vec![0.0; width + 1];
            for index in 0..examples {
                inputs.read(index, &mut row);
                let product: f64 = row.iter().zip(&vector).map(|(x, v)| x * v).sum();
                for (next, x) in next.iter_mut().zip(&row) {
                    *next += product * x / examples as f64;
                }
            }
            value = norm(next.iter().copied());
            vector = next.iter().map(|x| x / value).collect();
        }
        let found = largest_curvature(&inputs);
        assert!((found / value - 1.0).abs() < 1e-9, "{found} {value}");
    }
}

#[test]
fn no_gradient_is_longer_than_the_bound() {
    let (examples, width) = (60, 5);
    let data = table(examples, width);
    let size = CLASSES * (width + 1);
    let first: Vec<f64> = noise(5).take(size).collect();
    let found = problem(&data, &halves(examples), &first);
    let bound = found.gradient_norm(norm(first.iter().copied()));
    // Models that SGD reaches with the largest rate that the bound admits.
    let mut model = first;
    for step in 0..400 {
        let example = step * 17 % examples;
        let own = gradient(&model, &data.0.0[example], data.1[example]);
        let whole: Vec<f64> = own.iter().zip(&model).map(|(g, w)| g + DECAY * w).collect();
        assert!(norm(whole.iter().copied()) <= 1.5 * bound);
        for (w, g) in model.iter_mut().zip(&whole) {
            *w -= g / DECAY;
        }
        for shard in halves(examples) {
            let squares = shard.iter().map(|&example| {
                let own = gradient(
                    &model,
                    &data.0.0[example as usize],
                    data.1[example as usize],
                );
                norm(own.iter().zip(&model).map(|(g, w)| g + DECAY * w)).powi(2)
            });
            let root_mean_square = (squares.sum::<f64>() / shard.len() as f64).sqrt();
            assert!(root_mean_square <= bound, "{root_mean_square} {bound}");
        }
    }
}

#[test]
fn gaps_and_the_degree_are_of_the_losses() {
    let (examples, width) = (90, 4);
    let data = table(examples, width);
    let zeros = vec![0.0; CLASSES * (width + 1)];
    let found = problem(&data, &halves(examples), &zeros);
    for client in &found.clients {
        // Without weights every class is as likely.
        assert!((client.least + client.gap - (CLASSES as f64).ln()).abs() < 1e-12);
        assert!(client.share == 0.5 && client.gap > 0.0);
    }
    let alone = found
        .clients
        .iter()
        .map(|client| client.share * client.least);
    let degree = found.least - alone.sum::<f64>();
    assert!(degree > 0.0 && found.non_iid_degree() == degree);
}

#[test]
fn what_is_rounded_up_has_six_digits() {
    assert_eq!(rounded_up(12.345_67), 12.3457);
    assert_eq!(rounded_up(0.012_345_601), 0.012_345_7);
    assert_eq!(rounded_up(2.0), 2.0);
    assert_eq!(rounded_up(0.0), 0.0);
}
