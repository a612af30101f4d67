//! A small learning problem and a sequential transcription of local steps in double precision.
#![allow(dead_code, missing_docs, unreachable_pub)]

mod cases;
pub mod quantising;

pub use cases::*;
use meshfold_data::{Examples, Owners, Partition};
use meshfold_engine::DeviceRequest;
use meshfold_engine::{
    Amount, BatchSize, Device, Dnn8, Draw, Dropout, Head, Instructions, Key, Learner, LearningRate,
    Linear, LocalWork, Mlp, Model, Network, Purpose, RowWork, Sgd, Split, Stack, Start, Targets,
    Velocity, oracle, stream,
};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub const FEATURES: usize = 21;
pub const CLASSES: usize = 3;
pub const SEED: u64 = 5;

/// Shards of the given sizes, in order.
pub fn partition(sizes: &[usize]) -> Partition {
    let mut next = 0;
    let shards = sizes
        .iter()
        .map(|size| {
            let shard = (next..next + *size as u32).collect();
            next += *size as u32;
            shard
        })
        .collect();
    Partition::new(shards, next as usize).unwrap()
}

/// The same clients with local test sets of the share `share`.
pub fn with_local_tests(partition: Partition, share: f64) -> Partition {
    partition.with_local_tests(share, |client| ChaCha8Rng::seed_from_u64(client.into()))
}

/// The same clients with local test sets of test examples, which several owners have in turn: two of each client, and one of nobody.
pub fn with_tests_of_owners(partition: Partition, tests: usize) -> Partition {
    let clients = partition.clients() as u32;
    let of_example = partition.per_example(0, |client| client as u32);
    let train = of_example.iter().zip(0..);
    let train: Vec<u32> = train.map(|(client, at)| 2 * client + at % 2).collect();
    let test: Vec<u32> = (0..tests as u32).map(|at| at % (2 * clients + 1)).collect();
    let [train, test] = [&train, &test].map(|owners| Owners::Listed(owners));
    partition.with_tests_of_owners(train, test).unwrap()
}

/// Expects that the rows of `stack` do on the local test sets of `clients` as on the same examples of the set that they are of.
pub fn expect_scores_on_local_tests(learner: &mut Learner, stack: &Stack, clients: &[u32]) {
    let scores = learner.evaluate(stack, Split::LocalTests(clients), None);
    for (row, (client, score)) in clients.iter().zip(scores.unwrap()).enumerate() {
        let own = learner.partition().local_test(*client as usize).to_vec();
        assert!(own.len() > 1, "two cannot agree by chance");
        let split = match learner.partition().has_tests_of_owners() {
            true => Split::Test,
            false => Split::Train,
        };
        let of_all = learner.evaluate(stack, split, Some(&own)).unwrap()[row];
        assert!(
            (score.loss - of_all.loss).abs() < 1e-5 * of_all.loss,
            "{score:?}, {of_all:?}"
        );
        assert!(
            (score.accuracy - of_all.accuracy).abs() < 1e-12,
            "{score:?}, {of_all:?}"
        );
    }
}

/// Expects that training aside on `device`, between two rounds, has the models of a new learner with the other seed, and that nothing
/// else shows it.
pub fn expect_no_trace_of_training_aside(device: &Device) {
    let sizes = [23, 8, 3, 16];
    let case = Case::of_pixels(mlp(), CLASSES);
    let of_seed = |seed| case.seeded(case.network(), device, &sizes, seed);
    let tasks = rows(&[
        Amount::Steps(3),
        Amount::Epochs(1),
        Amount::Idle,
        Amount::Steps(7),
    ]);
    let (usual, other) = (sgd(5, 0.5), sgd(4, 0.0));
    let aside = rows(&[
        Amount::Steps(9),
        Amount::Idle,
        Amount::Epochs(2),
        Amount::Steps(1),
    ]);
    let aside = work(1, &aside, &other);
    let run = |trains_aside: bool| {
        let mut learner = of_seed(SEED);
        let mut stack = learner.initial(4, Start::Same).unwrap();
        let mut found = Vec::new();
        for round in 1..=3 {
            let step = work(round, &tasks, &usual);
            learner.train(&mut stack, Velocity::Fresh, &step).unwrap();
            // What a device has of losses moves to the host where models are judged.
            learner.expect_finite(&stack, &[true; 4], round).unwrap();
            if trains_aside && round != 2 {
                let mut copy = stack.duplicate();
                learner.train_aside(&mut copy, &aside, SEED + 1).unwrap();
                found.push((stack.to_host(), copy.to_host()));
            }
        }
        let state = serde_json::to_string(&learner.state()).unwrap();
        ((stack.to_host(), learner.tally(), state), found)
    };
    let ((plain, none), (watched, copies)) = (run(false), run(true));
    assert!(plain == watched && none.is_empty());
    for (before, after) in copies {
        let mut learner = of_seed(SEED + 1);
        let layout = learner.network().layout().clone();
        let mut stack = Stack::from_host(device, &layout, before.clone()).unwrap();
        learner.train(&mut stack, Velocity::Fresh, &aside).unwrap();
        assert!(stack.to_host() == after && after != before);
    }
}

pub fn mlp() -> Model {
    Model::Mlp(Mlp {
        hidden: vec![17, 5],
        dropout: 0.0,
        ..Mlp::default()
    })
}

/// As [`mlp`], wide enough that leaving out units leaves some.
pub fn dropping_mlp() -> Model {
    Model::Mlp(Mlp {
        hidden: vec![33, 13],
        dropout: 0.4,
        ..Mlp::default()
    })
}

/// The four linear models: one-hot targets and values, with a bias and without.
pub fn linear() -> [Model; 4] {
    [
        (Targets::OneHot, true),
        (Targets::OneHot, false),
        (Targets::Value, true),
        (Targets::Value, false),
    ]
    .map(|(targets, bias)| Model::Linear(Linear { targets, bias }))
}

pub fn dnn8() -> Model {
    Model::Dnn8(Dnn8::default())
}

/// A network of dense layers with one output for two classes.
pub fn sigmoid_mlp() -> Model {
    Model::Mlp(Mlp {
        hidden: vec![17, 5],
        dropout: 0.0,
        head: Head::Sigmoid,
    })
}

/// Every model and kind of loss but for the slow one, and numbers of classes.
pub fn models() -> Vec<(Model, usize)> {
    let few = [Model::Logistic, mlp(), dropping_mlp()];
    let many = few.into_iter().chain(linear());
    let two = [Model::BinaryLogistic, sigmoid_mlp()];
    let pairs = many.map(|model| (model, CLASSES));
    pairs.chain(two.map(|model| (model, 2))).collect()
}

pub fn learner(device: &Device, model: &Model, sizes: &[usize]) -> Learner {
    learner_of_classes(device, model, sizes, CLASSES)
}

pub fn learner_of_classes(
    device: &Device,
    model: &Model,
    sizes: &[usize],
    classes: usize,
) -> Learner {
    Case::of_pixels(model.clone(), classes).learner(device, sizes)
}

pub fn cpu(threads: usize, instructions: Option<Instructions>) -> Device {
    Device::open(DeviceRequest::Cpu, Some(threads), instructions).unwrap()
}

/// The first adapter. Tests that open it are ignored unless they are asked for, and fail where there is none.
#[cfg(feature = "gpu")]
pub fn gpu() -> Device {
    Device::open(DeviceRequest::Wgpu(0), None, None).expect("an adapter")
}

pub fn sgd(batch: u32, momentum: f32) -> Sgd {
    Sgd {
        learning_rate: LearningRate::Constant(0.05),
        momentum,
        nesterov: false,
        weight_decay: 0.0,
        clip_norm: None,
        batch_size: BatchSize::Size(batch),
        draw: Draw::Shuffled,
    }
}

/// The same with Nesterov momentum.
pub fn nesterov(sgd: Sgd) -> Sgd {
    Sgd {
        nesterov: true,
        ..sgd
    }
}

pub fn rows(amounts: &[Amount]) -> Vec<RowWork> {
    (0..)
        .zip(amounts)
        .map(|(client, amount)| RowWork {
            client,
            amount: *amount,
        })
        .collect()
}

pub fn work<'a>(round: usize, rows: &'a [RowWork], sgd: &'a Sgd) -> LocalWork<'a> {
    LocalWork::new(round, rows, sgd)
}

/// One client trained by itself in double precision, batch by batch, as a paper's box would have it.
pub struct Sequential<'a> {
    pub learner: &'a Learner,
    pub row: u32,
    pub weights: Vec<f64>,
    pub velocity: Vec<f64>,
    passes: u32,
    steps: u64,
}

impl<'a> Sequential<'a> {
    pub fn new(learner: &'a Learner, row: u32, weights: &[f32]) -> Self {
        let weights: Vec<f64> = weights.iter().map(|w| f64::from(*w)).collect();
        Self {
            learner,
            row,
            velocity: vec![0.0; weights.len()],
            weights,
            passes: 0,
            steps: 0,
        }
    }

    /// The batches of one epoch: a permutation of the shard from the row's own stream, cut up.
    pub fn epoch(&mut self, batch: usize) -> Vec<Vec<u32>> {
        let mut order = self.learner.partition().shard(self.row as usize).to_vec();
        if batch < order.len() {
            let key = Key {
                row: self.row,
                step: self.passes,
                ..Key::default()
            };
            order.shuffle(&mut stream(SEED, Purpose::Batches, key));
            self.passes += 1;
        }
        order.chunks(batch).map(<[u32]>::to_vec).collect()
    }

    /// What a training step of this row would take as its gradient on `indices`.
    pub fn gradient(&self, indices: &[u32]) -> Vec<f64> {
        let network = self.learner.network();
        self.gradient_with(indices, network.dropout(SEED, self.row, self.steps))
    }

    pub fn gradient_with(&self, indices: &[u32], dropout: Option<Dropout>) -> Vec<f64> {
        let (x, targets) = batch(self.learner, &self.learner.splits().train, indices);
        let network = self.learner.network();
        oracle::plain_with_dropout(network, &self.weights, &x, &targets, dropout.as_ref()).1
    }

    /// PyTorch's order: clip, weight decay, extra terms, momentum, step.
    pub fn step(
        &mut self,
        indices: &[u32],
        sgd: &Sgd,
        rate: f64,
        extra: &dyn Fn(usize, f64) -> f64,
    ) {
        let mut gradient = self.gradient(indices);
        self.steps += 1;
        if let Some(clip) = sgd.clip_norm {
            let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            let scale = (f64::from(clip) / norm).min(1.0);
            gradient.iter_mut().for_each(|g| *g *= scale);
        }
        let states = self.weights.iter_mut().zip(&mut self.velocity);
        for (at, ((w, v), g)) in states.zip(gradient).enumerate() {
            let g = g + f64::from(sgd.weight_decay) * *w + extra(at, *w);
            let momentum = f64::from(sgd.momentum);
            *v = momentum * *v + g;
            let along = match sgd.nesterov {
                true => g + momentum * *v,
                false => *v,
            };
            *w -= rate * along;
        }
    }
}

/// Independent initial models with every parameter moved a little, so that no bias is zero and no factor is one.
pub fn shaken(learner: &Learner, rows: usize) -> Stack {
    let stack = learner.initial(rows, Start::Independent).unwrap();
    let (layout, mut values) = (stack.layout(), stack.to_host());
    // At a kink, two equal maxima or a ReLU at zero, rounding decides between two slopes. With this seed a change of the
    // models by 3e-7 moves no gradient of `convolutional` by more than 2e-5 of its block; with one in four it does.
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for row in values.chunks_exact_mut(layout.width()) {
        for block in layout.blocks() {
            for value in &mut row[block.range()] {
                *value += rng.random_range(-0.2..0.2);
            }
        }
    }
    Stack::from_host(stack.device(), layout, values).unwrap()
}

/// Features `[B, D]` as stored and targets `[B, T]` of `examples` at `indices`, as the oracle wants them.
pub fn batch(learner: &Learner, examples: &Examples, indices: &[u32]) -> (Vec<f64>, Vec<u16>) {
    let (mut x, mut targets) = (Vec::new(), Vec::new());
    for index in indices.iter().map(|index| *index as usize) {
        let features = examples.row(index);
        if learner.network().positions() > 1 {
            // What follows every token but the last is in the window; the label follows the last.
            targets.extend(features[1..].iter().map(|token| *token as u16));
        }
        targets.push(examples.labels()[index]);
        x.extend(features.into_iter().map(f64::from));
    }
    (x, targets)
}

/// Largest difference between an f32 row and its transcription.
pub fn difference(row: &[f32], reference: &[f64]) -> f64 {
    row.iter()
        .zip(reference)
        .map(|(a, b)| (f64::from(*a) - b).abs())
        .fold(0.0, f64::max)
}

/// Largest distance of a block of an f32 row from its transcription, as a share of the length of the transcription's
/// block; blocks shorter than a thousandth of the whole count as that long.
pub fn block_difference(network: &Network, row: &[f32], reference: &[f64]) -> f64 {
    let length = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let least = 1e-3 * length(reference);
    let blocks = network.layout().blocks().iter();
    let apart = blocks.map(|block| {
        let reference = &reference[block.range()];
        let pairs = row[block.range()].iter().zip(reference);
        let errors: Vec<f64> = pairs.map(|(a, b)| f64::from(*a) - b).collect();
        length(&errors) / length(reference).max(least)
    });
    apart.fold(0.0, f64::max)
}
