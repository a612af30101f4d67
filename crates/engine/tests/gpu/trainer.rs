//! The stacked trainer against the client-blocked one, through the public verbs.

use crate::support::{
    dnn8, expect_no_trace_of_training_aside, gpu, sigmoid_mlp, with_local_tests,
    with_tests_of_owners,
};
use meshfold_data::{Augment, Examples, Partition, Scale, Shape, Splits};
use meshfold_engine::{
    Amount, Anchor, BatchSize, Device, Draw, EngineError, GradientsOn, Learner, LearningRate,
    Linear, LocalWork, Mlp, Model, Network, Per, Power, Restart, RowWork, Schedule, Sgd, Split,
    Stack, Start, Targets, TrainedLayers, Velocity,
};
use std::sync::Arc;

const FEATURES: usize = 42;
const CLASSES: usize = 5;
/// Shards of very different sizes, one smaller than a batch.
const SHARDS: [usize; 6] = [23, 7, 40, 3, 16, 31];

/// Bytes that look random, and labels that depend on them.
fn examples(count: usize, classes: usize) -> Arc<Examples> {
    let byte = |at: usize| ((at as u64 * 2_654_435_761) >> 7) as u8;
    let features: Vec<u8> = (0..count * FEATURES).map(byte).collect();
    let label = |row: &[u8]| u16::from(row[0] / 64 + row[1] / 200) % classes as u16;
    let labels = features.chunks_exact(FEATURES).map(label).collect();
    let shape = Shape {
        channels: 1,
        height: 6,
        width: 7,
    };
    Arc::new(
        Examples::new(
            features,
            labels,
            shape,
            classes,
            Scale::standardising(0.5, 0.29),
        )
        .unwrap(),
    )
}

fn learner(device: &Device, model: &Model) -> Learner {
    learner_of_classes(device, model, CLASSES)
}

fn learner_of_classes(device: &Device, model: &Model, classes: usize) -> Learner {
    learner_of(device, model, classes, partition())
}

fn partition() -> Partition {
    let mut first = 0;
    let shards = SHARDS.map(|size| {
        first += size as u32;
        (first - size as u32..first).collect()
    });
    Partition::new(shards.to_vec(), SHARDS.iter().sum()).unwrap()
}

fn learner_of(device: &Device, model: &Model, classes: usize, partition: Partition) -> Learner {
    let total = SHARDS.iter().sum();
    let splits = Splits {
        train: examples(total, classes),
        test: examples(1_500, classes),
        validation: Some(examples(700, classes)),
    };
    let network = Network::of_features(model, FEATURES, classes).unwrap();
    Learner::upload(device, network, splits, Arc::new(partition), 7).unwrap()
}

fn sgd() -> Sgd {
    Sgd {
        learning_rate: LearningRate::Constant(0.05),
        momentum: 0.0,
        nesterov: false,
        weight_decay: 0.0,
        clip_norm: None,
        batch_size: BatchSize::Size(10),
        draw: Draw::Shuffled,
    }
}

fn models() -> [Model; 7] {
    let mlp = |hidden: &[usize], dropout| {
        Model::Mlp(Mlp {
            hidden: hidden.to_vec(),
            dropout,
            ..Mlp::default()
        })
    };
    let linear = |targets, bias| Model::Linear(Linear { targets, bias });
    [
        Model::Logistic,
        mlp(&[20], 0.0),
        mlp(&[13, 8], 0.0),
        mlp(&[33, 12], 0.4),
        linear(Targets::OneHot, true),
        linear(Targets::OneHot, false),
        linear(Targets::Value, false),
    ]
}

/// Every row does epochs or steps of its own; row 4 is idle.
fn tasks() -> Vec<RowWork> {
    let amounts = [
        Amount::Epochs(1),
        Amount::Steps(5),
        Amount::Epochs(2),
        Amount::Steps(1),
        Amount::Idle,
        Amount::Epochs(1),
    ];
    (0..)
        .zip(amounts)
        .map(|(client, amount)| RowWork { client, amount })
        .collect()
}

/// What a run of three rounds leaves behind.
#[derive(Debug, PartialEq)]
struct Outcome {
    models: Vec<f32>,
    velocities: Vec<f32>,
    losses: Vec<f64>,
}

/// What else than the models the rounds use.
#[derive(Debug, Clone, Copy, Default)]
struct StepTerms {
    kept: bool,
    correction: bool,
    anchor: bool,
    /// Layers whose names end so stay.
    frozen: Option<&'static str>,
    augment: Option<Augment>,
}

fn run(device: &Device, model: &Model, sgd: &Sgd, tasks: &[RowWork], terms: StepTerms) -> Outcome {
    let mut learner = learner(device, model);
    if let Some(augment) = terms.augment {
        learner = learner.augmented(augment).unwrap();
    }
    let mut stack = learner.initial(tasks.len(), Start::Independent).unwrap();
    let layout = learner.network().layout().clone();
    let mut velocity = Stack::zeros(device, &layout, tasks.len());
    let mut correction = stack.duplicate();
    correction.scale_rows(&vec![0.01; tasks.len()]).unwrap();
    let anchor = stack.duplicate();
    let mut losses = Vec::new();
    for round in 1..=3 {
        let stays = |name: &str| terms.frozen.is_some_and(|end| name.ends_with(end));
        let layers = TrainedLayers::of(&layout, |name| !stays(name));
        let work = LocalWork {
            layers: layers.as_ref(),
            correction: terms.correction.then_some(&correction),
            anchor: terms.anchor.then_some(Anchor {
                models: &anchor,
                mu: 0.3,
            }),
            ..LocalWork::new(round, tasks, sgd)
        };
        let kept = if terms.kept {
            Velocity::Kept(&mut velocity)
        } else {
            Velocity::Fresh
        };
        learner.train(&mut stack, kept, &work).unwrap();
        losses.push(learner.tally().train_loss.unwrap());
    }
    learner
        .expect_finite(&stack, &vec![true; tasks.len()], 3)
        .unwrap();
    Outcome {
        models: stack.to_host(),
        velocities: velocity.to_host(),
        losses,
    }
}

fn expect_close(gpu: &[f32], cpu: &[f32], what: &str) {
    assert_eq!(gpu.len(), cpu.len(), "{what}");
    for (index, (gpu, cpu)) in gpu.iter().zip(cpu).enumerate() {
        // Sums of some tens of products in f32, over a few tens of steps.
        assert!(
            (gpu - cpu).abs() <= 1e-4 * cpu.abs().max(1.0),
            "{what}, value {index}: gpu {gpu}, cpu {cpu}"
        );
    }
}

fn compare(model: &Model, sgd: &Sgd, tasks: &[RowWork], terms: StepTerms) {
    let device = gpu();
    let what = format!("{model:?}, {sgd:?}, {terms:?}");
    let found = run(&device, model, sgd, tasks, terms);
    let oracle = run(&Device::cpu().unwrap(), model, sgd, tasks, terms);
    expect_close(&found.models, &oracle.models, &what);
    expect_close(&found.velocities, &oracle.velocities, &what);
    for (found, oracle) in found.losses.iter().zip(&oracle.losses) {
        assert!(
            (found - oracle).abs() < 1e-4 * oracle.max(1.0),
            "{what}: loss {found}, on the cpu {oracle}"
        );
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn rows_with_their_own_epochs_and_steps_train_as_on_the_processor() {
    for model in models() {
        compare(&model, &sgd(), &tasks(), StepTerms::default());
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn augmented_images_are_those_of_the_processor() {
    for (crop_padding, horizontal_flip) in [(4, true), (0, true), (2, false)] {
        let augment = Augment {
            crop_padding,
            horizontal_flip,
        };
        let terms = StepTerms {
            augment: Some(augment),
            ..StepTerms::default()
        };
        compare(&models()[1], &sgd(), &tasks(), terms);
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn momentum_starts_anew_or_is_kept_as_on_the_processor() {
    for (kept, nesterov) in [(false, false), (true, false), (false, true), (true, true)] {
        for model in models() {
            let sgd = Sgd {
                momentum: 0.9,
                nesterov,
                learning_rate: LearningRate::Constant(0.01),
                ..sgd()
            };
            compare(
                &model,
                &sgd,
                &tasks(),
                StepTerms {
                    kept,
                    ..StepTerms::default()
                },
            );
        }
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn decay_clipping_correction_and_anchor_act_as_on_the_processor() {
    for model in [&models()[1], &models()[3]] {
        acts_as_on_the_processor(model);
    }
}

fn acts_as_on_the_processor(model: &Model) {
    let plain = Sgd {
        momentum: 0.5,
        ..sgd()
    };
    compare(
        model,
        &Sgd {
            weight_decay: 0.1,
            ..plain.clone()
        },
        &tasks(),
        StepTerms::default(),
    );
    compare(
        model,
        &Sgd {
            clip_norm: Some(0.5),
            ..plain.clone()
        },
        &tasks(),
        StepTerms::default(),
    );
    compare(
        model,
        &plain,
        &tasks(),
        StepTerms {
            correction: true,
            ..StepTerms::default()
        },
    );
    compare(
        model,
        &plain,
        &tasks(),
        StepTerms {
            anchor: true,
            ..StepTerms::default()
        },
    );
    let all = Sgd {
        weight_decay: 0.01,
        clip_norm: Some(1.0),
        nesterov: true,
        ..plain
    };
    compare(
        model,
        &all,
        &tasks(),
        StepTerms {
            kept: true,
            correction: true,
            anchor: true,
            ..StepTerms::default()
        },
    );
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn layers_that_do_not_move_stay_as_on_the_processor() {
    let plain = Sgd {
        momentum: 0.5,
        weight_decay: 0.01,
        ..sgd()
    };
    let clipped = Sgd {
        clip_norm: Some(0.5),
        ..plain.clone()
    };
    for model in models() {
        for (rule, kept, frozen) in [
            (&plain, false, "weight"),
            (&plain, true, "bias"),
            (&clipped, true, "bias"),
        ] {
            let terms = StepTerms {
                kept,
                frozen: Some(frozen),
                ..StepTerms::default()
            };
            compare(&model, rule, &tasks(), terms);
            let busy = &tasks()[..4];
            let learner = learner(&gpu(), &model);
            let start = learner.initial(busy.len(), Start::Independent).unwrap();
            let found = run(&gpu(), &model, rule, busy, terms).models;
            let layout = start.layout();
            for (row, before) in found
                .chunks_exact(layout.width())
                .zip(start.to_host().chunks_exact(layout.width()))
            {
                for block in layout.blocks() {
                    let stays = block.name.ends_with(frozen);
                    assert_eq!(
                        row[block.range()] == before[block.range()],
                        stays,
                        "{}",
                        block.name
                    );
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn full_batches_draws_with_replacement_and_schedules_agree() {
    let schedule = Schedule::Power(Power {
        r: 10.0,
        q: 0.4,
        per: Per::Step,
        restart: Restart::Never,
        warmup: 0.0,
    });
    let sgd = Sgd {
        learning_rate: LearningRate::Schedule(schedule),
        ..sgd()
    };
    for batch_size in [BatchSize::Full, BatchSize::Size(1), BatchSize::Size(100)] {
        compare(
            &models()[1],
            &Sgd {
                batch_size,
                ..sgd.clone()
            },
            &tasks(),
            StepTerms::default(),
        );
    }
    compare(
        &models()[1],
        &Sgd {
            draw: Draw::WithReplacement,
            ..sgd
        },
        &tasks(),
        StepTerms::default(),
    );
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn one_row_and_rows_that_share_a_client_agree() {
    compare(&models()[2], &sgd(), &tasks()[2..3], StepTerms::default());
    let walkers: Vec<RowWork> = [2, 2, 0]
        .map(|client| RowWork {
            client,
            amount: Amount::Epochs(1),
        })
        .to_vec();
    compare(&models()[1], &sgd(), &walkers, StepTerms::default());
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn the_same_seed_gives_the_same_bits() {
    let device = gpu();
    let sgd = Sgd {
        momentum: 0.9,
        clip_norm: Some(1.0),
        ..sgd()
    };
    let once = || run(&device, &models()[2], &sgd, &tasks(), StepTerms::default());
    assert_eq!(once(), once());
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn what_else_shares_the_stack_does_not_change_a_row() {
    let device = gpu();
    let all = run(
        &device,
        &models()[1],
        &sgd(),
        &tasks(),
        StepTerms::default(),
    );
    let some = run(
        &device,
        &models()[1],
        &sgd(),
        &tasks()[..3],
        StepTerms::default(),
    );
    assert_eq!(all.models[..some.models.len()], some.models);
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn gradients_are_those_of_the_processor() {
    let device = gpu();
    for model in models() {
        for clip_norm in [None, Some(0.3)] {
            let gradients = |device: &Device| {
                let mut learner = learner(device, &model);
                let stack = learner.initial(6, Start::Independent).unwrap();
                let sgd = Sgd { clip_norm, ..sgd() };
                let tasks = tasks();
                let work = LocalWork::new(1, &tasks, &sgd);
                let gradients = learner.gradients(&stack, &work).unwrap();
                learner.rewind_batches(1).unwrap();
                let again = learner.gradients(&stack, &work).unwrap();
                let loss = learner.tally().train_loss.unwrap();
                assert!(gradients.to_host() == again.to_host(), "{model:?}");
                (gradients.to_host(), loss)
            };
            let (found, oracle) = (gradients(&device), gradients(&Device::cpu().unwrap()));
            expect_close(&found.0, &oracle.0, &format!("{model:?}"));
            assert!((found.1 - oracle.1).abs() < 1e-4 * oracle.1.abs().max(1.0));
        }
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn gradients_on_shards_are_those_of_the_processor() {
    let device = gpu();
    for model in models() {
        let gradients = |device: &Device| {
            let learner = learner(device, &model);
            let stack = learner.initial(5, Start::Independent).unwrap();
            let clients = [2, 0, 3, 2, 5];
            let gradients = learner.shard_gradients(&stack, &clients).unwrap();
            (gradients.to_host(), gradients.squared_row_norms())
        };
        let (found, oracle) = (gradients(&device), gradients(&Device::cpu().unwrap()));
        expect_close(&found.0, &oracle.0, &format!("{model:?}"));
        for (found, oracle) in found.1.iter().zip(&oracle.1) {
            assert!((found - oracle).abs() < 1e-4 * oracle, "{found} {oracle}");
        }
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn outputs_and_gradients_on_examples_are_those_of_the_processor() {
    let device = gpu();
    for model in models() {
        let found = |device: &Device| {
            let mut learner = learner(device, &model);
            let stack = learner.initial(6, Start::Independent).unwrap();
            let (rule, own) = (sgd(), tasks());
            let work = LocalWork::new(1, &own, &rule);
            let examples = learner.next_batches(&work).unwrap();
            let outputs = learner.outputs(&stack, &examples).unwrap();
            let on = |slopes| GradientsOn {
                slopes,
                ..GradientsOn::of(&examples)
            };
            let pulled_back = learner.gradients_on(&stack, &work, &on(Some(&outputs)));
            let plain = learner.gradients_on(&stack, &work, &on(None));
            let mut stepped = stack.duplicate();
            let mut velocity = stack.duplicate();
            let kept = Velocity::Kept(&mut velocity);
            let along = on(Some(&outputs));
            learner.step_on(&mut stepped, kept, &work, &along).unwrap();
            let losses = learner.tally().train_loss.unwrap();
            [
                outputs.concat(),
                pulled_back.unwrap().to_host(),
                plain.unwrap().to_host(),
                stepped.to_host(),
                velocity.to_host(),
                vec![losses as f32],
            ]
        };
        let (found, needed) = (found(&device), found(&Device::cpu().unwrap()));
        for (found, needed) in found.iter().zip(&needed) {
            expect_close(found, needed, &format!("{model:?}"));
        }
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn models_of_two_classes_and_dnn8_of_five_are_those_of_the_processor() {
    let device = gpu();
    for (model, classes) in [
        (dnn8(), 2),
        (dnn8(), CLASSES),
        (Model::BinaryLogistic, 2),
        (sigmoid_mlp(), 2),
    ] {
        let outcome = |device: &Device| {
            let mut learner = learner_of_classes(device, &model, classes);
            let mut stack = learner.initial(6, Start::Same).unwrap();
            let (tasks, sgd) = (tasks(), sgd());
            let work = LocalWork::new(1, &tasks, &sgd);
            learner.train(&mut stack, Velocity::Fresh, &work).unwrap();
            let scores = learner.evaluate(&stack, Split::Train, None).unwrap();
            (stack.to_host(), scores)
        };
        let (found, oracle) = (outcome(&device), outcome(&Device::cpu().unwrap()));
        let case = format!("{model:?}, {classes} classes");
        expect_close(&found.0, &oracle.0, &case);
        for (found, oracle) in found.1.iter().zip(&oracle.1) {
            assert!((found.loss - oracle.loss).abs() < 1e-5 * oracle.loss);
        }
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn training_aside_leaves_no_trace() {
    expect_no_trace_of_training_aside(&gpu());
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn scores_are_those_of_the_processor() {
    let device = gpu();
    let subset: Vec<u32> = (0..1_200).step_by(7).collect();
    for model in models() {
        let scores = |device: &Device| {
            let of_owners = with_tests_of_owners(partition(), 1_200);
            let mut learner = learner_of(device, &model, CLASSES, of_owners);
            let stack = learner.initial(6, Start::Independent).unwrap();
            let on_tests = learner.evaluate(&stack, Split::LocalTests(&[5, 4, 3, 2, 1, 0]), None);
            let partition = with_local_tests(partition(), 0.2);
            let mut learner = learner_of(device, &model, CLASSES, partition);
            let stack = learner.initial(6, Start::Independent).unwrap();
            let clients = [5, 4, 3, 2, 1, 0];
            let few: Vec<u32> = (0..700).step_by(3).collect();
            [
                learner.evaluate(&stack, Split::Test, None).unwrap(),
                learner.evaluate(&stack, Split::Validation, None).unwrap(),
                learner
                    .evaluate(&stack, Split::Validation, Some(&few))
                    .unwrap(),
                learner
                    .evaluate(&stack, Split::Test, Some(&subset))
                    .unwrap(),
                learner.evaluate(&stack, Split::Train, None).unwrap(),
                learner
                    .evaluate(&stack, Split::Shards(&clients), None)
                    .unwrap(),
                learner
                    .evaluate(&stack, Split::LocalTests(&clients), None)
                    .unwrap(),
                on_tests.unwrap(),
            ]
            .concat()
        };
        for (found, oracle) in scores(&device).iter().zip(&scores(&Device::cpu().unwrap())) {
            assert!(
                (found.loss - oracle.loss).abs() < 1e-5 * oracle.loss,
                "{found:?}, on the cpu {oracle:?}"
            );
            // Logits of two classes may be equal but for the last bit.
            assert!(
                (found.accuracy - oracle.accuracy).abs() < 2e-3,
                "{found:?}, on the cpu {oracle:?}"
            );
        }
    }
}

#[test]
#[ignore = "needs a GPU or software Vulkan"]
fn a_model_that_diverges_names_its_first_round_and_row() {
    let device = gpu();
    let mut learner = learner(&device, &models()[1]);
    let mut stack = learner.initial(6, Start::Same).unwrap();
    let sgd = Sgd {
        learning_rate: LearningRate::Constant(1e30),
        ..sgd()
    };
    let mut rows = vec![
        RowWork {
            client: 0,
            amount: Amount::Idle
        };
        6
    ];
    for round in 1..=3 {
        // Row 3 goes astray from the second round on.
        rows[3].amount = if round > 1 {
            Amount::Steps(4)
        } else {
            Amount::Idle
        };
        let work = LocalWork::new(round, &rows, &sgd);
        learner.train(&mut stack, Velocity::Fresh, &work).unwrap();
    }
    let error = learner.expect_finite(&stack, &[true; 6], 3).unwrap_err();
    assert_eq!(error, EngineError::NonFinite { round: 2, row: 3 });
}
