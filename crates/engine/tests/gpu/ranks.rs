//! Stacks and learners over several ranks, each with a GPU of its own, have the bits of one GPU. Here the ranks are
//! threads that share one GPU, and never access each other's rows.

use crate::support::{Case, dropping_mlp, gpu, sgd, with_local_tests};
use meshfold_data::{Augment, Input, Partition};
use meshfold_engine::burn::tensor::{Tensor, activation};
use meshfold_engine::{
    Amount, Anchor, Device, DeviceRequest, EngineError, Initial, Layout, Learner, LocalWork,
    Mixing, MomentumRule, Network, NormScope, OwnModel, Parameter, Parameters, Quantiser, Ranks,
    RowLists, RowWork, Score, Split, Stack, Start, Velocity, uniform,
};
use meshfold_topology::MixingMatrix;
use std::sync::Arc;
use std::thread;

/// What `work` makes of the device of each of `count` ranks, whose stacks of some rows lie scattered over them.
fn over_ranks<T: Send>(count: usize, work: impl Fn(&Device) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let rank = |ranks: Ranks| {
            let work = &work;
            move || {
                let gpu = DeviceRequest::Wgpu(0);
                let device = Device::over_ranks(ranks, gpu, Some(1), None).unwrap();
                let of_row = |row: u32| (row * row + row / 3) % count as u32;
                let owners: Vec<Vec<u32>> =
                    [4, 6, 9].map(|rows| (0..rows).map(of_row).collect()).into();
                device.place(&owners);
                work(&device)
            }
        };
        let ranks = Ranks::in_process(count).into_iter();
        let threads: Vec<_> = ranks.map(|ranks| scope.spawn(rank(ranks))).collect();
        let ends = threads.into_iter().map(|thread| thread.join().unwrap());
        ends.collect()
    })
}

/// Each of some ranks comes to what one GPU comes to. Five are more than some stacks have rows.
fn expect_the_same(work: impl Fn(&Device) -> Vec<(&'static str, Vec<u64>)> + Sync) {
    let expected = work(&gpu());
    for count in [1, 2, 3, 5] {
        for (rank, found) in over_ranks(count, &work).into_iter().enumerate() {
            for ((what, expected), (_, found)) in expected.iter().zip(found) {
                assert!(*expected == found, "{what} on rank {rank} of {count}");
            }
        }
    }
}

fn floats(stack: &Stack) -> Vec<u64> {
    let values = stack.to_host().into_iter();
    values.map(|value| u64::from(value.to_bits())).collect()
}

fn numbers(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn stack(device: &Device, rows: usize, seed: u32) -> Stack {
    let mut layout = Layout::default();
    layout.push("weight", 23, 11);
    layout.push("bias", 1, 11);
    let mut values = vec![0.0; rows * layout.width()];
    for (row, values) in (0..).zip(values.chunks_exact_mut(layout.width())) {
        for at in layout.blocks().iter().flat_map(|block| block.range()) {
            values[at] = uniform([seed, row], at as u32) - 0.5;
        }
    }
    Stack::from_host(device, &Arc::new(layout), values).unwrap()
}

/// A ring with chords, of nine nodes, one of which is alone.
fn sparse() -> Mixing {
    let row = |node: u32| {
        if node == 4 {
            return vec![(node, 1.0)];
        }
        let mut columns = vec![node, (node + 1) % 9, (node + 8) % 9, (node * 5 + 2) % 9];
        columns.sort_unstable();
        columns.dedup();
        let all: f64 = (1..=columns.len()).map(|at| at as f64).sum();
        let weight = |(at, column): (usize, u32)| (column, (at + 1) as f64 / all);
        columns.into_iter().enumerate().map(weight).collect()
    };
    Mixing::new(&MixingMatrix::from_rows(9, (0..9).map(row).collect()).unwrap())
}

fn average(rows: usize, weights: &[f64]) -> Mixing {
    Mixing::new(&MixingMatrix::average(rows, weights.to_vec()).unwrap())
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn every_verb_over_ranks_has_the_bits_of_one_gpu() {
    expect_the_same(|device| {
        let mut found = Vec::new();
        let mut models = stack(device, 9, 1);
        // The second mixing finds the memory and the matrix of the first.
        let overlay = sparse();
        for _ in 0..2 {
            models.mix(&overlay).unwrap();
        }
        found.push(("an overlay", floats(&models)));
        let copy = models.duplicate();
        let from_few = MixingMatrix::from_rows(9, vec![vec![(1, 0.3), (7, 0.7)]; 4]).unwrap();
        let mut few = models.duplicate();
        few.mix(&Mixing::new(&from_few)).unwrap();
        found.push(("fewer rows", floats(&few)));
        let shares = [0.1, 0.0, 0.2, 0.1, 0.1, 0.15, 0.15, 0.1, 0.1];
        few = models.duplicate();
        few.mix(&average(2, &shares)).unwrap();
        found.push(("servers", floats(&few)));
        models.mix(&average(9, &shares)).unwrap();
        found.push(("a complete overlay", floats(&models)));
        models = copy;
        let some = vec![0.0, 0.25, 0.0, 0.0, 0.5, 0.0, 0.0, 0.25, 0.0];
        let some = Mixing::new(&MixingMatrix::average_among(some).unwrap());
        models.mix(&some).unwrap();
        found.push(("some of an overlay", floats(&models)));

        let mut walkers = models.gather(&[8, 1, 8, 3]).unwrap();
        found.push(("gather", floats(&walkers)));
        let again = walkers.duplicate();
        walkers.add_scaled(&again, &[0.5, -1.0, 2.0, 0.1]).unwrap();
        walkers.scale_rows(&[2.0, 1.0, 0.25, 3.0]).unwrap();
        models.scatter(&[0, 3, 7, 4], &walkers).unwrap();
        found.push(("scatter", floats(&models)));
        models.project(3.0);
        found.push(("project", floats(&models)));
        let (mut velocity, gradients) = (stack(device, 9, 5), stack(device, 9, 6));
        let rates = [0.1, 0.0, 0.2, 0.3, 0.1, 0.1, 0.4, 0.0, 0.5];
        for (momentum, nesterov) in [(0.9, false), (0.5, true), (0.9, false), (0.5, true)] {
            let rule = MomentumRule {
                rates: &rates,
                momentum,
                nesterov,
            };
            let stepped = models.momentum_step(&mut velocity, &gradients, rule);
            stepped.unwrap();
        }
        found.push(("models of steps", floats(&models)));
        found.push(("velocities", floats(&velocity)));
        for norm in [NormScope::Model, NormScope::Layer] {
            let mut coarse = models.duplicate();
            coarse.quantize(&Quantiser {
                bits: 6,
                norm,
                keys: (0..9).map(|row| [7, row]).collect(),
            });
            found.push(("quantize", floats(&coarse)));
        }
        let mut sketch = models.duplicate();
        sketch.keep_largest(17);
        found.push(("keep_largest", floats(&sketch)));

        let alive = [true, true, false, true, true, true, false, true, true];
        found.push(("mean", floats(&models.mean_row(&alive))));
        let apart = models.consensus_distance(&alive);
        found.push(("distance", numbers(&[apart])));
        found.push(("norms", numbers(&models.squared_row_norms())));
        let lists = RowLists::of_edges(&[(8, 0), (1, 0), (3, 0), (0, 1), (5, 2), (6, 2)], 3);
        found.push(("medians", floats(&models.medians(&lists).unwrap())));
        found.push(("deviations", floats(&models.deviations(&lists).unwrap())));
        let sums = models.weighted_sums(&lists, &[0.5, 2.0, -1.0, 0.1, 0.2, 0.3]);
        found.push(("weighted sums", floats(&sums.unwrap())));
        let apart = models.squared_pair_distances(&gradients, &[(0, 8), (4, 2), (4, 2)]);
        found.push(("distances of pairs", numbers(&apart.unwrap())));
        let mut parts = Vec::new();
        let part = |values: &[f32]| {
            parts.extend(values.iter().map(|value| u64::from(value.to_bits())));
            Ok::<_, ()>(())
        };
        models.each_block(part).unwrap();
        assert_eq!(parts, floats(&models));
        sketch.clear();
        found.push(("clear", floats(&sketch)));
        let on_device = models.tensor().into_data().try_to_vec::<f32>().unwrap();
        assert_eq!(on_device, models.to_host());
        found
    });
}

/// Clients with shards of very different sizes, one smaller than a batch.
const SHARDS: [usize; 6] = [23, 7, 40, 3, 16, 31];

fn learner(device: &Device) -> Learner {
    let case = Case::of_pixels(dropping_mlp(), 3);
    learner_of(device, &case, case.network())
}

/// One of `network` on the examples of `case`.
fn learner_of(device: &Device, case: &Case, network: Network) -> Learner {
    let total = SHARDS.iter().sum();
    let mut first = 0;
    let shards = SHARDS.map(|size| {
        first += size as u32;
        (first - size as u32..first).collect()
    });
    let partition = Partition::new(shards.to_vec(), total).unwrap();
    let partition = Arc::new(with_local_tests(partition, 0.3));
    case.dealt(network, device, &partition)
}

fn scores(scores: &[Score]) -> Vec<u64> {
    let both = scores.iter().flat_map(|score| [score.loss, score.accuracy]);
    numbers(&both.collect::<Vec<_>>())
}

fn on(clients: &[u32], amount: Amount) -> Vec<RowWork> {
    let work = |client: &u32| RowWork {
        client: *client,
        amount,
    };
    clients.iter().map(work).collect()
}

/// A state as a checkpoint has it.
fn state(learner: &Learner) -> Vec<u64> {
    let text = format!("{:?}", learner.state());
    text.bytes().map(u64::from).collect()
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn ranks_see_the_augmented_images_of_one_gpu() {
    expect_the_same(|device| {
        let augment = Augment {
            crop_padding: 2,
            horizontal_flip: true,
        };
        let mut learner = learner(device).augmented(augment).unwrap();
        let mut models = learner.initial(6, Start::Independent).unwrap();
        let (step, own) = (sgd(8, 0.9), on(&[0, 1, 2, 3, 4, 5], Amount::Steps(3)));
        for round in 1..=2 {
            let work = LocalWork::new(round, &own, &step);
            learner.train(&mut models, Velocity::Fresh, &work).unwrap();
        }
        vec![("models", floats(&models))]
    });
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn training_over_ranks_has_the_bits_of_one_gpu() {
    expect_the_same(|device| {
        let mut found = Vec::new();
        let mut learner = learner(device);
        let mut models = learner.initial(6, Start::Independent).unwrap();
        let mut velocity = Stack::zeros(device, models.layout(), 6);
        let (mut step, full) = (sgd(8, 0.9), sgd(8, 0.0));
        let mut own = on(&[0, 1, 2, 3, 4, 5], Amount::Steps(3));
        own[4].amount = Amount::Idle;
        let work = LocalWork::new(1, &own, &step);
        let train = learner.train(&mut models, Velocity::Kept(&mut velocity), &work);
        train.unwrap();
        found.push(("models", floats(&models)));
        found.push(("velocities", floats(&velocity)));
        found.push(("state", state(&learner)));

        // Walkers: fewer rows, which go from client to client, and losses with them.
        let mut walkers = models.gather(&[5, 0, 2, 2]).unwrap();
        step.clip_norm = Some(0.5);
        for (round, clients) in [[5, 0, 2, 3], [1, 2, 2, 0], [4, 5, 1, 1]]
            .iter()
            .enumerate()
        {
            let visits = on(clients, Amount::Epochs(1));
            let work = LocalWork::new(2 + round, &visits, &step);
            learner.train(&mut walkers, Velocity::Fresh, &work).unwrap();
        }
        found.push(("walkers", floats(&walkers)));
        found.push(("state of walks", state(&learner)));

        // More rows than before: losses are collected.
        let mut many = models.gather(&[0, 1, 2, 3, 4, 5, 0, 3, 1]).unwrap();
        let visits = on(&[5, 4, 3, 2, 1, 0, 2, 2, 2], Amount::Steps(2));
        let correction = Stack::from_host(device, models.layout(), many.to_host()).unwrap();
        let anchor = many.duplicate();
        let scales = [1.0, 0.5, 2.0, 1.0, 1.0, 0.25, 1.0, 1.0, 3.0];
        let work = LocalWork {
            correction: Some(&correction),
            anchor: Some(Anchor {
                models: &anchor,
                mu: 0.3,
            }),
            rate_scales: Some(&scales),
            ..LocalWork::new(5, &visits, &full)
        };
        learner.train(&mut many, Velocity::Fresh, &work).unwrap();
        found.push(("corrected models", floats(&many)));
        let gradients = learner.gradients(&many, &LocalWork::new(6, &visits, &full));
        found.push(("gradients", floats(&gradients.unwrap())));
        learner.rewind_batches(6).unwrap();
        let again = learner.gradients(&many, &LocalWork::new(6, &visits, &full));
        found.push(("gradients on the same batches", floats(&again.unwrap())));
        assert_eq!(found[found.len() - 1].1, found[found.len() - 2].1);
        let whole = learner.shard_gradients(&walkers, &[3, 0, 2, 5]).unwrap();
        found.push(("shard gradients", floats(&whole)));
        found.push(("state in the end", state(&learner)));

        let test = learner.evaluate(&many, Split::Test, None).unwrap();
        found.push(("test", scores(&test)));
        let some = learner.evaluate(&models, Split::Test, Some(&[0, 7, 200]));
        found.push(("some tests", scores(&some.unwrap())));
        let clients = Split::Shards(&[2, 0, 5, 1]);
        let own = learner.evaluate(&walkers, clients, None).unwrap();
        found.push(("shards", scores(&own)));
        let clients = Split::LocalTests(&[2, 0, 5, 1]);
        let own = learner.evaluate(&walkers, clients, None).unwrap();
        found.push(("local tests", scores(&own)));
        learner.expect_finite(&many, &[true; 9], 6).unwrap();
        let before = state(&learner);
        let mut tuned = walkers.duplicate();
        let visits = on(&[2, 0, 5, 1], Amount::Steps(3));
        let work = LocalWork::new(1, &visits, &full);
        learner.train_aside(&mut tuned, &work, 11).unwrap();
        found.push(("models trained aside", floats(&tuned)));
        assert_eq!(state(&learner), before);
        let tally = learner.tally();
        assert!(tally.train_loss.is_some());
        found.push(("train loss", numbers(&[tally.train_loss.unwrap()])));
        found.push(("steps", vec![tally.local_steps, tally.examples_seen]));
        found.push(("state without losses", state(&learner)));
        found
    });
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn a_learner_goes_on_over_other_ranks_where_it_stopped() {
    let step = sgd(8, 0.0);
    let train = |learner: &mut Learner, models: &mut Stack, round: usize| {
        let visits = on(&[0, 1, 2, 3, 4, (round % 6) as u32], Amount::Steps(2));
        let work = LocalWork::new(round, &visits, &step);
        learner.train(models, Velocity::Fresh, &work).unwrap();
    };
    let ends = |learner: &mut Learner, models: &Stack| {
        let loss = learner.tally().train_loss.unwrap();
        (floats(models), loss.to_bits())
    };
    let half = |device: &Device| {
        let mut learner = learner(device);
        let mut models = learner.initial(6, Start::Independent).unwrap();
        (1..3).for_each(|round| train(&mut learner, &mut models, round));
        let (values, saved) = (models.to_host(), learner.state());
        (2..4).for_each(|round| train(&mut learner, &mut models, round + 1));
        (values, saved, ends(&mut learner, &models))
    };
    let go_on = |device: &Device, values: &[f32], saved| {
        let mut learner = learner(device);
        assert!(learner.fits(saved));
        learner.resume(saved);
        let layout = learner.network().layout().clone();
        let mut models = Stack::from_host(device, &layout, values.to_vec()).unwrap();
        (2..4).for_each(|round| train(&mut learner, &mut models, round + 1));
        ends(&mut learner, &models)
    };
    let (values, saved, expected) = half(&gpu());
    let over_three = over_ranks(3, half);
    assert!(
        over_three
            .iter()
            .all(|rank| *rank == (values.clone(), saved.clone(), expected.clone()))
    );
    assert!(go_on(&gpu(), &values, &saved) == expected);
    for rank in over_ranks(2, |device| go_on(device, &values, &saved)) {
        assert!(rank == expected);
    }
}

/// A hidden layer with the hyperbolic tangent.
#[derive(Debug)]
struct Hyperbolic;

impl OwnModel for Hyperbolic {
    fn parameters(&self, input: Input, classes: usize) -> Result<Vec<Parameter>, EngineError> {
        let inputs = input.features();
        Ok(vec![
            Parameter::new("below", [inputs, 10], Initial::of_inputs(inputs)),
            Parameter::new("above", [10, classes], Initial::of_inputs(10)),
        ])
    }

    fn forward(&self, parameters: &Parameters<'_>, x: Tensor<3>) -> Result<Tensor<3>, EngineError> {
        let hidden = activation::tanh(x.matmul(parameters.get("below")?));
        Ok(hidden.matmul(parameters.get("above")?))
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn a_users_own_model_trains_over_ranks() {
    let step = sgd(8, 0.9);
    let train = |device: &Device| {
        let case = Case::of_pixels(dropping_mlp(), 3);
        let network = Network::own(Arc::new(Hyperbolic), case.input, case.classes).unwrap();
        let mut learner = learner_of(device, &case, network);
        let mut models = learner.initial(6, Start::Independent).unwrap();
        for (round, clients) in [[0, 1, 2, 3, 4, 5], [3, 3, 0, 1, 5, 2]].iter().enumerate() {
            let visits = on(clients, Amount::Epochs(1));
            let work = LocalWork::new(1 + round, &visits, &step);
            learner.train(&mut models, Velocity::Fresh, &work).unwrap();
        }
        let scores = learner.evaluate(&models, Split::Test, None).unwrap();
        let losses = scores.iter().map(|score| score.loss as f32);
        models
            .to_host()
            .into_iter()
            .chain(losses)
            .collect::<Vec<_>>()
    };
    let expected = train(&gpu());
    for found in over_ranks(3, train) {
        // Burn chooses its kernels by shapes, which depend on how many rows a rank has.
        let mut pairs = found.iter().zip(&expected);
        assert_eq!(found.len(), expected.len());
        assert!(pairs.all(|(found, expected)| (found - expected).abs() < 1e-5));
    }
}
