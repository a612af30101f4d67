//! Learnable synthetic data, dealt at random: images that are a prototype per class under noise, and a text in which four
//! characters follow each.

use crate::BenchError;
use crate::case::Case;
use meshfold_data::{DataError, Examples, Partition, Scale, Shape, Splits};
use meshfold_engine::Model;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

const CLASSES: usize = 10;
const GREY: Shape = Shape {
    channels: 1,
    height: 28,
    width: 28,
};
const COLOUR: Shape = Shape {
    channels: 3,
    height: 32,
    width: 32,
};
/// Characters, and how many of them a window has.
const SYMBOLS: usize = 90;
const WINDOW: usize = 80;

/// `clients * samples` training examples and `tests` test examples, and who holds which.
pub(crate) fn splits(case: &Case, tests: usize) -> Result<(Splits, Partition), BenchError> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let count = case.clients * case.samples;
    let (train, test) = match case.model {
        Model::CharLstm(_) => windows(&mut rng, count, tests.max(1))?,
        Model::GnLenet(_) | Model::CnnCifar | Model::Lenet | Model::Resnet(_) => {
            images(&mut rng, (COLOUR, 0), count, tests.max(1))?
        }
        _ => images(&mut rng, (GREY, case.margin), count, tests.max(1))?,
    };
    let (train, test) = (Arc::new(train), Arc::new(test));
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.shuffle(&mut rng);
    let shards = order.chunks(case.samples).map(<[u32]>::to_vec).collect();
    let splits = Splits {
        train,
        test,
        validation: None,
    };
    Ok((splits, Partition::new(shards, count)?))
}

fn images(
    rng: &mut ChaCha8Rng,
    (shape, margin): (Shape, usize),
    train: usize,
    test: usize,
) -> Result<(Examples, Examples), DataError> {
    let features = shape.features();
    let prototypes: Vec<i16> = (0..CLASSES * features)
        .map(|_| rng.random_range(40..216))
        .collect();
    let mut draw = |count: usize| {
        let labels: Vec<u16> = (0..count)
            .map(|_| rng.random_range(0..CLASSES as u16))
            .collect();
        let mut pixels = Vec::with_capacity(count * features);
        for label in &labels {
            let prototype = &prototypes[usize::from(*label) * features..][..features];
            pixels.extend(prototype.iter().enumerate().map(|(at, p)| {
                let value = (p / 2 + 64 + rng.random_range(-100..=100)).clamp(0, 255) as u8;
                let (line, place) = (at / shape.width % shape.height, at % shape.width);
                let lit = (margin..shape.height.saturating_sub(margin)).contains(&line)
                    && (margin..shape.width.saturating_sub(margin)).contains(&place);
                if lit { value } else { 0 }
            }));
        }
        let scale = Scale {
            multiply: 2.0 / 255.0,
            add: -1.0,
        };
        Examples::new(pixels, labels, shape, CLASSES, scale)
    };
    Ok((draw(train)?, draw(test)?))
}

/// A Markov source of the first order: a character is followed by the first of its four successors in 60 % of all cases,
/// else by the second in 60 % of the rest, and so on.
fn windows(
    rng: &mut ChaCha8Rng,
    train: usize,
    test: usize,
) -> Result<(Examples, Examples), DataError> {
    let successors: Vec<[u16; 4]> = (0..SYMBOLS)
        .map(|_| std::array::from_fn(|_| rng.random_range(0..SYMBOLS as u16)))
        .collect();
    let mut text = Vec::with_capacity((train + test) * (WINDOW + 1));
    for _ in 0..train + test {
        let mut symbol = rng.random_range(0..SYMBOLS as u16);
        text.push(symbol);
        for _ in 0..WINDOW {
            let turns = (0..3).take_while(|_| rng.random_range(0.0..1.0) >= 0.6);
            symbol = successors[usize::from(symbol)][turns.count()];
            text.push(symbol);
        }
    }
    let text = Arc::new(text);
    let split = |first: usize, count: usize| {
        let starts = (first..first + count).map(|at| (at * (WINDOW + 1)) as u32);
        Examples::windows(Arc::clone(&text), starts.collect(), WINDOW, SYMBOLS)
    };
    Ok((split(0, train)?, split(train, test)?))
}
