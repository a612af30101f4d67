//! Outputs, and gradients on mini-batches that are drawn first or on examples that are chosen, with slopes or without.

use crate::support::*;
use meshfold_data::Augment;
use meshfold_engine::{
    Amount, Anchor, BatchSize, Device, DeviceRequest, EngineError, ExampleSet, GradientsOn,
    Learner, LearningRate, LocalWork, Per, Ranks, Restart, RowExamples, RowWork, Schedule, Sgd,
    Stack, Start, Step, Velocity, oracle,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// Three rounds of two gradient steps and one call of training, and what is left of them. With `first`, batches are drawn before
/// gradients are taken.
fn stepped(learner: &mut Learner, sgd: &Sgd, own: &[RowWork], first: bool) -> (Vec<f32>, String) {
    let mut models = shaken(learner, own.len());
    for round in 1..=3 {
        let work = work(round, own, sgd);
        for _ in 0..2 {
            let rates = learner.rates(&work).unwrap();
            let gradients = match first {
                false => learner.gradients(&models, &work).unwrap(),
                true => {
                    let examples = learner.next_batches(&work).unwrap();
                    assert_eq!(examples.rates().unwrap(), rates);
                    learner
                        .gradients_on(&models, &work, &GradientsOn::of(&examples))
                        .unwrap()
                }
            };
            let rates: Vec<f32> = rates.iter().map(|rate| -rate).collect();
            models.add_scaled(&gradients, &rates).unwrap();
        }
        learner.train(&mut models, Velocity::Fresh, &work).unwrap();
    }
    let state = serde_json::to_string(&learner.state()).unwrap();
    (models.to_host(), state)
}

#[test]
fn batches_that_are_drawn_first_are_those_that_gradients_would_draw() {
    let mut cases = vec![Case::of_pixels(dropping_mlp(), CLASSES)];
    cases.extend(dense());
    cases.extend(recurrent());
    cases.extend(convolutional().into_iter().take(2));
    let mut sgd = sgd(4, 0.9);
    sgd.clip_norm = Some(0.3);
    sgd.learning_rate = LearningRate::Schedule(Schedule::Step(Step {
        initial: 0.05,
        factor: 0.5,
        every: 2.0,
        per: Per::Step,
        restart: Restart::Never,
        warmup: 0.0,
    }));
    let mut own = rows(&[Amount::Steps(2); 3]);
    own[1].amount = Amount::Idle;
    for case in cases {
        let both = [false, true].map(|first| {
            let mut learner = case.learner(&cpu(2, None), &[13, 9, 3]);
            stepped(&mut learner, &sgd, &own, first)
        });
        assert!(both[0] == both[1], "{case:?}");
    }
}

#[test]
fn batches_of_augmented_images_are_those_that_gradients_would_draw() {
    let augment = Augment {
        crop_padding: 2,
        horizontal_flip: true,
    };
    let case = &convolutional()[5];
    let own = rows(&[Amount::Steps(2); 2]);
    let both = [false, true].map(|first| {
        let learner = case.learner(&cpu(2, None), &[13, 9]);
        let mut learner = learner.augmented(augment).unwrap();
        stepped(&mut learner, &sgd(4, 0.0), &own, first)
    });
    assert!(both[0] == both[1]);
}

/// Local steps on mini-batches that are drawn first are those that training makes, with all that it adds to gradients.
#[test]
fn steps_on_batches_that_are_drawn_first_are_those_of_training() {
    let mut cases = vec![Case::of_pixels(dropping_mlp(), CLASSES)];
    cases.extend(dense());
    cases.extend(recurrent());
    cases.extend(convolutional().into_iter().take(2));
    let plain = sgd(4, 0.9);
    let clipped = Sgd {
        clip_norm: Some(0.3),
        weight_decay: 0.01,
        ..nesterov(sgd(4, 0.9))
    };
    let rules = [
        (&plain, false, true),
        (&plain, false, false),
        (&clipped, true, true),
        (&sgd(4, 0.0), true, false),
    ];
    let mut own = rows(&[Amount::Steps(1); 3]);
    own[1].amount = Amount::Idle;
    for case in cases
        .into_iter()
        .flat_map(|case| [case.clone(), case.in_bf16()])
    {
        for (rule, adds, keeps) in rules {
            let both = [false, true].map(|first| {
                let mut learner = case.learner(&cpu(2, None), &[13, 9, 3]);
                let mut models = shaken(&learner, 3);
                let extra = models.duplicate();
                let mut velocity = Stack::zeros(models.device(), models.layout(), 3);
                for round in 1..=5 {
                    let work = LocalWork {
                        correction: adds.then_some(&extra),
                        anchor: adds.then_some(Anchor {
                            models: &extra,
                            mu: 0.3,
                        }),
                        ..work(round, &own, rule)
                    };
                    let velocity = match keeps {
                        true => Velocity::Kept(&mut velocity),
                        false => Velocity::Fresh,
                    };
                    let steps = match first {
                        false => learner.train(&mut models, velocity, &work),
                        true => {
                            let examples = learner.next_batches(&work).unwrap();
                            let on = GradientsOn::of(&examples);
                            learner.step_on(&mut models, velocity, &work, &on)
                        }
                    };
                    assert_eq!(steps.unwrap(), [1, 0, 1]);
                }
                let state = serde_json::to_string(&learner.state()).unwrap();
                let bits = |stack: &Stack| -> Vec<u32> {
                    stack.to_host().into_iter().map(f32::to_bits).collect()
                };
                (bits(&models), bits(&velocity), state)
            });
            let alike = [
                both[0].0 == both[1].0,
                both[0].1 == both[1].1,
                both[0].2 == both[1].2,
            ];
            assert_eq!(alike, [true; 3], "{case:?}, {rule:?}");
        }
    }
}

#[test]
fn steps_along_slopes_are_those_of_their_gradients() {
    for case in [Case::of_pixels(mlp(), CLASSES), recurrent()[0].clone()] {
        let mut learner = case.learner(&cpu(2, None), &[13, 9, 3]);
        let (own, mut sgd) = (rows(&[Amount::Steps(1); 3]), sgd(4, 0.0));
        sgd.weight_decay = 0.1;
        let (models, work) = (shaken(&learner, 3), work(1, &own, &sgd));
        let examples = RowExamples::each(ExampleSet::Train, vec![vec![4, 0, 4], vec![], vec![7]]);
        let outputs = learner.outputs(&models, &examples).unwrap();
        let slopes: Vec<Vec<f32>> = (0..)
            .zip(&outputs)
            .map(|(row, outputs)| drawn(outputs.len(), row))
            .collect();
        let rates = [0.1, 0.2, 0.3];
        let on = GradientsOn {
            slopes: Some(&slopes),
            rates: Some(&rates),
            ..GradientsOn::of(&examples)
        };
        let gradients = learner.gradients_on(&models, &work, &on).unwrap();
        let mut needed = models.duplicate();
        // Rows without examples do not decay.
        needed.add_scaled(&models, &[-0.01, 0.0, -0.03]).unwrap();
        needed
            .add_scaled(&gradients, &rates.map(|rate| -rate))
            .unwrap();
        let mut stepped = models.duplicate();
        let steps = learner.step_on(&mut stepped, Velocity::Fresh, &work, &on);
        assert_eq!(steps.unwrap(), [1, 0, 1]);
        let apart = difference(&stepped.to_host(), &wide(&needed.to_host()));
        assert!(apart < 1e-6, "{case:?}: {apart}");
        let width = models.layout().width();
        assert!(stepped.to_host()[width..2 * width] == models.to_host()[width..2 * width]);
        let tally = learner.tally();
        assert_eq!((tally.local_steps, tally.examples_seen), (4, 8));
    }
}

/// Slopes for `count` outputs.
fn drawn(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

pub(super) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

/// Holds outputs, representations and gradients of slopes against the plain loops: on mini-batches, on examples of each row and on one list for all.
fn compare_with_plain(case: &Case, longest: usize, tolerance: f64) {
    let mut learner = case.learner(&cpu(2, None), &[longest, 9, 1]);
    let (mut sgd, own) = (sgd(1, 0.0), rows(&[Amount::Steps(1); 3]));
    sgd.batch_size = BatchSize::Full;
    let models = shaken(&learner, 3);
    let work = work(1, &own, &sgd);
    let batches = learner.next_batches(&work).unwrap();
    let chosen = RowExamples::each(ExampleSet::Train, vec![vec![4, 0, 4], vec![], vec![7]]);
    let tests = RowExamples::same(ExampleSet::Test, vec![2, 8, 3, 5]);
    for (what, examples) in [
        ("batches", &batches),
        ("chosen", &chosen),
        ("tests", &tests),
    ] {
        let outputs = learner.outputs(&models, examples).unwrap();
        let slopes: Vec<Vec<f32>> = (0..)
            .zip(&outputs)
            .map(|(row, outputs)| drawn(outputs.len(), row))
            .collect();
        let has_representations = learner.network().representation().is_some();
        let representations = match has_representations {
            true => learner.representations(&models, examples).unwrap(),
            false => vec![Vec::new(); 3],
        };
        let more: Vec<Vec<f32>> = (9..)
            .zip(&representations)
            .map(|(row, representations)| drawn(representations.len(), row))
            .collect();
        let on = GradientsOn {
            slopes: Some(&slopes),
            representation_slopes: has_representations.then_some(&more),
            ..GradientsOn::of(examples)
        };
        let gradients = learner.gradients_on(&models, &work, &on).unwrap().to_host();
        let (values, width) = (models.to_host(), models.layout().width());
        let network = learner.network();
        for row in 0..3 {
            let list = examples.of_row(row);
            let set = match examples.set() {
                ExampleSet::Test => &learner.splits().test,
                _ => &learner.splits().train,
            };
            let (x, _) = batch(&learner, set, list);
            let range = row * width..(row + 1) * width;
            let dropout = network.dropout(SEED, row as u32, 0);
            let dropout = dropout.as_ref().filter(|_| what == "batches");
            let weights = wide(&values[range.clone()]);
            let plain = oracle::plain_outputs(network, &weights, &x, dropout);
            assert_eq!(
                outputs[row].len(),
                list.len() * network.positions() * network.outputs()
            );
            let largest = plain
                .iter()
                .fold(1.0, |most: f64, value| most.max(value.abs()));
            let apart = difference(&outputs[row], &plain) / largest;
            assert!(
                apart < tolerance,
                "{case:?}, outputs of {what}, row {row}: {apart}"
            );
            if has_representations {
                let plain = oracle::plain_representations(network, &weights, &x, dropout);
                assert_eq!(representations[row].len(), plain.len());
                let largest = plain.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
                let apart = difference(&representations[row], &plain) / largest;
                assert!(
                    apart < tolerance,
                    "{case:?}, representations of {what}, row {row}: {apart}"
                );
            }
            let (slopes, more) = (wide(&slopes[row]), wide(&more[row]));
            let plain = oracle::plain_pull_back(network, &weights, &x, &slopes, &more, dropout);
            if list.is_empty() {
                assert!(gradients[range].iter().all(|slope| *slope == 0.0));
                continue;
            }
            let apart = block_difference(network, &gradients[range], &plain);
            assert!(
                apart < tolerance,
                "{case:?}, gradients of {what}, row {row}: {apart}"
            );
        }
    }
}

#[test]
fn outputs_and_their_gradients_of_dense_layers_are_those_of_plain_loops() {
    for case in dense() {
        compare_with_plain(&case, 13, 1e-5);
    }
    // Cut into pieces.
    compare_with_plain(&Case::of_pixels(dropping_mlp(), CLASSES), 1300, 2e-5);
}

#[test]
fn outputs_and_their_gradients_of_convolutions_are_those_of_plain_loops() {
    for case in convolutional() {
        compare_with_plain(&case, 5, 1e-4);
    }
}

#[test]
fn outputs_and_their_gradients_of_recurrent_layers_are_those_of_plain_loops() {
    for case in recurrent() {
        compare_with_plain(&case, 13, 1e-5);
    }
    // Cut into pieces.
    compare_with_plain(&recurrent()[0], 1100, 1e-5);
}

/// The gradients of the plain loops are those of finite differences, and so is the gradient that they have of given slopes.
#[test]
fn the_plain_gradient_of_slopes_is_the_slope_of_their_product_with_outputs_and_representations() {
    for case in [
        Case::of_pixels(dropping_mlp(), CLASSES),
        recurrent()[0].clone(),
    ] {
        let learner = case.learner(&cpu(1, None), &[5]);
        let network = learner.network();
        let row = wide(&shaken(&learner, 1).to_host());
        let (x, _) = batch(&learner, &learner.splits().train, &[0, 3, 2]);
        let dropout = network.dropout(SEED, 0, 3);
        let dropout = dropout.as_ref();
        let found = |row: &[f64]| {
            let outputs = oracle::plain_outputs(network, row, &x, dropout);
            let representations = oracle::plain_representations(network, row, &x, dropout);
            [outputs, representations]
        };
        let each = found(&row);
        let slopes = [0, 1].map(|of| wide(&drawn(each[of].len(), 5 + of as u64)));
        let gradient = oracle::plain_pull_back(network, &row, &x, &slopes[0], &slopes[1], dropout);
        let mut moved = row.clone();
        for block in network.layout().blocks() {
            for at in block.range().step_by(block.size().div_ceil(20)) {
                let mut product = |shift: f64| {
                    moved[at] = row[at] + shift;
                    let numbers = found(&moved).into_iter().flatten();
                    numbers
                        .zip(slopes.iter().flatten())
                        .map(|(number, slope)| number * slope)
                        .sum::<f64>()
                };
                let slope = (product(1e-6) - product(-1e-6)) / 2e-6;
                moved[at] = row[at];
                let apart = (slope - gradient[at]).abs();
                assert!(apart < 1e-6, "{case:?}, {} at {at}: {apart}", block.name);
            }
        }
    }
}

#[test]
fn outputs_and_gradients_do_not_depend_on_threads_or_on_what_shares_the_stack() {
    let mut cases = vec![Case::of_pixels(mlp(), CLASSES)];
    cases.extend(convolutional().into_iter().take(3));
    cases.extend(recurrent());
    for case in cases
        .into_iter()
        .flat_map(|case| [case.clone(), case.in_bf16()])
    {
        let found = |threads: usize, count: usize| {
            let mut learner = case.learner(&cpu(threads, None), &[70, 30]);
            let models = learner.initial(count, Start::Same).unwrap();
            let examples = RowExamples::same(ExampleSet::Train, (0..60).collect());
            let outputs = learner.outputs(&models, &examples).unwrap();
            let slopes = vec![drawn(outputs[0].len(), 1); count];
            let representations = learner.representations(&models, &examples).unwrap();
            let own = vec![
                RowWork {
                    client: 1,
                    amount: Amount::Steps(1)
                };
                count
            ];
            let sgd = sgd(1, 0.0);
            let on = GradientsOn {
                slopes: Some(&slopes),
                representation_slopes: Some(&representations),
                ..GradientsOn::of(&examples)
            };
            let gradients = learner
                .gradients_on(&models, &work(1, &own, &sgd), &on)
                .unwrap();
            let width = models.layout().width();
            (outputs[0].clone(), gradients.to_host()[..width].to_vec())
        };
        let alone = found(1, 1);
        for (threads, count) in [(3, 1), (2, 5), (1, 3)] {
            assert!(
                found(threads, count) == alone,
                "{case:?}: {threads} {count}"
            );
        }
    }
}

#[test]
fn gradients_on_chosen_examples_count_as_steps_once() {
    let mut learner = learner(&cpu(2, None), &mlp(), &[13, 9]);
    let models = shaken(&learner, 2);
    let mut sgd = sgd(4, 0.0);
    sgd.learning_rate = LearningRate::Schedule(Schedule::Step(Step {
        initial: 0.5,
        factor: 0.5,
        every: 1.0,
        per: Per::Step,
        restart: Restart::Never,
        warmup: 0.0,
    }));
    let own = rows(&[Amount::Steps(1); 2]);
    let work = work(1, &own, &sgd);
    let before = learner.state();
    let chosen = RowExamples::each(ExampleSet::Train, vec![vec![4, 0, 4], vec![]]);
    learner.outputs(&models, &chosen).unwrap();
    assert_eq!(learner.state(), before);
    let first = learner
        .gradients_on(&models, &work, &GradientsOn::of(&chosen))
        .unwrap();
    let again = GradientsOn {
        counted: &[true, false],
        ..GradientsOn::of(&chosen)
    };
    let second = learner.gradients_on(&models, &work, &again).unwrap();
    let aside = GradientsOn {
        aside: true,
        ..GradientsOn::of(&chosen)
    };
    let third = learner.gradients_on(&models, &work, &aside).unwrap();
    assert!(first.to_host() == second.to_host() && first.to_host() == third.to_host());
    // The first row has made a step; the other had nothing to do.
    assert_eq!(learner.rates(&work).unwrap(), [0.25, 0.5]);
    let tally = learner.tally();
    assert_eq!((tally.local_steps, tally.examples_seen), (2, 3));
    let (x, targets) = batch(&learner, &learner.splits().train, &[4, 0, 4]);
    let row = wide(&models.to_host()[..models.layout().width()]);
    let (loss, _) = oracle::plain(learner.network(), &row, &x, &targets);
    assert!((tally.train_loss.unwrap() - loss).abs() < 1e-6 * loss);
    // Slopes have another gradient, and the loss of the network.
    let slopes = [vec![0.0; 3 * CLASSES], vec![]];
    let of_slopes = GradientsOn {
        slopes: Some(&slopes),
        ..GradientsOn::of(&chosen)
    };
    let none = learner.gradients_on(&models, &work, &of_slopes).unwrap();
    assert!(none.to_host().iter().all(|slope| *slope == 0.0));
    assert_eq!(learner.tally().train_loss, tally.train_loss);
}

#[test]
fn targets_are_labels_or_the_tokens_that_follow() {
    for case in [Case::of_pixels(mlp(), CLASSES), recurrent()[0].clone()] {
        let learner = case.learner(&cpu(1, None), &[9, 5]);
        let lists = vec![vec![3, 0], vec![], vec![6]];
        let found = learner.targets(&RowExamples::each(ExampleSet::Test, lists.clone()));
        let needed = lists
            .iter()
            .map(|list| batch(&learner, &learner.splits().test, list).1);
        assert_eq!(found.unwrap(), needed.collect::<Vec<_>>());
    }
}

#[test]
fn examples_that_do_not_fit_are_refused() {
    let mut learner = learner(&cpu(1, None), &mlp(), &[5, 5]);
    let models = learner.initial(2, Start::Same).unwrap();
    let each = |lists: Vec<Vec<u32>>| RowExamples::each(ExampleSet::Train, lists);
    let three = learner.outputs(&models, &each(vec![vec![0]; 3]));
    assert!(matches!(
        three,
        Err(EngineError::RowCount {
            found: 3,
            rows: 2,
            ..
        })
    ));
    let beyond = learner.outputs(&models, &RowExamples::same(ExampleSet::Train, vec![3, 10]));
    let words = beyond.unwrap_err().to_string();
    assert!(words.contains("number 10 of 10, counted from 0"), "{words}");
    let none = learner.outputs(&models, &RowExamples::same(ExampleSet::Validation, vec![0]));
    assert!(none.unwrap_err().to_string().contains("validation"));
    let (own, sgd, chosen) = (
        rows(&[Amount::Steps(1); 2]),
        sgd(2, 0.0),
        each(vec![vec![1], vec![2]]),
    );
    let slopes = [vec![0.0; CLASSES], vec![0.0; CLASSES - 1]];
    let on = GradientsOn {
        slopes: Some(&slopes),
        ..GradientsOn::of(&chosen)
    };
    let few = learner.gradients_on(&models, &work(1, &own, &sgd), &on);
    let words = few.unwrap_err().to_string();
    assert!(words.contains("one for each number of each row"), "{words}");
    let on = GradientsOn {
        representation_slopes: Some(&slopes),
        ..GradientsOn::of(&chosen)
    };
    let few = learner.gradients_on(&models, &work(1, &own, &sgd), &on);
    let words = few.unwrap_err().to_string();
    assert!(words.contains("one for each number of each row"), "{words}");
    assert_eq!(learner.tally().local_steps, 0);
}

/// What rows and learner are after batches that were drawn first, chosen examples and training.
fn over(device: &Device) -> (Vec<Vec<f32>>, String) {
    let case = Case::of_pixels(dropping_mlp(), CLASSES);
    let augment = Augment {
        crop_padding: 1,
        horizontal_flip: true,
    };
    let partition = Arc::new(partition(&[13, 9, 3, 8, 7, 6]));
    let learner = case.dealt(case.network(), device, &partition);
    let mut learner = learner.augmented(augment).unwrap();
    let mut models = learner.initial(6, Start::Independent).unwrap();
    let mut velocity = Stack::zeros(device, models.layout(), 6);
    let (sgd, mut own) = (sgd(4, 0.9), rows(&[Amount::Steps(2); 6]));
    own[4].amount = Amount::Idle;
    let mut found = Vec::new();
    for round in 1..=2 {
        let work: LocalWork<'_> = work(round, &own, &sgd);
        learner.train(&mut models, Velocity::Fresh, &work).unwrap();
        let shards: Vec<Vec<u32>> = (0..6)
            .map(|client| {
                let shard = learner.partition().shard(client);
                shard[..1 + client % 2].to_vec()
            })
            .collect();
        let batches = [
            learner.next_batches(&work).unwrap(),
            RowExamples::each(ExampleSet::Train, shards),
            RowExamples::same(ExampleSet::Test, vec![2, 8, 3]),
        ];
        for examples in &batches {
            let outputs = learner.outputs(&models, examples).unwrap();
            let representations = learner.representations(&models, examples).unwrap();
            let on = GradientsOn {
                slopes: Some(&outputs),
                representation_slopes: Some(&representations),
                ..GradientsOn::of(examples)
            };
            let gradients: Stack = learner.gradients_on(&models, &work, &on).unwrap();
            models.add_scaled(&gradients, &[-0.01; 6]).unwrap();
            let kept = Velocity::Kept(&mut velocity);
            let again = GradientsOn {
                counted: &[true; 6],
                ..on
            };
            learner.step_on(&mut models, kept, &work, &again).unwrap();
            found.extend(outputs);
            found.extend(representations);
        }
    }
    found.push(velocity.to_host());
    found.push(models.to_host());
    let tally = learner.tally();
    let state = serde_json::to_string(&learner.state()).unwrap();
    (found, format!("{tally:?} {state}"))
}

#[test]
fn ranks_have_the_bits_of_one_process() {
    let expected = over(&cpu(1, None));
    for count in [1, 2, 3] {
        let ranks = Ranks::in_process(count).into_iter();
        let found: Vec<_> = std::thread::scope(|scope| {
            let rank = |ranks: Ranks| {
                scope.spawn(move || {
                    let device = Device::over_ranks(ranks, DeviceRequest::Cpu, Some(1), None);
                    over(&device.unwrap())
                })
            };
            let threads: Vec<_> = ranks.map(rank).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        for found in found {
            assert!(found == expected, "{count} ranks");
        }
    }
}
