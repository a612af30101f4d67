//! Gradients of random small networks on random shapes: plain loops, burn's automatic differentiation and the trainer.

use crate::support::*;
use meshfold_data::Input;
use meshfold_engine::{CharLstm, GnLenet, Judged, Mlp, Model, NormPlace, Resnet, WordLstm, oracle};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A number from `from` to `to`.
fn draw(rng: &mut ChaCha8Rng, from: usize, to: usize) -> usize {
    rng.random_range(from..=to)
}

fn judged(rng: &mut ChaCha8Rng) -> Judged {
    match draw(rng, 0, 1) {
        0 => Judged::Last,
        _ => Judged::EveryPosition,
    }
}

fn dense(rng: &mut ChaCha8Rng) -> (Model, Input) {
    let layers = draw(rng, 0, 3);
    let hidden = (0..layers).map(|_| draw(rng, 1, 40)).collect();
    let dropout = 0.0;
    let input = image(draw(rng, 1, 3), draw(rng, 1, 4), draw(rng, 1, 9));
    (
        Model::Mlp(Mlp {
            hidden,
            dropout,
            ..Mlp::default()
        }),
        input,
    )
}

fn lenet(rng: &mut ChaCha8Rng) -> (Model, Input) {
    let pool_padding = draw(rng, 0, 1);
    let norm = match draw(rng, 0, 1) {
        0 => NormPlace::AfterPool,
        _ => NormPlace::BeforeRelu,
    };
    // Three maxima of 3 x 3 fit 15 places; with a border they fit any grid.
    let least = if pool_padding == 0 { 15 } else { 1 };
    let (height, width) = (draw(rng, least, least + 3), draw(rng, least, least + 6));
    let input = image(draw(rng, 1, 4), height, width);
    (Model::GnLenet(GnLenet { pool_padding, norm }), input)
}

fn two_convolutions(rng: &mut ChaCha8Rng) -> (Model, Input) {
    let input = image(draw(rng, 1, 4), draw(rng, 4, 9), draw(rng, 4, 7));
    (Model::CnnCifar, input)
}

fn residual(rng: &mut ChaCha8Rng) -> (Model, Input) {
    let groups = draw(rng, 1, 3);
    let resnet = Resnet {
        depth: [10, 18][draw(rng, 0, 1)],
        width: groups * draw(rng, 1, 3),
        groups,
    };
    let height = draw(rng, 1, 6);
    let input = image(draw(rng, 1, 4), height, draw(rng, 9, 20) / height.min(3));
    (Model::Resnet(resnet), input)
}

fn recurrent(rng: &mut ChaCha8Rng) -> (Model, Input) {
    let (embedding, hidden, layers) = (draw(rng, 1, 9), draw(rng, 1, 19), draw(rng, 1, 3));
    let (loss, window) = (judged(rng), draw(rng, 1, 9));
    let chars = CharLstm {
        embedding,
        hidden,
        layers,
        loss,
    };
    let words = WordLstm {
        embedding,
        hidden,
        layers,
        loss,
    };
    let model = match draw(rng, 0, 1) {
        0 => Model::CharLstm(chars),
        _ => Model::WordLstm(words),
    };
    (model, Input::Tokens { window })
}

/// Holds the trainer and burn against the plain loop on a network that `kind` draws from `seed`.
fn compare(kind: fn(&mut ChaCha8Rng) -> (Model, Input), seed: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (model, input) = kind(&mut rng);
    let classes = draw(&mut rng, 2, 11);
    let case = Case {
        model,
        input,
        classes,
        margin: 0,
        precision: meshfold_engine::Precision::F32,
    };
    let learner = case.learner(&cpu(1, None), &[draw(&mut rng, 1, 7)]);
    let stack = shaken(&learner, 1);
    let shard = learner.partition().shard(0);
    let (x, targets) = batch(&learner, &learner.splits().train, shard);
    let row = stack.to_host();
    let weights: Vec<f64> = row.iter().map(|weight| f64::from(*weight)).collect();
    let (loss, plain) = oracle::plain(learner.network(), &weights, &x, &targets);
    let x: Vec<f32> = x.into_iter().map(|value| value as f32).collect();
    let (by_burn, burn) = oracle::autodiff(learner.network(), &row, &x, &targets);
    let trainer = learner.shard_gradients(&stack, &[0]).unwrap().to_host();
    assert!(
        (f64::from(by_burn) - loss).abs() < 1e-5 * loss.abs().max(1.0),
        "{case:?}"
    );
    for (by, found) in [("burn", burn), ("the trainer", trainer)] {
        // Rounding in f32, which a division by the deviation of few numbers in each of 18 layers makes larger: 2e-5 at
        // most over 160 networks so drawn, and below 3e-6 where groups have ten numbers.
        let apart = block_difference(learner.network(), &found, &plain);
        assert!(apart < 1e-4, "{case:?} by {by}: {apart}");
    }
}

#[test]
fn all_agree_on_dense_networks_of_any_width() {
    (0..20).for_each(|seed| compare(dense, seed));
}

#[test]
fn all_agree_on_normalised_convolutions_on_any_grid() {
    (0..6).for_each(|seed| compare(lenet, seed));
}

#[test]
fn all_agree_on_plain_convolutions_on_any_grid() {
    (0..4).for_each(|seed| compare(two_convolutions, seed));
}

#[test]
fn all_agree_on_residual_networks_of_images_and_signals() {
    (0..20).for_each(|seed| compare(residual, seed));
}

#[test]
fn all_agree_on_recurrent_networks_of_any_length() {
    (0..20).for_each(|seed| compare(recurrent, seed));
}
