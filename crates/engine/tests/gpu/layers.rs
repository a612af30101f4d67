//! The stacked trainer on every kind of layer, against the oracle and against the client-blocked trainer.

use crate::support::{
    Case, SEED, batch, block_difference, convolutional, cpu, gpu, partition, recurrent, rows, sgd,
    work,
};
use meshfold_data::{Examples, Input, Scale, Shape, Splits};
use meshfold_engine::{
    Amount, BatchSize, Device, Learner, LearningRate, Model, Network, Resnet, RowWork, Sgd, Split,
    Stack, Start, Velocity, oracle,
};
use std::sync::Arc;

/// Shards of different sizes, one smaller than a batch.
const SHARDS: [usize; 4] = [13, 4, 21, 9];

/// Every row does something else; one is idle.
fn tasks() -> Vec<RowWork> {
    rows(&[
        Amount::Epochs(1),
        Amount::Steps(3),
        Amount::Idle,
        Amount::Epochs(2),
    ])
}

/// Holds the gradient of every row on its shard against the transcription in double precision.
fn against_the_oracle(case: &Case) {
    let device = gpu();
    let learner = case.learner(&device, &SHARDS);
    let network = learner.network();
    let stack = learner.initial(4, Start::Independent).unwrap();
    let clients = [1, 3, 0, 1];
    let gradients = learner.shard_gradients(&stack, &clients).unwrap().to_host();
    let width = network.layout().width();
    let models = stack.to_host();
    for (row, client) in clients.iter().enumerate() {
        let shard = learner.partition().shard(*client as usize);
        let (x, targets) = batch(&learner, &learner.splits().train, shard);
        let model: Vec<f64> = models[row * width..][..width]
            .iter()
            .map(|w| f64::from(*w))
            .collect();
        let (_, expected) = oracle::plain(network, &model, &x, &targets);
        let found = &gradients[row * width..][..width];
        let apart = block_difference(network, found, &expected);
        // Sums of up to a thousand products in f32.
        assert!(apart < 1e-4, "{case:?}, row {row}: {apart:e}");
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn gradients_of_convolutional_networks_are_those_of_the_oracle() {
    convolutional().iter().for_each(against_the_oracle);
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn gradients_of_recurrent_networks_are_those_of_the_oracle() {
    recurrent().iter().for_each(against_the_oracle);
}

/// What two rounds of training leave behind, and scores of every kind.
struct Outcome {
    models: Vec<f32>,
    velocities: Vec<f32>,
    train_loss: f64,
    scores: Vec<(f64, f64)>,
}

fn train(mut learner: Learner, sgd: &Sgd, tasks: &[RowWork]) -> Outcome {
    let mut stack = learner.initial(tasks.len(), Start::Independent).unwrap();
    let layout = learner.network().layout().clone();
    let mut velocity = Stack::zeros(learner.device(), &layout, tasks.len());
    for round in 1..=2 {
        let work = work(round, tasks, sgd);
        learner
            .train(&mut stack, Velocity::Kept(&mut velocity), &work)
            .unwrap();
    }
    let subset: Vec<u32> = (0..200).step_by(7).collect();
    let clients: Vec<u32> = (0..tasks.len() as u32).rev().collect();
    let mut scores = Vec::new();
    for (split, subset) in [
        (Split::Test, None),
        (Split::Test, Some(&subset[..])),
        (Split::Train, None),
        (Split::Shards(&clients), None),
    ] {
        let judged = learner.evaluate(&stack, split, subset).unwrap();
        scores.extend(judged.iter().map(|score| (score.loss, score.accuracy)));
    }
    Outcome {
        models: stack.to_host(),
        velocities: velocity.to_host(),
        train_loss: learner.tally().train_loss.unwrap(),
        scores,
    }
}

fn all_at_once() -> Sgd {
    Sgd {
        learning_rate: LearningRate::Constant(0.02),
        weight_decay: 0.01,
        clip_norm: Some(1.0),
        batch_size: BatchSize::Size(6),
        ..sgd(6, 0.9)
    }
}

/// Holds training and scores on the device against those on the processor.
fn against_the_processor(what: &str, learner: impl Fn(&Device) -> Learner) {
    let device = gpu();
    let outcome = |device: &Device| train(learner(device), &all_at_once(), &tasks());
    let (found, expected) = (outcome(&device), outcome(&cpu(2, None)));
    for (found, expected) in [
        (&found.models, &expected.models),
        (&found.velocities, &expected.velocities),
    ] {
        assert_eq!(found.len(), expected.len());
        for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
            // Sums of up to a thousand products in f32, over ten steps.
            assert!(
                (found - expected).abs() <= 2e-4 * expected.abs().max(1.0),
                "{what}, value {index}: {found}, on the processor {expected}"
            );
        }
    }
    let apart = (found.train_loss - expected.train_loss).abs();
    assert!(apart < 1e-4 * expected.train_loss, "{what}: {apart}");
    for (found, expected) in found.scores.iter().zip(&expected.scores) {
        assert!(
            (found.0 - expected.0).abs() < 1e-4 * expected.0,
            "{what}: {found:?}, on the processor {expected:?}"
        );
        // Outputs of two classes may be equal but for the last bits, in one position of some shard.
        assert!(
            (found.1 - expected.1).abs() < 0.03,
            "{what}: {found:?}, on the processor {expected:?}"
        );
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn convolutional_networks_train_and_score_as_on_the_processor() {
    for case in convolutional() {
        against_the_processor(&format!("{case:?}"), |device| case.learner(device, &SHARDS));
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn recurrent_networks_train_and_score_as_on_the_processor() {
    for case in recurrent() {
        against_the_processor(&format!("{case:?}"), |device| case.learner(device, &SHARDS));
    }
}

/// A residual network of signals on `examples`.
fn signals(device: &Device, examples: Examples) -> Learner {
    let model = Model::Resnet(Resnet {
        depth: 10,
        width: 4,
        groups: 2,
    });
    let network = Network::new(&model, examples.input(), 3).unwrap();
    let examples = Arc::new(examples);
    let splits = Splits {
        train: examples.clone(),
        test: examples,
        validation: None,
    };
    Learner::upload(device, network, splits, Arc::new(partition(&SHARDS)), SEED).unwrap()
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn numbers_and_bytes_with_a_scale_for_each_channel_train_as_on_the_processor() {
    let shape = Shape {
        channels: 2,
        height: 1,
        width: 13,
    };
    let count: usize = SHARDS.iter().sum::<usize>() + 160;
    let bytes: Vec<u8> = (0..count * shape.features())
        .map(|at| ((at as u64 * 2_654_435_761) >> 7) as u8)
        .collect();
    let labels: Vec<u16> = bytes
        .chunks_exact(shape.features())
        .map(|example| u16::from(example[3] / 100))
        .collect();
    let numbers: Vec<f32> = bytes
        .iter()
        .map(|byte| f32::from(*byte) / 99.0 - 1.0)
        .collect();
    let scales = [0.4, 0.6].map(|mean| Scale::standardising(mean, 0.5 - 0.5 * mean));
    against_the_processor("numbers", |device| {
        let (numbers, labels) = (numbers.clone(), labels.clone());
        signals(
            device,
            Examples::numbers(numbers, labels, shape, 3).unwrap(),
        )
    });
    against_the_processor("bytes", |device| {
        let (bytes, labels) = (bytes.clone(), labels.clone());
        let scales = scales.to_vec();
        let examples = Examples::scaled_by_channel(bytes, labels, shape, 3, scales);
        signals(device, examples.unwrap())
    });
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn the_same_seed_gives_the_same_bits_whatever_else_shares_the_stack() {
    let device = gpu();
    for case in [&convolutional()[1], &recurrent()[0]] {
        let run = |tasks: &[RowWork]| train(case.learner(&device, &SHARDS), &all_at_once(), tasks);
        let (all, again, some) = (run(&tasks()), run(&tasks()), run(&tasks()[..2]));
        assert_eq!(all.models, again.models);
        assert_eq!(all.scores, again.scores);
        assert_eq!(all.models[..some.models.len()], some.models);
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn examples_that_a_network_does_not_read_are_refused() {
    let device = gpu();
    let case = &recurrent()[0];
    let Input::Tokens { window } = case.input else {
        unreachable!("recurrent networks read tokens")
    };
    let shape = Shape::flat(window);
    let examples = Examples::new(vec![0; 47 * window], vec![0; 47], shape, 7, Scale::UNIT);
    let examples = Arc::new(examples.unwrap());
    let splits = Splits {
        train: examples.clone(),
        test: examples,
        validation: None,
    };
    let partition = Arc::new(partition(&SHARDS));
    let refused = Learner::upload(&device, case.network(), splits, partition, SEED);
    assert!(refused.unwrap_err().to_string().contains("examples"));
}
