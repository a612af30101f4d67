//! Draws that the seed, the test and the number of the case decide.

use std::ops::RangeInclusive;

use rand::distr::uniform::SampleUniform;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The random numbers of one case.
#[derive(Clone, Debug)]
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    /// The numbers of the case `number` of `test` under `seed`.
    pub(crate) fn new(seed: u64, test: &str, number: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&number.to_le_bytes());
        for (byte, letter) in key[16..].iter_mut().zip(test.bytes()) {
            *byte = letter;
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// A number of `range`, its ends included.
    pub(crate) fn within<T: SampleUniform + PartialOrd>(&mut self, range: RangeInclusive<T>) -> T {
        self.0.random_range(range)
    }

    /// True so often.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.0.random_bool(share)
    }

    /// One of `choices`, of which there must be at least one.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.within(0..=choices.len() - 1)]
    }

    /// The numbers from 0 to `count`, in random order.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for place in (1..count).rev() {
            order.swap(place, self.within(0..=place));
        }
        order
    }
}
