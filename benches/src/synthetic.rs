//! Learnable synthetic images: a prototype per class under noise, dealt at random.

use crate::BenchError;
use crate::case::Case;
use meshfold_data::{Examples, Partition, Scale, Shape, Splits};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

const FEATURES: usize = 784;
const CLASSES: usize = 10;

/// `clients * samples` training images and `tests` test images, and who holds which.
pub(crate) fn splits(case: &Case, tests: usize) -> Result<(Splits, Partition), BenchError> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let prototypes: Vec<i16> = (0..CLASSES * FEATURES)
        .map(|_| rng.random_range(40..216))
        .collect();
    let mut draw = |count: usize| {
        let labels: Vec<u16> = (0..count)
            .map(|_| rng.random_range(0..CLASSES as u16))
            .collect();
        let mut pixels = Vec::with_capacity(count * FEATURES);
        for label in &labels {
            let prototype = &prototypes[usize::from(*label) * FEATURES..][..FEATURES];
            pixels.extend(
                prototype
                    .iter()
                    .map(|p| (p / 2 + 64 + rng.random_range(-100..=100)).clamp(0, 255) as u8),
            );
        }
        let shape = Shape {
            channels: 1,
            height: 28,
            width: 28,
        };
        let scale = Scale {
            multiply: 2.0 / 255.0,
            add: -1.0,
        };
        Examples::new(pixels, labels, shape, CLASSES, scale)
    };
    let count = case.clients * case.samples;
    let (train, test) = (Arc::new(draw(count)?), Arc::new(draw(tests.max(1))?));
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.shuffle(&mut rng);
    let shards = order.chunks(case.samples).map(<[u32]>::to_vec).collect();
    Ok((Splits { train, test }, Partition::new(shards, count)?))
}
