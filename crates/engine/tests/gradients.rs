//! Gradients of the trainers against finite differences, plain loops and burn's automatic differentiation.
#![allow(clippy::unwrap_used)]

mod support;

use meshfold_engine::{Amount, BatchSize, Model, Start, oracle};
use support::*;

fn models() -> [Model; 2] {
    [Model::Logistic, mlp()]
}

#[test]
fn the_plain_gradient_is_the_slope_of_the_loss() {
    for model in models() {
        let learner = learner(&cpu(1, None), &model, &[11]);
        let network = learner.network();
        let row: Vec<f64> = learner
            .initial(1, Start::Same)
            .unwrap()
            .to_host()
            .iter()
            .map(|w| f64::from(*w))
            .collect();
        let train = &learner.splits().train;
        let x: Vec<f64> = train
            .features()
            .iter()
            .map(|p| f64::from(*p) / 127.5 - 1.0)
            .collect();
        let (_, gradient) = oracle::plain(network, &row, &x, train.labels());
        for block in network.layout().blocks() {
            for at in block.range().step_by(7) {
                let loss = |shift: f64| {
                    let mut moved = row.clone();
                    moved[at] += shift;
                    oracle::plain(network, &moved, &x, train.labels()).0
                };
                let slope = (loss(1e-6) - loss(-1e-6)) / 2e-6;
                // Central differences in f64 with a step of 1e-6 are good to about 1e-9.
                assert!(
                    (slope - gradient[at]).abs() < 1e-7,
                    "{} at {at}: {slope} {}",
                    block.name,
                    gradient[at]
                );
            }
        }
    }
}

#[test]
fn autodiff_and_the_trainer_agree_with_the_plain_gradient() {
    for model in models() {
        for batch in [1, 6, 13] {
            let mut learner = learner(&cpu(2, None), &model, &[13, 9]);
            let stack = learner.initial(2, Start::Independent).unwrap();
            let mut rule = sgd(batch, 0.0);
            rule.batch_size = BatchSize::Full;
            let rows = rows(&[Amount::Steps(1), Amount::Steps(1)]);
            let gradients = learner
                .gradients(&stack, &work(1, &rows, &rule))
                .unwrap()
                .to_host();
            let (values, width) = (stack.to_host(), stack.layout().width());
            for row in 0..2u32 {
                let weights = &values[row as usize * width..][..width];
                let shard = learner.partition().shard(row as usize).to_vec();
                let train = &learner.splits().train;
                let x: Vec<f32> = shard
                    .iter()
                    .flat_map(|i| train.row(*i as usize))
                    .map(|p| f32::from(*p) * (2.0 / 255.0) - 1.0)
                    .collect();
                let labels: Vec<u16> = shard.iter().map(|i| train.labels()[*i as usize]).collect();
                let (_, by_autodiff) = oracle::autodiff(learner.network(), weights, &x, &labels);
                let plain = Sequential::new(&learner, row, weights).gradient(&shard);
                // Sums of 13 products of numbers near 1 in f32.
                assert!(difference(&by_autodiff, &plain) < 2e-6);
                assert!(difference(&gradients[row as usize * width..][..width], &plain) < 2e-6);
            }
        }
    }
}

#[test]
fn an_idle_row_has_no_gradient() {
    let mut learner = learner(&cpu(2, None), &mlp(), &[13, 9]);
    let stack = learner.initial(2, Start::Same).unwrap();
    let rows = rows(&[Amount::Idle, Amount::Steps(1)]);
    let gradients = learner
        .gradients(&stack, &work(1, &rows, &sgd(4, 0.0)))
        .unwrap()
        .to_host();
    let width = stack.layout().width();
    assert!(gradients[..width].iter().all(|g| *g == 0.0));
    assert!(gradients[width..].iter().any(|g| *g != 0.0));
}

#[test]
fn a_clipped_gradient_has_the_norm_asked_for() {
    let mut learner = learner(&cpu(1, None), &mlp(), &[13]);
    let stack = learner.initial(1, Start::Same).unwrap();
    let mut rule = sgd(13, 0.0);
    rule.clip_norm = Some(0.01);
    let rows = rows(&[Amount::Steps(1)]);
    let gradient = learner
        .gradients(&stack, &work(1, &rows, &rule))
        .unwrap()
        .to_host();
    let norm = gradient
        .iter()
        .map(|g| f64::from(*g).powi(2))
        .sum::<f64>()
        .sqrt();
    assert!((norm - 0.01).abs() < 1e-7);
}
