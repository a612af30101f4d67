//! A writer's hand: what all digits of one person have in common.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::template::DIGITS;
use super::warp::Warp;

/// Standard deviation of a writer's own bend of each digit, in digit heights.
const BEND: f32 = 0.05;
/// How often a writer writes a digit in an unusual way.
const UNUSUAL: f64 = 0.15;

/// The style of one writer.
pub(super) struct Writer {
    /// Horizontal shift per unit of height, positive leaning right.
    pub(super) slant: f32,
    /// Radius of the pen, in pixels.
    pub(super) pen: f32,
    /// Height of a digit, in pixels.
    pub(super) height: f32,
    /// Width of a digit relative to the templates.
    pub(super) aspect: f32,
    usual: [usize; 10],
    bends: [Warp; 10],
}

impl Writer {
    /// The writer with number `id` for the seed `seed`.
    pub(super) fn draw(seed: u64, id: u32) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(super::WRITERS | u64::from(id));
        let mut normal = |mean: f32, deviation: f32, low: f32, high: f32| {
            let z: f32 = StandardNormal.sample(&mut rng);
            (mean + deviation * z).clamp(low, high)
        };
        let slant = normal(0.12, 0.20, -0.35, 0.60);
        let pen = normal(1.15, 0.30, 0.60, 2.00);
        let height = normal(19.0, 1.5, 15.0, 23.0);
        let aspect = normal(0.95, 0.12, 0.65, 1.30);
        Self {
            slant,
            pen,
            height,
            aspect,
            usual: std::array::from_fn(|digit| rng.random_range(0..DIGITS[digit].len())),
            bends: std::array::from_fn(|_| Warp::draw(BEND, &mut rng)),
        }
    }

    /// Which of the templates of `digit` this writer takes this time.
    pub(super) fn way(&self, digit: usize, rng: &mut ChaCha8Rng) -> usize {
        if rng.random_bool(UNUSUAL) {
            rng.random_range(0..DIGITS[digit].len())
        } else {
            self.usual[digit]
        }
    }

    /// This writer's own bend of `digit`.
    pub(super) fn bend(&self, digit: usize) -> &Warp {
        &self.bends[digit]
    }
}
