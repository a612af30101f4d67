//! Local steps of whole stacks against a sequential transcription in double precision, and their determinism.

use crate::support::*;
use meshfold_data::{Consensus, DataFolder, DatasetConfig};
use meshfold_engine::{
    Amount, Anchor, Draw, EngineError, Instructions, Layout, Learner, LearningRate, Linear,
    LocalWork, Mlp, Model, Network, Per, Restart, RowWork, Schedule, Sgd, Split, Stack, Start,
    Step, Targets, Velocity,
};
use std::sync::Arc;

const SIZES: [usize; 4] = [23, 8, 3, 16];

/// Terms that are added to the gradients of all rows.
#[derive(Debug, Clone, Copy)]
struct StepTerms {
    correction: bool,
    anchor: bool,
}

const NO_TERMS: StepTerms = StepTerms {
    correction: false,
    anchor: false,
};
const ALL_TERMS: StepTerms = StepTerms {
    correction: true,
    anchor: true,
};

/// Two rounds of two epochs in the trainer and in the transcription; returns the largest difference of any row.
fn compare(rule: &Sgd, keep: bool, terms: StepTerms) -> f64 {
    compare_model(&mlp(), rule, keep, terms)
}

fn compare_model(model: &Model, rule: &Sgd, keep: bool, terms: StepTerms) -> f64 {
    compare_case(&Case::of_pixels(model.clone(), CLASSES), rule, keep, terms)
}

fn compare_case(case: &Case, rule: &Sgd, keep: bool, terms: StepTerms) -> f64 {
    let StepTerms { correction, anchor } = terms;
    let mut learner = case.learner(&cpu(2, None), &SIZES);
    let mut stack = learner.initial(4, Start::Independent).unwrap();
    let (layout, width) = (stack.layout().clone(), stack.layout().width());
    let start = stack.to_host();
    let extra = {
        let mut extra = learner.initial(4, Start::Same).unwrap();
        extra.scale_rows(&[0.1, 0.2, 0.3, 0.4]).unwrap();
        extra
    };
    let extra_host = extra.to_host();
    let amounts = rows(&[Amount::Epochs(2); 4]);
    let mut kept = Stack::zeros(stack.device(), &layout, 4);
    for round in 1..=2 {
        let work = LocalWork {
            correction: correction.then_some(&extra),
            anchor: anchor.then_some(Anchor {
                models: &extra,
                mu: 0.3,
            }),
            ..work(round, &amounts, rule)
        };
        let velocity = if keep {
            Velocity::Kept(&mut kept)
        } else {
            Velocity::Fresh
        };
        learner.train(&mut stack, velocity, &work).unwrap();
    }
    let values = stack.to_host();
    (0..4u32)
        .map(|row| {
            let range = row as usize * width..(row as usize + 1) * width;
            let mut client = Sequential::new(&learner, row, &start[range.clone()]);
            let mut epochs = 0;
            for _ in 0..2 {
                if !keep {
                    client.velocity.fill(0.0);
                }
                for _ in 0..2 {
                    for batch in client.epoch(rule.batch_on(SIZES[row as usize])) {
                        let rate = match &rule.learning_rate {
                            LearningRate::Constant(rate) => *rate,
                            LearningRate::Schedule(_) => 0.05 * 0.5f64.powi(epochs),
                        };
                        let extra = &extra_host[range.clone()];
                        client.step(&batch, rule, rate, &|at, w| {
                            f64::from(u8::from(correction)) * f64::from(extra[at])
                                + f64::from(u8::from(anchor)) * 0.3 * (w - f64::from(extra[at]))
                        });
                    }
                    epochs += 1;
                }
            }
            difference(&values[range], &client.weights)
        })
        .fold(0.0, f64::max)
}

/// Some tens of f32 steps of size 0.05 on weights near 1.
const TOLERANCE: f64 = 5e-6;

#[test]
fn local_epochs_follow_the_transcription() {
    for momentum in [0.0, 0.9] {
        for keep in [false, true] {
            assert!(
                compare(&sgd(5, momentum), keep, NO_TERMS) < TOLERANCE,
                "{momentum} {keep}"
            );
        }
    }
}

/// Networks on images with a margin, whose pixels are taken once for a batch where the first layer is wide, or judged many
/// beside each other.
fn margins() -> [Case; 4] {
    let of = |hidden: &[usize], dropout| {
        Case::of_margins(Model::Mlp(Mlp {
            hidden: hidden.to_vec(),
            dropout,
            ..Mlp::default()
        }))
    };
    [
        Case::of_margins(Model::Logistic),
        of(&[40], 0.3),
        of(&[130, 7], 0.0),
        of(&[430], 0.0),
    ]
}

#[test]
fn pixels_that_all_images_share_follow_the_transcription() {
    let mut decaying = sgd(4, 0.9);
    decaying.weight_decay = 0.1;
    for case in margins() {
        for (rule, keep, terms) in [
            (sgd(4, 0.0), false, NO_TERMS),
            (decaying.clone(), true, NO_TERMS),
            (sgd(7, 0.9), false, ALL_TERMS),
        ] {
            let difference = compare_case(&case, &rule, keep, terms);
            assert!(difference < 1e-5, "{case:?}: {difference}");
        }
    }
}

#[test]
fn linear_models_and_dropout_follow_the_transcription() {
    for model in linear().iter().chain([&dropping_mlp()]) {
        for momentum in [0.0, 0.5] {
            let mut rule = sgd(5, momentum);
            rule.learning_rate = LearningRate::Constant(0.01);
            rule.weight_decay = 0.01;
            let plain = compare_model(model, &rule, true, NO_TERMS);
            assert!(plain < TOLERANCE, "{model:?} {momentum}: {plain}");
            rule.clip_norm = Some(0.5);
            let clipped = compare_model(model, &rule, false, ALL_TERMS);
            assert!(clipped < TOLERANCE, "{model:?} {momentum}: {clipped}");
        }
    }
}

#[test]
fn convolutions_and_recurrent_layers_follow_the_transcription() {
    let grids = [4, 5, 7].map(|at| convolutional()[at].clone());
    for case in recurrent().iter().chain(&grids) {
        let mut rule = sgd(5, 0.5);
        rule.learning_rate = LearningRate::Constant(0.01);
        let plain = compare_case(case, &rule, true, NO_TERMS);
        assert!(plain < TOLERANCE, "{case:?}: {plain}");
        rule.weight_decay = 0.01;
        rule.clip_norm = Some(0.5);
        let clipped = compare_case(case, &rule, false, ALL_TERMS);
        assert!(clipped < TOLERANCE, "{case:?}: {clipped}");
    }
}

#[test]
fn the_consensus_example_follows_its_formula() {
    let splits = DatasetConfig::Consensus(Consensus::default())
        .load(&DataFolder::new("unused"))
        .unwrap();
    let model = Model::Linear(Linear {
        targets: Targets::Value,
        bias: false,
    });
    let network = Network::of_features(&model, 1, 2).unwrap();
    assert_eq!(network.layout().parameters(), 1);
    let partition = Arc::new(partition(&[1; 8]));
    let mut learner = Learner::upload(&cpu(2, None), network, splits, partition, SEED).unwrap();
    let mut stack = learner.initial(8, Start::Independent).unwrap();
    let width = stack.layout().width();
    let before = stack.to_host();
    let (amounts, rule) = (rows(&[Amount::Steps(3); 8]), sgd(1, 0.0));
    learner
        .train(&mut stack, Velocity::Fresh, &work(1, &amounts, &rule))
        .unwrap();
    let after = stack.to_host();
    let scores = learner.evaluate(&stack, Split::Test, None).unwrap();
    for (row, score) in scores.iter().enumerate() {
        // w <- w − η (w − 1), three times with η = 0.05.
        let apart = (1.0 - f64::from(before[row * width])) * 0.95f64.powi(3);
        let w = f64::from(after[row * width]);
        assert!((w - (1.0 - apart)).abs() < 1e-6, "{w}");
        assert!((score.loss - 0.5 * apart * apart).abs() < 1e-6);
        assert_eq!(score.accuracy, f64::from(u8::from(apart.abs() < 0.5)));
    }
}

#[test]
fn decay_clipping_correction_and_anchor_follow_the_transcription() {
    let mut rule = sgd(5, 0.9);
    rule.weight_decay = 0.01;
    assert!(compare(&rule, false, NO_TERMS) < TOLERANCE);
    rule.clip_norm = Some(0.5);
    assert!(compare(&rule, true, NO_TERMS) < TOLERANCE);
    let correction = StepTerms {
        correction: true,
        anchor: false,
    };
    assert!(compare(&rule, false, correction) < TOLERANCE);
    let anchor = StepTerms {
        correction: false,
        anchor: true,
    };
    assert!(compare(&rule, false, anchor) < TOLERANCE);
    assert!(compare(&rule, true, ALL_TERMS) < TOLERANCE);
}

#[test]
fn nesterov_steps_follow_the_transcription() {
    let plain = nesterov(sgd(5, 0.9));
    let decaying = Sgd {
        weight_decay: 0.01,
        ..plain.clone()
    };
    let clipped = Sgd {
        clip_norm: Some(0.5),
        ..decaying.clone()
    };
    let correction = StepTerms {
        anchor: false,
        ..ALL_TERMS
    };
    let anchor = StepTerms {
        correction: false,
        ..ALL_TERMS
    };
    for rule in [&plain, &decaying, &clipped] {
        for keep in [false, true] {
            for terms in [NO_TERMS, correction, anchor, ALL_TERMS] {
                let apart = compare(rule, keep, terms);
                // Steps are nearly twice as large as those of a heavy ball.
                assert!(
                    apart < 2.0 * TOLERANCE,
                    "{rule:?} {keep} {terms:?}: {apart}"
                );
            }
        }
    }
    for case in margins() {
        let apart = compare_case(&case, &nesterov(sgd(4, 0.9)), true, NO_TERMS);
        assert!(apart < 2e-5, "{case:?}: {apart}");
    }
}

#[test]
fn the_first_nesterov_step_is_a_larger_step_without_momentum() {
    let tasks = rows(&[Amount::Steps(1); 4]);
    let after = |rule: &Sgd| {
        let mut learner = learner(&cpu(2, None), &mlp(), &SIZES);
        let mut stack = learner.initial(4, Start::Same).unwrap();
        let work = work(1, &tasks, rule);
        learner.train(&mut stack, Velocity::Fresh, &work).unwrap();
        stack.to_host()
    };
    let larger = Sgd {
        learning_rate: LearningRate::Constant(1.5 * 0.05),
        ..sgd(5, 0.0)
    };
    let wanted = after(&larger).into_iter().map(f64::from);
    let wanted: Vec<f64> = wanted.collect();
    let apart = difference(&after(&nesterov(sgd(5, 0.5))), &wanted);
    // Two roundings of weights near 1.
    assert!(apart < 1e-6, "{apart}");
}

#[test]
fn nesterov_without_momentum_has_no_effect() {
    let case = Case::of_pixels(mlp(), CLASSES);
    let plain = bits(2, None, 3, &case, &sgd(4, 0.0));
    assert!(plain == bits(2, None, 3, &case, &nesterov(sgd(4, 0.0))));
    let heavy = bits(2, None, 3, &case, &sgd(4, 0.9));
    assert!(heavy != bits(2, None, 3, &case, &nesterov(sgd(4, 0.9))));
}

#[test]
fn a_schedule_by_epochs_follows_the_transcription() {
    let mut rule = sgd(5, 0.0);
    let (per, restart) = (Per::Epoch, Restart::Never);
    rule.learning_rate = LearningRate::Schedule(Schedule::Step(Step {
        initial: 0.05,
        factor: 0.5,
        every: 1.0,
        per,
        restart,
        warmup: 0.0,
    }));
    assert!(compare(&rule, false, NO_TERMS) < TOLERANCE);
}

#[test]
fn idle_and_finished_rows_do_not_move_nor_does_their_velocity() {
    let mut learner = learner(&cpu(2, None), &mlp(), &SIZES);
    let mut stack = learner.initial(4, Start::Same).unwrap();
    let width = stack.layout().width();
    let before = stack.to_host();
    let mut velocity = stack.duplicate();
    let rows = rows(&[
        Amount::Steps(3),
        Amount::Idle,
        Amount::Steps(0),
        Amount::Epochs(1),
    ]);
    let rule = sgd(5, 0.9);
    let steps = learner
        .train(
            &mut stack,
            Velocity::Kept(&mut velocity),
            &work(1, &rows, &rule),
        )
        .unwrap();
    assert_eq!(steps, [3, 0, 0, 4]);
    let (after, velocities) = (stack.to_host(), velocity.to_host());
    for row in 0..4 {
        let range = row * width..(row + 1) * width;
        let still = row == 1 || row == 2;
        assert_eq!(
            after[range.clone()] == before[range.clone()],
            still,
            "row {row}"
        );
        assert_eq!(
            velocities[range.clone()] == before[range],
            still,
            "row {row}"
        );
    }
}

fn bits(
    threads: usize,
    instructions: Option<Instructions>,
    rows_in_stack: usize,
    case: &Case,
    rule: &Sgd,
) -> (Vec<u32>, Vec<u64>) {
    let sizes: Vec<usize> = (0..rows_in_stack).map(|row| 5 + 7 * (row % 4)).collect();
    let mut learner = case.learner(&cpu(threads, instructions), &sizes);
    let mut stack = learner.initial(rows_in_stack, Start::Same).unwrap();
    let amounts = rows(&vec![Amount::Steps(7); rows_in_stack]);
    for round in 1..=3 {
        learner
            .train(&mut stack, Velocity::Fresh, &work(round, &amounts, rule))
            .unwrap();
    }
    let scores = learner.evaluate(&stack, Split::Test, None).unwrap();
    let first = stack.to_host()[..stack.layout().width()]
        .iter()
        .map(|w| w.to_bits())
        .collect();
    (
        first,
        vec![scores[0].loss.to_bits(), scores[0].accuracy.to_bits()],
    )
}

/// Momentum of both kinds, a bound on the gradient, and batches drawn with replacement.
fn rules() -> [Sgd; 4] {
    let mut clipped = sgd(4, 0.9);
    clipped.clip_norm = Some(1.0);
    let mut replaced = sgd(4, 0.0);
    replaced.draw = Draw::WithReplacement;
    [sgd(4, 0.9), nesterov(sgd(4, 0.9)), clipped, replaced]
}

/// One row on three threads shares its products, and reads a wide first layer twice; nine rows on two are trained in blocks.
fn assert_bits_are_those_of_one_row_alone(case: &Case, rule: &Sgd) {
    let alone = bits(1, None, 1, case, rule);
    for (threads, rows) in [(3, 1), (1, 9), (2, 9), (4, 2)] {
        assert!(
            alone == bits(threads, None, rows, case, rule),
            "{case:?}, {rule:?}, {threads} threads, {rows} rows"
        );
    }
}

#[test]
fn bits_do_not_depend_on_threads_or_on_what_shares_the_stack() {
    let models = [mlp(), dropping_mlp(), linear()[0].clone()];
    let of_pixels = models.map(|model| Case::of_pixels(model, CLASSES));
    for case in of_pixels.into_iter().chain(margins()) {
        for rule in rules() {
            assert_bits_are_those_of_one_row_alone(&case, &rule);
            assert_bits_are_those_of_one_row_alone(&case.clone().in_bf16(), &rule);
        }
    }
}

/// A first layer of more than 64 Ki weights is read once for its update and for the next step.
#[test]
fn bits_of_a_wide_first_layer_do_not_depend_on_threads_or_on_what_shares_the_stack() {
    for dropout in [0.0, 0.4] {
        let wide = Model::Mlp(Mlp {
            hidden: vec![3200, 5],
            dropout,
            ..Mlp::default()
        });
        let case = Case::of_pixels(wide, CLASSES);
        for rule in rules() {
            assert_bits_are_those_of_one_row_alone(&case, &rule);
            assert_bits_are_those_of_one_row_alone(&case.clone().in_bf16(), &rule);
        }
    }
}

#[test]
fn every_instruction_set_learns_the_same_within_rounding() {
    let rule = sgd(4, 0.9);
    let of_pixels = |model| Case::of_pixels(model, CLASSES);
    let cases = [mlp(), dropping_mlp()].map(of_pixels);
    for case in cases.into_iter().chain(margins()) {
        let reference = bits(1, None, 3, &case, &rule).0;
        for set in Instructions::available() {
            let values = bits(1, Some(set), 3, &case, &rule).0;
            for (a, b) in reference.iter().zip(values) {
                assert!(
                    (f32::from_bits(*a) - f32::from_bits(b)).abs() < 1e-5,
                    "{set}"
                );
            }
        }
    }
}

#[test]
fn a_batch_larger_than_a_piece_gives_the_whole_gradient() {
    for model in [mlp(), dropping_mlp()] {
        let mut learner = learner(&cpu(2, None), &model, &[1300]);
        let stack = learner.initial(1, Start::Same).unwrap();
        let shard: Vec<u32> = (0..1300).collect();
        let rows = rows(&[Amount::Steps(1)]);
        let gradient = learner
            .gradients(&stack, &work(1, &rows, &sgd(1300, 0.0)))
            .unwrap()
            .to_host();
        let plain = Sequential::new(&learner, 0, &stack.to_host()).gradient(&shard);
        // Sums over 1300 examples in f32.
        assert!(difference(&gradient, &plain) < 2e-6, "{model:?}");
    }
}

#[test]
fn a_model_that_blows_up_is_named_with_round_and_row() {
    let mut learner = learner(&cpu(2, None), &mlp(), &SIZES);
    let mut stack = learner.initial(4, Start::Same).unwrap();
    let mut rule = sgd(5, 0.0);
    let train = |rate: f64,
                 round: usize,
                 learner: &mut meshfold_engine::Learner,
                 stack: &mut Stack,
                 rule: &mut Sgd| {
        rule.learning_rate = LearningRate::Constant(rate);
        let rows = rows(&[
            Amount::Steps(1),
            Amount::Steps(1),
            Amount::Steps(4),
            Amount::Steps(1),
        ]);
        learner
            .train(stack, Velocity::Fresh, &work(round, &rows, rule))
            .unwrap();
    };
    train(0.1, 1, &mut learner, &mut stack, &mut rule);
    assert_eq!(learner.expect_finite(&stack, &[true; 4], 1), Ok(()));
    train(1e30, 2, &mut learner, &mut stack, &mut rule);
    train(0.1, 3, &mut learner, &mut stack, &mut rule);
    assert_eq!(
        learner.expect_finite(&stack, &[true; 4], 3),
        Err(EngineError::NonFinite { round: 2, row: 2 })
    );
}

#[test]
fn a_resumed_learner_goes_on_with_the_same_bits() {
    let rule = sgd(5, 0.9);
    let amounts = rows(&[Amount::Steps(3); 4]);
    let device = cpu(2, None);
    let mut first = learner(&device, &dropping_mlp(), &SIZES);
    let mut stack = first.initial(4, Start::Same).unwrap();
    first
        .train(&mut stack, Velocity::Fresh, &work(1, &amounts, &rule))
        .unwrap();
    let mut second = learner(&device, &dropping_mlp(), &SIZES);
    second.resume(&first.state());
    let mut copy = Stack::from_host(&device, stack.layout(), stack.to_host()).unwrap();
    first
        .train(&mut stack, Velocity::Fresh, &work(2, &amounts, &rule))
        .unwrap();
    second
        .train(&mut copy, Velocity::Fresh, &work(2, &amounts, &rule))
        .unwrap();
    assert_eq!(stack.to_host(), copy.to_host());
    assert_eq!(first.tally().local_steps, second.tally().local_steps);
}

#[test]
fn work_that_does_not_fit_is_refused() {
    let mut learner = learner(&cpu(1, None), &mlp(), &SIZES);
    let mut stack = learner.initial(4, Start::Same).unwrap();
    let rule = sgd(5, 0.0);
    let short = rows(&[Amount::Steps(1); 3]);
    assert!(matches!(
        learner.train(&mut stack, Velocity::Fresh, &work(1, &short, &rule)),
        Err(EngineError::RowCount {
            found: 3,
            rows: 4,
            ..
        })
    ));
    let mut wrong = rows(&[Amount::Steps(1); 4]);
    wrong[2] = RowWork {
        client: 9,
        amount: Amount::Steps(1),
    };
    assert!(matches!(
        learner.train(&mut stack, Velocity::Fresh, &work(1, &wrong, &rule)),
        Err(EngineError::Client {
            row: 2,
            client: 9,
            ..
        })
    ));
    let fine = rows(&[Amount::Steps(1); 4]);
    assert!(matches!(
        learner.train(&mut stack, Velocity::Fresh, &work(1, &fine, &sgd(0, 0.0))),
        Err(EngineError::Setting {
            what: "batch size",
            ..
        })
    ));
    let mut idle = fine.clone();
    idle[3] = RowWork {
        client: 9,
        amount: Amount::Idle,
    };
    assert!(matches!(
        learner.train(&mut stack, Velocity::Fresh, &work(1, &idle, &rule)),
        Err(EngineError::Client { row: 3, .. })
    ));
    let mut narrow = Layout::default();
    narrow.push("weight", 2, 2);
    let mut narrow = Stack::zeros(learner.device(), &Arc::new(narrow), 4);
    let refused = learner.train(&mut narrow, Velocity::Fresh, &work(1, &fine, &rule));
    assert!(matches!(
        refused,
        Err(EngineError::Setting { what: "models", .. })
    ));
}

#[test]
fn a_gradient_counts_the_examples_of_one_step_that_goes_on_through_the_pass() {
    let shard = |amount| {
        let mut learner = learner(&cpu(1, None), &mlp(), &[13]);
        let stack = learner.initial(1, Start::Same).unwrap();
        let rows = [RowWork { client: 0, amount }];
        let rule = sgd(5, 0.0);
        let mut seen = Vec::new();
        for round in 1..=4 {
            learner
                .gradients(&stack, &work(round, &rows, &rule))
                .unwrap();
            seen.push(learner.tally().examples_seen);
        }
        seen
    };
    assert_eq!(shard(Amount::Steps(3)), [5, 10, 13, 18]);
    assert_eq!(shard(Amount::Epochs(1)), [5, 10, 13, 18]);
}

#[test]
fn training_aside_leaves_no_trace() {
    expect_no_trace_of_training_aside(&cpu(2, None));
}

#[test]
fn gradients_can_be_taken_again_on_the_same_batches_with_the_same_dropout() {
    let Model::Mlp(plain) = mlp() else {
        unreachable!("`mlp` makes an `Mlp`")
    };
    let model = Model::Mlp(Mlp {
        dropout: 0.5,
        ..plain
    });
    for draw in [Draw::Shuffled, Draw::WithReplacement] {
        let rule = Sgd {
            draw,
            ..sgd(5, 0.0)
        };
        let gradients = |calls_of_a_round: usize| {
            let mut learner = learner(&cpu(2, None), &model, &SIZES);
            let mut stack = learner.initial(4, Start::Same).unwrap();
            let rows = rows(&[
                Amount::Steps(1),
                Amount::Epochs(1),
                Amount::Idle,
                Amount::Steps(3),
            ]);
            let mut found = Vec::new();
            for round in 1..=9 {
                for call in 0..calls_of_a_round {
                    if call > 0 {
                        learner.rewind_batches(round).unwrap();
                    }
                    let work = work(round, &rows, &rule);
                    let gradients = learner.gradients(&stack, &work).unwrap();
                    found.push((gradients.to_host(), learner.rates(&work).unwrap()));
                }
                // Train in between: the way through the data goes on from where it is.
                let step = work(round, &rows, &rule);
                learner.train(&mut stack, Velocity::Fresh, &step).unwrap();
            }
            (found, stack.to_host(), learner.tally())
        };
        let (once, models, tally) = gradients(1);
        let (thrice, same_models, of_three) = gradients(3);
        assert!(models == same_models);
        assert_eq!(of_three.train_loss, tally.train_loss);
        assert_eq!(of_three.examples_seen, tally.examples_seen);
        // Each of three rows made a step for its gradient, and all their local steps besides.
        assert_eq!(of_three.local_steps - tally.local_steps, 2 * 9 * 3);
        assert!(once.windows(2).all(|pair| pair[0].0 != pair[1].0));
        for (one, three) in once.iter().zip(thrice.chunks_exact(3)) {
            assert!(three.iter().all(|again| again == one));
        }
    }
}

#[test]
fn only_batches_of_the_round_that_nothing_was_trained_on_since_can_be_taken_again() {
    let mut learner = learner(&cpu(1, None), &mlp(), &SIZES);
    let mut stack = learner.initial(4, Start::Same).unwrap();
    let (rows, rule) = (rows(&[Amount::Steps(1); 4]), sgd(5, 0.0));
    let is_refused = |learner: &mut Learner, round| {
        let refused = learner.rewind_batches(round);
        let what = "mini-batches to take again";
        matches!(refused, Err(EngineError::Setting { what: found, .. }) if found == what)
    };
    assert!(is_refused(&mut learner, 1));
    learner.gradients(&stack, &work(1, &rows, &rule)).unwrap();
    assert!(is_refused(&mut learner, 2));
    learner.gradients(&stack, &work(2, &rows, &rule)).unwrap();
    let step = work(2, &rows, &rule);
    learner.train(&mut stack, Velocity::Fresh, &step).unwrap();
    assert!(is_refused(&mut learner, 2));
    learner.gradients(&stack, &work(2, &rows, &rule)).unwrap();
    let state = learner.state();
    learner.resume(&state);
    assert!(
        is_refused(&mut learner, 2),
        "a checkpoint does not hold them"
    );
}
