//! Rounds of each method against a sequential, client-by-client transcription in double precision, and the reductions
//! between methods that the papers state.
#![allow(clippy::unwrap_used)]

use meshfold_algorithms::{
    Algorithm, Alone, BatchSetting, Dfedavg, Dfedavgm, Dsgd, Fedavg, Local, Method, Order,
    Participation, Round, Setting, Traffic, Weighting,
};
use meshfold_data::{Examples, Partition, Scale, Shape, Splits};
use meshfold_engine::{
    BatchSize, Device, Draw, Learner, LearningRate, Mixing, Mlp, Model, Network, Stack, Start,
    oracle,
};
use meshfold_topology::{MixingMatrix, Overlay, Weights};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

const FEATURES: usize = 6;
const SIZES: [usize; 5] = [4, 9, 2, 7, 5];
const RATE: f64 = 0.1;
const SEED: u64 = 8;

/// A learner whose batches are whole shards, so that no draw matters.
fn learner() -> Learner {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let total: usize = SIZES.iter().sum();
    let pixels = (0..total * FEATURES).map(|_| rng.random()).collect();
    let labels = (0..total).map(|_| rng.random_range(0..3)).collect();
    let shape = Shape {
        channels: 1,
        height: 2,
        width: 3,
    };
    let examples = Examples::new(
        pixels,
        labels,
        shape,
        3,
        Scale {
            multiply: 1.0 / 128.0,
            add: -1.0,
        },
    )
    .unwrap();
    let examples = Arc::new(examples);
    let mut next = 0;
    let shards = SIZES.iter().map(|size| {
        next += *size as u32;
        (next - *size as u32..next).collect()
    });
    let partition = Partition::new(shards.collect(), total).unwrap();
    let network = Network::new(
        &Model::Mlp(Mlp {
            hidden: vec![5],
            ..Mlp::default()
        }),
        FEATURES,
        3,
    )
    .unwrap();
    let splits = Splits {
        train: examples.clone(),
        test: examples,
    };
    Learner::upload(
        &Device::cpu().unwrap(),
        network,
        splits,
        Arc::new(partition),
        SEED,
    )
    .unwrap()
}

/// An irregular overlay: a path with a chord.
fn overlay() -> Overlay {
    Overlay::from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (1, 3)]).unwrap()
}

fn matrix() -> MixingMatrix {
    Weights::default().matrix(&overlay()).unwrap()
}

struct Outcome {
    models: Vec<Vec<f64>>,
    traffic: Traffic,
    start: Vec<Vec<f64>>,
    learner: Learner,
}

fn rows_of(stack: &Stack) -> Vec<Vec<f64>> {
    stack
        .to_host()
        .chunks(stack.layout().width())
        .map(|row| row.iter().map(|w| f64::from(*w)).collect())
        .collect()
}

/// Runs `rounds` rounds of a method from independent starts.
fn run(method: &Method, rounds: usize, alive: [bool; 5]) -> Outcome {
    let mut learner = learner();
    let setting = Setting {
        clients: 5,
        shard_sizes: SIZES.to_vec(),
        seed: SEED,
        parameters: learner.network().layout().parameters(),
    };
    let mut algorithm: Box<dyn Algorithm> = method.build(&setting).unwrap();
    assert_eq!(algorithm.rows(), method.rows(5));
    let mut models = learner
        .initial(algorithm.rows().count, Start::Independent)
        .unwrap();
    let start = rows_of(&models);
    let (overlay, mixing) = (overlay(), Mixing::new(&matrix()));
    let mut traffic = Traffic::default();
    for number in 1..=rounds {
        traffic.clear();
        let mut round = Round {
            number,
            learner: &mut learner,
            overlay: Some(&overlay),
            mixing: Some(&mixing),
            alive: &alive,
            seed: SEED,
            traffic: &mut traffic,
        };
        algorithm.round(&mut models, &mut round).unwrap();
    }
    let models = rows_of(algorithm.deployed(&models));
    Outcome {
        models,
        traffic,
        start,
        learner,
    }
}

/// Full-batch gradient of one client.
fn gradient(learner: &Learner, client: usize, w: &[f64]) -> Vec<f64> {
    let train = &learner.splits().train;
    let shard = learner.partition().shard(client);
    let x: Vec<f64> = shard
        .iter()
        .flat_map(|index| train.row(*index as usize))
        .map(|pixel| f64::from(*pixel) / 128.0 - 1.0)
        .collect();
    let labels: Vec<u16> = shard
        .iter()
        .map(|index| train.labels()[*index as usize])
        .collect();
    oracle::plain(learner.network(), w, &x, &labels).1
}

/// `steps` steps of heavy ball with full batches.
fn local(
    learner: &Learner,
    client: usize,
    w: &mut [f64],
    v: &mut [f64],
    steps: usize,
    momentum: f64,
) {
    for _ in 0..steps {
        let g = gradient(learner, client, w);
        for at in 0..w.len() {
            v[at] = momentum * v[at] + g[at];
            w[at] -= RATE * v[at];
        }
    }
}

fn mix(models: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let matrix = matrix();
    (0..models.len())
        .map(|row| {
            let mut out = vec![0.0; models[0].len()];
            for (column, weight) in matrix.row(row) {
                for (out, w) in out.iter_mut().zip(&models[column as usize]) {
                    *out += weight * w;
                }
            }
            out
        })
        .collect()
}

fn expect_close(found: &[Vec<f64>], expected: &[Vec<f64>]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        for (a, b) in found.iter().zip(expected) {
            // A few f32 steps on weights near 1.
            assert!((a - b).abs() < 3e-6, "{a} {b}");
        }
    }
}

macro_rules! method {
    ($variant:ident { $($field:ident: $value:expr),* $(,)? } $steps:expr, $momentum:expr) => {
        Method::$variant($variant {
            $($field: $value,)*
            local: Local::Steps($steps),
            batch_size: BatchSetting(BatchSize::Full),
            draw: Draw::Shuffled,
            learning_rate: LearningRate::Constant(RATE),
            momentum: $momentum,
            weight_decay: 0.0,
            clip_norm: None,
        })
    };
}

const ALL: [bool; 5] = [true; 5];

#[test]
fn alone_is_each_client_by_itself() {
    let outcome = run(&method!(Alone {} 2, 0.9), 3, ALL);
    let mut expected = outcome.start.clone();
    for (client, w) in expected.iter_mut().enumerate() {
        let mut v = vec![0.0; w.len()];
        local(&outcome.learner, client, w, &mut v, 6, f64::from(0.9f32));
    }
    expect_close(&outcome.models, &expected);
    assert_eq!(outcome.traffic.bytes_total(), 0);
}

#[test]
fn dsgd_steps_then_mixes_and_keeps_its_momentum() {
    let outcome = run(&method!(Dsgd { order: Order::StepThenMix } 1, 0.9), 3, ALL);
    let mut models = outcome.start.clone();
    let mut velocity = vec![vec![0.0; models[0].len()]; 5];
    for _ in 0..3 {
        for (client, (w, v)) in models.iter_mut().zip(&mut velocity).enumerate() {
            local(&outcome.learner, client, w, v, 1, f64::from(0.9f32));
        }
        models = mix(&models);
    }
    expect_close(&outcome.models, &models);
    let bytes = 4 * outcome.learner.network().layout().parameters() as u64;
    assert_eq!(outcome.traffic.bytes_total(), 10 * bytes);
    assert_eq!(outcome.traffic.bytes_busiest_node(), 6 * bytes);
}

#[test]
fn dsgd_that_mixes_first_takes_the_gradient_before_mixing() {
    let mut method = method!(Dsgd { order: Order::MixThenStep } 1, 0.0);
    let Method::Dsgd(config) = &mut method else {
        unreachable!()
    };
    config.weight_decay = 0.01;
    let outcome = run(&method, 2, ALL);
    let mut models = outcome.start.clone();
    for _ in 0..2 {
        let gradients: Vec<Vec<f64>> = (0..5)
            .map(|client| gradient(&outcome.learner, client, &models[client]))
            .collect();
        let mixed = mix(&models);
        models = (0..5)
            .map(|client| {
                let w = mixed[client]
                    .iter()
                    .zip(&gradients[client])
                    .zip(&models[client]);
                w.map(|((mixed, g), w)| mixed - RATE * (g + f64::from(0.01f32) * w))
                    .collect()
            })
            .collect();
    }
    expect_close(&outcome.models, &models);
}

#[test]
fn dfedavgm_zeroes_its_velocity_each_round() {
    let outcome = run(&method!(Dfedavgm {} 3, 0.9), 2, ALL);
    let mut models = outcome.start.clone();
    for _ in 0..2 {
        for (client, w) in models.iter_mut().enumerate() {
            let mut v = vec![0.0; w.len()];
            local(&outcome.learner, client, w, &mut v, 3, f64::from(0.9f32));
        }
        models = mix(&models);
    }
    expect_close(&outcome.models, &models);
}

#[test]
fn fedavg_weighs_its_participants_by_examples() {
    for (weighting, participation) in [
        (Weighting::Examples, Participation::Share(1.0)),
        (Weighting::Uniform, Participation::Share(1.0)),
        (Weighting::Examples, Participation::Clients(2)),
    ] {
        let outcome = run(
            &method!(Fedavg { participation: participation, weighting: weighting } 2, 0.0),
            1,
            ALL,
        );
        let bytes = 4 * outcome.learner.network().layout().parameters() as u64;
        let count = (outcome.traffic.bytes_total() / bytes / 2) as usize;
        assert_eq!(
            count,
            if participation == Participation::Clients(2) {
                2
            } else {
                5
            }
        );
        let trained: Vec<Vec<f64>> = (0..5)
            .map(|client| {
                let mut w = outcome.start[0].clone();
                let mut v = vec![0.0; w.len()];
                local(&outcome.learner, client, &mut w, &mut v, 2, 0.0);
                w
            })
            .collect();
        let mean = |chosen: &[usize]| -> Vec<f64> {
            let weight = |client: usize| {
                if weighting == Weighting::Examples {
                    SIZES[client] as f64
                } else {
                    1.0
                }
            };
            let all: f64 = chosen.iter().map(|client| weight(*client)).sum();
            (0..trained[0].len())
                .map(|at| {
                    chosen
                        .iter()
                        .map(|client| weight(*client) / all * trained[*client][at])
                        .sum()
                })
                .collect()
        };
        if count == 5 {
            expect_close(&outcome.models, &[mean(&[0, 1, 2, 3, 4])]);
        } else {
            // Which two took part is the draw's business: one of the pairs must fit.
            let fits = |pair: &[usize]| {
                mean(pair)
                    .iter()
                    .zip(&outcome.models[0])
                    .all(|(a, b)| (a - b).abs() < 3e-6)
            };
            assert_eq!(
                (0..5)
                    .flat_map(|a| (0..a).map(move |b| [b, a]))
                    .filter(|pair| fits(pair))
                    .count(),
                1
            );
        }
    }
}

#[test]
fn dfedavgm_with_one_step_and_no_momentum_is_dsgd() {
    let dsgd = run(&method!(Dsgd { order: Order::StepThenMix } 1, 0.0), 4, ALL);
    for method in [method!(Dfedavgm {} 1, 0.0), method!(Dfedavg {} 1, 0.0)] {
        assert_eq!(run(&method, 4, ALL).models, dsgd.models);
    }
}

#[test]
fn a_dead_client_neither_trains_nor_counts() {
    let alive = [true, true, false, true, true];
    let outcome = run(&method!(Alone {} 1, 0.0), 2, alive);
    assert_eq!(outcome.models[2], outcome.start[2]);
    let outcome = run(&method!(Dfedavg {} 1, 0.0), 1, alive);
    let bytes = 4 * outcome.learner.network().layout().parameters() as u64;
    assert_eq!(outcome.traffic.bytes_total(), 6 * bytes);
}

#[test]
fn settings_that_cannot_work_are_named() {
    let fault = |method: Method| match method.check() {
        Err(meshfold_algorithms::AlgorithmError::Setting { key, .. }) => key,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(method!(Alone {} 0, 0.0)), "local");
    assert_eq!(fault(method!(Alone {} 1, 1.0)), "momentum");
    assert_eq!(fault(method!(Dfedavg {} 1, 0.5)), "momentum");
    assert_eq!(
        fault(method!(Dsgd { order: Order::MixThenStep } 2, 0.0)),
        "local"
    );
    let participation = Participation::Share(0.0);
    assert_eq!(
        fault(
            method!(Fedavg { participation: participation, weighting: Weighting::Uniform } 1, 0.0)
        ),
        "participation"
    );
    let mut method = method!(Alone {} 1, 0.0);
    let Method::Alone(config) = &mut method else {
        unreachable!()
    };
    config.batch_size = BatchSetting(BatchSize::Size(0));
    assert_eq!(fault(method.clone()), "batch_size");
    let Method::Alone(config) = &mut method else {
        unreachable!()
    };
    config.batch_size = BatchSetting(BatchSize::Size(1));
    config.learning_rate = LearningRate::Constant(-1.0);
    assert_eq!(fault(method), "learning_rate");
}

#[test]
fn forecasts_equal_what_a_round_does() {
    let methods = [
        method!(Alone {} 2, 0.0),
        method!(Dsgd { order: Order::StepThenMix } 1, 0.0),
        method!(Dfedavgm {} 3, 0.9),
        method!(Fedavg { participation: Participation::Share(1.0), weighting: Weighting::Examples } 2, 0.0),
    ];
    for method in methods {
        let mut outcome = run(&method, 1, ALL);
        let model_bytes = 4 * outcome.learner.network().layout().parameters() as u64;
        let forecast = method.forecast(&SIZES, Some(&overlay()), model_bytes);
        assert_eq!(
            forecast.bytes,
            outcome.traffic.bytes_total(),
            "{}",
            method.name()
        );
        assert_eq!(
            forecast.local_steps,
            outcome.learner.tally().local_steps as f64,
            "{}",
            method.name()
        );
    }
}
