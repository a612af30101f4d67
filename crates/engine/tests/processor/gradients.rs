//! Gradients of the trainers against finite differences, plain loops and burn's automatic differentiation.

use crate::support::*;
use meshfold_engine::{Amount, BatchSize, EngineError, LeftOut, Start, oracle};

/// Checks about `each` slopes of every block on `examples` examples.
fn compare_with_slopes(case: &Case, examples: usize, each: usize) {
    let learner = case.learner(&cpu(1, None), &[examples]);
    let network = learner.network();
    let row: Vec<f64> = shaken(&learner, 1)
        .to_host()
        .iter()
        .map(|w| f64::from(*w))
        .collect();
    let indices: Vec<u32> = (0..examples as u32).collect();
    let (x, targets) = batch(&learner, &learner.splits().train, &indices);
    let dropout = network.dropout(SEED, 0, 3);
    let judge =
        |row: &[f64]| oracle::plain_with_dropout(network, row, &x, &targets, dropout.as_ref());
    let (_, gradient) = judge(&row);
    let mut moved = row.clone();
    for block in network.layout().blocks() {
        for at in block.range().step_by(block.size().div_ceil(each)) {
            let mut loss = |shift: f64| {
                moved[at] = row[at] + shift;
                judge(&moved).0
            };
            let slope = (loss(1e-6) - loss(-1e-6)) / 2e-6;
            moved[at] = row[at];
            // Central differences in f64 with a step of 1e-6 are good to about 1e-9.
            assert!(
                (slope - gradient[at]).abs() < 1e-7,
                "{case:?}, {} at {at}: {slope} {}",
                block.name,
                gradient[at]
            );
        }
    }
}

#[test]
fn the_plain_gradient_of_dense_layers_is_the_slope_of_the_loss() {
    for (model, classes) in models() {
        compare_with_slopes(&Case::of_pixels(model, classes), 11, 50);
    }
    // A single logit.
    compare_with_slopes(&Case::of_pixels(dnn8(), 2), 1, 1);
}

#[test]
fn the_plain_gradient_of_convolutions_is_the_slope_of_the_loss() {
    for case in convolutional() {
        compare_with_slopes(&case, 2, 3);
    }
}

#[test]
fn the_plain_gradient_of_recurrent_layers_is_the_slope_of_the_loss() {
    for case in recurrent() {
        compare_with_slopes(&case, 5, 40);
    }
}

/// Compares the trainer and burn with the plain loop, the gradients being taken in a training step.
fn compare_gradients(case: &Case, sizes: [usize; 2], tolerance: f64) {
    let mut learner = case.learner(&cpu(2, None), &sizes);
    let stack = shaken(&learner, 2);
    let mut rule = sgd(1, 0.0);
    rule.batch_size = BatchSize::Full;
    let rows = rows(&[Amount::Steps(1), Amount::Steps(1)]);
    let gradients = learner
        .gradients(&stack, &work(1, &rows, &rule))
        .unwrap()
        .to_host();
    let (values, width) = (stack.to_host(), stack.layout().width());
    for row in 0..2u32 {
        let range = row as usize * width..(row as usize + 1) * width;
        let weights = &values[range.clone()];
        let shard = learner.partition().shard(row as usize).to_vec();
        let (x, targets) = batch(&learner, &learner.splits().train, &shard);
        let x: Vec<f32> = x.into_iter().map(|value| value as f32).collect();
        let network = learner.network();
        let dropout = network.dropout(SEED, row, 0);
        let (_, by_burn) =
            oracle::autodiff_with_dropout(network, weights, &x, &targets, dropout.as_ref());
        let plain = Sequential::new(&learner, row, weights).gradient(&shard);
        for (by, found) in [("burn", &by_burn[..]), ("the trainer", &gradients[range])] {
            let apart = block_difference(network, found, &plain);
            assert!(apart < tolerance, "{case:?} by {by}: {apart}");
        }
    }
}

#[test]
fn autodiff_and_the_trainer_agree_with_the_plain_gradient_of_dense_layers() {
    for case in dense() {
        // Sums of 13 products in f32, nine layers of them at most.
        compare_gradients(&case, [13, 9], 1e-5);
    }
}

#[test]
fn autodiff_and_the_trainer_agree_with_the_plain_gradient_of_convolutions() {
    for case in convolutional() {
        // Rounding in f32, which a division by the deviation of the eight numbers of a group makes larger.
        compare_gradients(&case, [5, 3], 5e-5);
    }
}

#[test]
fn autodiff_and_the_trainer_agree_with_the_plain_gradient_of_recurrent_layers() {
    for case in recurrent() {
        compare_gradients(&case, [13, 9], 4e-6);
    }
}

#[test]
fn what_a_step_leaves_out_has_no_gradient() {
    let mut learner = learner(&cpu(1, None), &dropping_mlp(), &[1]);
    let stack = learner.initial(1, Start::Same).unwrap();
    let rows = rows(&[Amount::Steps(1)]);
    let gradient = learner
        .gradients(&stack, &work(1, &rows, &sgd(1, 0.0)))
        .unwrap()
        .to_host();
    let dropout = learner.network().dropout(SEED, 0, 0).unwrap();
    // The bias of the first hidden layer of 33 units.
    let bias = &gradient[learner.network().layout().blocks()[1].range()];
    let left_out = |unit: &usize| dropout.factor(LeftOut::new(0, 0.4), *unit as u32) == 0.0;
    let units: Vec<usize> = (0..33).filter(left_out).collect();
    assert!(units.len() > 3 && units.iter().all(|unit| bias[*unit] == 0.0));
    assert!(bias.iter().any(|slope| *slope != 0.0));
}

/// Holds the gradient on whole shards, the first of `longest` examples, against the plain loop; rows may ask for the same
/// client.
fn compare_shards(case: &Case, longest: usize, tolerance: f64) {
    let mut learner = case.learner(&cpu(2, None), &[longest, 9, 1]);
    let (stack, clients) = (shaken(&learner, 4), [1, 0, 1, 2]);
    let before = learner.state();
    let found = learner.shard_gradients(&stack, &clients).unwrap().to_host();
    assert_eq!(learner.state(), before);
    assert_eq!(learner.tally().train_loss, None);
    let (values, width) = (stack.to_host(), stack.layout().width());
    for (row, client) in clients.into_iter().enumerate() {
        let range = row * width..(row + 1) * width;
        let plain = Sequential::new(&learner, client, &values[range.clone()])
            .gradient_with(learner.partition().shard(client as usize), None);
        let apart = block_difference(learner.network(), &found[range], &plain);
        assert!(apart < tolerance, "{case:?}, row {row}: {apart}");
    }
}

#[test]
fn the_gradient_on_a_shard_is_that_of_all_its_examples_and_leaves_nothing_out() {
    // The longest shard is cut into pieces. Sums over 1300 examples in f32.
    for (model, classes) in models() {
        compare_shards(&Case::of_pixels(model, classes), 1300, 1e-5);
    }
    for case in recurrent() {
        compare_shards(&case, 1300, 1e-5);
    }
}

#[test]
fn the_gradient_of_convolutions_on_a_shard_is_that_of_all_its_examples() {
    for case in convolutional() {
        compare_shards(&case, 11, 5e-5);
    }
    // Cut into pieces.
    let signals = convolutional().pop().unwrap();
    compare_shards(&signals, 700, 5e-5);
}

#[test]
fn the_gradient_on_a_shard_does_not_depend_on_threads_or_on_what_shares_the_stack() {
    let mut cases = vec![Case::of_pixels(mlp(), CLASSES)];
    cases.extend(convolutional());
    cases.extend(recurrent());
    for case in cases
        .into_iter()
        .flat_map(|case| [case.clone(), case.in_bf16()])
    {
        let gradient = |threads: usize, rows: usize| {
            let learner = case.learner(&cpu(threads, None), &[70, 30]);
            let stack = learner.initial(rows, Start::Same).unwrap();
            let gradients = learner.shard_gradients(&stack, &vec![0; rows]).unwrap();
            gradients.to_host()[..stack.layout().width()].to_vec()
        };
        let alone = gradient(1, 1);
        for (threads, rows) in [(3, 1), (2, 5), (1, 3)] {
            assert!(
                gradient(threads, rows) == alone,
                "{case:?}: {threads} {rows}"
            );
        }
    }
}

#[test]
fn shards_that_do_not_exist_are_refused() {
    let learner = learner(&cpu(1, None), &mlp(), &[5, 5]);
    let stack = learner.initial(2, Start::Same).unwrap();
    assert!(matches!(
        learner.shard_gradients(&stack, &[0]),
        Err(EngineError::RowCount {
            found: 1,
            rows: 2,
            ..
        })
    ));
    assert!(matches!(
        learner.shard_gradients(&stack, &[0, 2]),
        Err(EngineError::Client {
            row: 1,
            client: 2,
            ..
        })
    ));
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
