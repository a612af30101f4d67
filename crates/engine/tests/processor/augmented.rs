//! Steps on augmented images are steps on a dataset that holds those images.

use crate::support::*;
use meshfold_data::{Augment, Examples, Features, Input, Shape, Splits, Variant};
use meshfold_engine::{
    Amount, BatchSize, EngineError, Key, Learner, Model, Purpose, Sgd, Split, Start, Velocity,
    stream,
};
use std::sync::Arc;

const SIZES: [usize; 4] = [23, 8, 3, 16];

const AUGMENT: Augment = Augment {
    crop_padding: 3,
    horizontal_flip: true,
};

fn cases() -> Vec<Case> {
    let mut cases = vec![Case::of_margins(mlp())];
    cases.extend(convolutional().into_iter().take(5));
    cases.retain(|case| AUGMENT.fits(case.input, 50).is_ok());
    assert!(cases.len() > 3);
    cases
}

fn image(case: &Case) -> Shape {
    match case.input {
        Input::Numbers(shape) => shape,
        Input::Tokens { .. } => panic!("a case of images"),
    }
}

/// The pixels `[channels, height, width]` of a variant of `image`, one by one.
fn pixels(image: &[u8], shape: Shape, variant: Variant) -> Vec<u8> {
    let (height, width) = (shape.height as isize, shape.width as isize);
    let pixel = |at: usize| {
        let (line, place) = (at / shape.width, (at % shape.width) as isize);
        let (channel, y) = (line / shape.height, (line % shape.height) as isize);
        let x = if variant.flipped {
            width - 1 - place
        } else {
            place
        };
        let (y, x) = (
            y + isize::from(variant.down),
            x + isize::from(variant.right),
        );
        match (0..height).contains(&y) && (0..width).contains(&x) {
            true => image[(channel * shape.height + y as usize) * shape.width + x as usize],
            false => 0,
        }
    };
    (0..image.len()).map(pixel).collect()
}

/// The learner of `case` whose training examples are what rows are to see in epoch `epoch`, counted from 0, of batches by `rule`.
fn of_seen(case: &Case, threads: usize, rule: &Sgd, epoch: usize) -> Learner {
    let plain = case.learner(&cpu(threads, None), &SIZES);
    let train = &plain.splits().train;
    let (shape, width) = (image(case), train.width());
    let Features::Bytes { values, scales } = train.features() else {
        panic!("pixels are bytes");
    };
    let mut seen = values.clone();
    for (row, size) in (0u32..).zip(SIZES) {
        let size = rule.batch_on(size);
        let mut client = Sequential::new(&plain, row, &[]);
        let epochs: Vec<_> = (0..=epoch).map(|_| client.epoch(size)).collect();
        let before: usize = epochs[..epoch].iter().map(Vec::len).sum();
        for (step, batch) in (before as u64..).zip(&epochs[epoch]) {
            let key = Key {
                round: step,
                row,
                ..Key::default()
            };
            let mut rng = stream(SEED, Purpose::Augmentation, key);
            for index in batch {
                let place = *index as usize * width..(*index as usize + 1) * width;
                let variant = AUGMENT.draw(&mut rng);
                seen[place.clone()].copy_from_slice(&pixels(&values[place], shape, variant));
            }
        }
    }
    assert_ne!(&seen, values);
    let labels = train.labels().to_vec();
    let train =
        Examples::scaled_by_channel(seen, labels, shape, case.classes, scales.clone()).unwrap();
    let splits = Splits {
        train: Arc::new(train),
        ..plain.splits().clone()
    };
    let shards = Arc::new(partition(&SIZES));
    Learner::upload(&cpu(threads, None), case.network(), splits, shards, SEED).unwrap()
}

#[test]
fn local_steps_see_the_variants_that_are_drawn() {
    let amounts = rows(&[Amount::Epochs(1); 4]);
    for case in cases() {
        for batch_size in [BatchSize::Size(5), BatchSize::Full] {
            let rule = Sgd {
                batch_size,
                ..sgd(5, 0.9)
            };
            let mut learner = case.learner(&cpu(3, None), &SIZES);
            let mut stack = learner.initial(4, Start::Independent).unwrap();
            learner = learner.augmented(AUGMENT).unwrap();
            for round in 1..=2 {
                let (mut other, mut expected) = (stack.duplicate(), stack.duplicate());
                let mut by_hand = of_seen(&case, 1, &rule, round - 1);
                for round in 1..round {
                    // So that it is in the same pass.
                    let work = work(round, &amounts, &rule);
                    by_hand.train(&mut other, Velocity::Fresh, &work).unwrap();
                }
                let work = work(round, &amounts, &rule);
                by_hand
                    .train(&mut expected, Velocity::Fresh, &work)
                    .unwrap();
                learner.train(&mut stack, Velocity::Fresh, &work).unwrap();
                assert!(
                    stack.to_host() == expected.to_host(),
                    "{:?}, {batch_size:?}, round {round}",
                    case.model
                );
            }
        }
    }
}

#[test]
fn so_do_gradients_of_batches_but_no_others_and_no_scores() {
    let amounts = rows(&[Amount::Steps(1); 4]);
    for case in cases() {
        let rule = sgd(5, 0.0);
        let work = work(1, &amounts, &rule);
        let mut plain = case.learner(&cpu(2, None), &SIZES);
        let stack = plain.initial(4, Start::Independent).unwrap();
        let mut learner = case.learner(&cpu(2, None), &SIZES);
        learner = learner.augmented(AUGMENT).unwrap();
        let found = learner.gradients(&stack, &work).unwrap().to_host();
        let mut by_hand = of_seen(&case, 2, &rule, 0);
        let expected = by_hand.gradients(&stack, &work).unwrap().to_host();
        assert!(found == expected, "{:?}", case.model);
        learner.rewind_batches(1).unwrap();
        let again = learner.gradients(&stack, &work).unwrap().to_host();
        assert!(again == expected, "{:?}", case.model);
        let shards = [0, 1, 2, 3];
        let [found, expected] = [&learner, &plain].map(|learner| {
            let gradients = learner.shard_gradients(&stack, &shards);
            gradients.unwrap().to_host()
        });
        assert!(found == expected, "{:?}", case.model);
        for split in [Split::Train, Split::Shards(&shards), Split::Test] {
            let [found, expected] = [&mut learner, &mut plain]
                .map(|learner| learner.evaluate(&stack, split, None).unwrap());
            assert_eq!(found, expected, "{:?}", case.model);
        }
    }
}

#[test]
fn texts_are_not_augmented() {
    let of = |case: &Case, augment| {
        let learner = case.learner(&cpu(1, None), &SIZES);
        learner.augmented(augment).unwrap_err()
    };
    let nothing = of(&Case::of_margins(Model::Logistic), Augment::default());
    for error in [of(&recurrent()[0], AUGMENT), nothing] {
        let is_of_it = matches!(
            error,
            EngineError::Setting {
                what: "augmentation",
                ..
            }
        );
        assert!(is_of_it, "{error}");
    }
}
