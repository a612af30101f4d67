//! How many kernels a local step launches, for every family of models: each launch costs some microseconds, however
//! small the models are. Launches are counted without running them.
#![allow(clippy::unwrap_used)]
#![cfg(feature = "gpu")]

mod support;

use meshfold_data::Input;
use meshfold_engine::{
    Amount, CharLstm, Device, GnLenet, Judged, Launched, Learner, Mixing, Mlp, Model, NormPlace,
    Resnet, Sgd, Split, Stack, Start, Trace, Velocity,
};
use meshfold_topology::MixingMatrix;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use support::{Case, gpu, image, partition, rows, sgd, work};

/// Launches of local steps of three clients.
fn launches(learner: &mut Learner, stack: &mut Stack, steps: u32, sgd: &Sgd) -> u64 {
    let tasks = rows(&[Amount::Steps(steps), Amount::Idle, Amount::Steps(1)]);
    let trace = Trace::begin();
    learner
        .train(stack, Velocity::Fresh, &work(1, &tasks, sgd))
        .unwrap();
    trace.end().iter().map(|kernel| kernel.launches).sum()
}

/// Launches of one local step, and of a call besides its steps.
fn of_a_step(device: &Device, case: &Case, sgd: &Sgd) -> (u64, u64) {
    let mut learner = case.learner(device, &[40, 30, 50]);
    let mut stack = learner.initial(3, Start::Same).unwrap();
    // The first call makes the memory of the others.
    launches(&mut learner, &mut stack, 5, sgd);
    let [two, five] = [2, 5].map(|steps| launches(&mut learner, &mut stack, steps, sgd));
    assert_eq!(
        (five - two) % 3,
        0,
        "{case:?}: every step launches the same"
    );
    let step = (five - two) / 3;
    (step, two - 2 * step)
}

fn mlp(hidden: &[usize]) -> Case {
    let model = Model::Mlp(Mlp {
        hidden: hidden.to_vec(),
        dropout: 0.0,
        ..Mlp::default()
    });
    Case::of_pixels(model, 3)
}

fn of_colours(model: Model) -> Case {
    Case {
        model,
        input: image(3, 16, 16),
        classes: 5,
        margin: 0,
        precision: meshfold_engine::Precision::F32,
    }
}

fn residual(depth: usize) -> Case {
    of_colours(Model::Resnet(Resnet {
        depth,
        width: 4,
        groups: 2,
    }))
}

fn recurrent(layers: usize) -> Case {
    let model = Model::CharLstm(CharLstm {
        embedding: 3,
        hidden: 5,
        layers,
        loss: Judged::EveryPosition,
    });
    Case {
        model,
        input: Input::Tokens { window: 20 },
        classes: 7,
        margin: 0,
        precision: meshfold_engine::Precision::F32,
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn a_local_step_launches_no_more_than_its_layers_need() {
    let device = gpu();
    let lenet = of_colours(Model::GnLenet(GnLenet {
        pool_padding: 1,
        norm: NormPlace::BeforeRelu,
    }));
    let plain = sgd(5, 0.9);
    let clipped = Sgd {
        clip_norm: Some(1.0),
        ..plain.clone()
    };
    for (case, sgd, step) in [
        // The batch, each layer's product and gradient, for all but the first the gradient by what it read and the weights transposed
        // for it, and the loss.
        (Case::of_pixels(Model::Logistic, 3), &plain, 4),
        (mlp(&[17]), &plain, 8),
        (mlp(&[17, 5]), &plain, 12),
        // Clipping needs the whole gradient first: three launches for its norm, and the step.
        (mlp(&[17]), &clipped, 12),
        // As for dense layers; three for each normalisation, two for each pool.
        (lenet, &plain, 31),
        // Products of large dense layers read the weights as they lie.
        (of_colours(Model::CnnCifar), &plain, 19),
        (residual(10), &plain, 94),
        (residual(18), &plain, 154),
        // Eight for each layer, however many positions there are.
        (recurrent(1), &plain, 19),
        (recurrent(2), &plain, 27),
    ] {
        // One more for the losses of all steps.
        assert_eq!(of_a_step(&device, &case, sgd), (step, 1), "{case:?}");
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn mixing_over_an_overlay_is_one_launch_and_over_all_two() {
    let device = gpu();
    let ring = MixingMatrix::from_rows(3, vec![vec![(0, 0.5), (1, 0.5)]; 3]).unwrap();
    let all = MixingMatrix::average(3, vec![0.2, 0.3, 0.5]).unwrap();
    let learner = mlp(&[17]).learner(&device, &[4, 4, 4]);
    for (matrix, launches) in [(ring, 1), (all, 2)] {
        let (mixing, mut stack) = (
            Mixing::new(&matrix),
            learner.initial(3, Start::Same).unwrap(),
        );
        // The first time brings the weights to the device.
        stack.mix(&mixing).unwrap();
        let trace = Trace::begin();
        stack.mix(&mixing).unwrap();
        let traced = trace.end();
        assert_eq!(
            traced.iter().map(|kernel| kernel.launches).sum::<u64>(),
            launches,
            "{traced:?}"
        );
        let written: u64 = traced.iter().map(|kernel| kernel.bytes_written).sum();
        assert!(written >= 4 * 3 * learner.network().layout().parameters() as u64);
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn runs_side_by_side_step_mix_and_are_judged_as_one() {
    let device = gpu();
    let case = mlp(&[17]);
    let splits = case.splits(120);
    let partition = Arc::new(partition(&[40, 30, 50]));
    let (rounds, steps, plain) = (4, 5, sgd(5, 0.9));
    let ring = MixingMatrix::from_rows(3, vec![vec![(0, 0.5), (1, 0.5)]; 3]).unwrap();
    // Launches of each kernel that runs side by side have besides those of runs alone, and of all others.
    let launches = |runs: usize| {
        let begun = Barrier::new(runs);
        let next = AtomicU64::new(1);
        let trace = Trace::begin();
        device.side_by_side(runs, |device| {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let (splits, partition) = (splits.clone(), partition.clone());
            let learner = Learner::upload(device, case.network(), splits, partition, seed);
            let mut learner = learner.unwrap();
            begun.wait();
            let mut stack = learner.initial(3, Start::Independent).unwrap();
            let tasks = rows(&[Amount::Steps(steps); 3]);
            let mixing = Mixing::new(&ring);
            for round in 1..=rounds {
                let work = work(round, &tasks, &plain);
                learner.train(&mut stack, Velocity::Fresh, &work).unwrap();
                if round < rounds {
                    stack.mix(&mixing).unwrap();
                }
            }
            learner.evaluate(&stack, Split::Test, None).unwrap();
        });
        let kernels = trace.end();
        let of = |name: &str| {
            let named = |kernel: &&Launched| kernel.kernel == name;
            kernels.iter().find(named).map_or(0, |found| found.launches)
        };
        let own = ["rows::collect", "rows::spread", "mix_sparse::mix"].map(of);
        let all: u64 = kernels.iter().map(|kernel| kernel.launches).sum();
        (own, all - own.iter().sum::<u64>())
    };
    let rounds = rounds as u64;
    let (own, others) = launches(1);
    assert_eq!(own, [0, 0, rounds - 1]);
    assert!(others > 4 * 5 * 7, "{others}");
    // Models come in each round, mixed but for the first, and go; and come once to be judged.
    assert_eq!(launches(8), ([2, rounds, rounds - 1], others));
}
