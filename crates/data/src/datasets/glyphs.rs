//! `glyphs`: handwritten-looking digits that the program draws itself, so nothing is downloaded.
//!
//! An example is a digit in one of several ways of writing it (`template`), bent smoothly (`warp`)
//! by its writer's habit (`writer`) and by chance, drawn with a round pen at a random slant, size,
//! rotation and place (`pen`, `canvas`), with noise in every pixel. The test digits come from
//! writers who wrote no training digit.
//!
//! Example `i` of a split depends on the seed, the split and `i` alone: a longer dataset begins
//! with the shorter one, and the number of threads changes nothing.

mod canvas;
mod pen;
mod template;
mod warp;
mod writer;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::canvas::SIDE;
use self::writer::Writer;
use super::Dataset;
use crate::DataFolder;
use crate::datasets::published::Published;
use crate::examples::per_piece;
use crate::{DataError, DatasetSummary, Examples, Input, Scaling, Shape, Splits};

const NAME: &str = "glyphs";
/// Random streams of a seed: the upper bits say what for, the lower ones are an index.
const WRITERS: u64 = 1 << 60;
const TRAIN: u64 = 2 << 60;
const TEST: u64 = 3 << 60;
/// People who write the training digits; as many different ones write the test digits.
const PEOPLE: u32 = 500;
const CLASSES: usize = 10;
const SHAPE: Shape = Shape {
    channels: 1,
    height: SIDE,
    width: SIDE,
};
/// The most examples of a split: 7.8 GB of pixels.
const MOST: usize = 10_000_000;
/// Mean and deviation of `byte / 255` over the default training images.
const MEAN: f32 = 0.1342;
const DEVIATION: f32 = 0.2618;

/// Settings of the drawn digits: 28 × 28 greyscale, 10 classes, labels uniformly at random.
///
/// As hard as MNIST on purpose: with the defaults, six epochs of SGD of one client (`alone`, batches of 50, momentum 0.9) take
/// multinomial logistic regression to 89.9 % on the test digits at the learning rate 0.003 (88.7 % at 0.01), and an MLP 784-200-10 to
/// 98.7 % at 0.01.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Glyphs {
    /// Training examples.
    pub train: usize,
    /// Test examples.
    pub test: usize,
    /// The last so many training examples are kept apart for validation.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(extend("default" = 0))]
    pub validation: usize,
    /// Which world of writers and digits; independent of the run's seed.
    pub seed: u64,
    /// How bytes become model input.
    pub scale: Scaling,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Default for Glyphs {
    fn default() -> Self {
        Self {
            train: 60_000,
            test: 10_000,
            validation: 0,
            seed: 0,
            scale: Scaling::Standard,
        }
    }
}

impl Dataset for Glyphs {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Checks the sizes asked for.
    fn validate(&self) -> Result<(), DataError> {
        for (split, asked) in [("train", self.train), ("test", self.test)] {
            if asked == 0 || asked > MOST {
                return Err(DataError::ExampleCount {
                    dataset: NAME,
                    split,
                    asked,
                    most: MOST,
                });
            }
        }
        if self.validation >= self.train {
            return Err(DataError::Validation {
                dataset: NAME,
                asked: self.validation,
                available: self.train,
            });
        }
        Ok(())
    }

    /// Draws all examples, in parallel.
    fn load(&self, _folder: &DataFolder) -> Result<Splits, DataError> {
        self.validate()?;
        let all = self.drawn(0..self.train, TRAIN, 0)?;
        let (train, validation) = all.cut(self.train - self.validation);
        Ok(Splits {
            train: Arc::new(train),
            test: Arc::new(self.drawn(0..self.test, TEST, PEOPLE)?),
            validation: validation.map(Arc::new),
        })
    }

    fn load_in_pieces(
        &self,
        _folder: &DataFolder,
        most: usize,
        see: &mut dyn FnMut(&Examples),
    ) -> Result<Splits, DataError> {
        self.validate()?;
        let count = self.train - self.validation;
        let step = per_piece(most, SIDE * SIDE);
        for first in (0..count).step_by(step) {
            see(&self.drawn(first..count.min(first + step), TRAIN, 0)?);
        }
        let validation = (self.validation > 0).then(|| self.drawn(count..self.train, TRAIN, 0));
        Ok(Splits {
            train: Arc::new(self.drawn(0..0, TRAIN, 0)?),
            test: Arc::new(self.drawn(0..self.test, TEST, PEOPLE)?),
            validation: validation.transpose()?.map(Arc::new),
        })
    }

    fn reads_in_pieces(&self, _folder: &DataFolder) -> bool {
        true
    }

    /// Digits and writers of the examples that [`load`](Self::load) draws, without drawing them.
    fn summary(&self, _folder: &DataFolder) -> Result<DatasetSummary, DataError> {
        self.validate()?;
        let (train, mut owners) = self.origins(self.train - self.validation, TRAIN, 0);
        let (test, writers) = self.origins(self.test, TEST, PEOPLE);
        owners.extend(writers);
        let summary = DatasetSummary::new(Input::Numbers(SHAPE), CLASSES, &train, &test);
        Ok(summary.with_owners(owners).with_validation(self.validation))
    }

    /// Nothing: the program makes it.
    fn published(&self) -> Result<Option<Published>, DataError> {
        self.validate()?;
        Ok(None)
    }

    /// The digit and the writer of each example, together.
    fn reading_bytes(&self, summary: &DatasetSummary, _threads: usize) -> usize {
        size_of::<(u16, u32)>() * (summary.train() + summary.test() + self.validation)
    }

    fn own_files(&self, _folder: &DataFolder) -> Result<Vec<PathBuf>, DataError> {
        Ok(Vec::new())
    }
}

impl Glyphs {
    /// The first `count` digits of a split and their writers, who are numbered from `first`.
    fn origins(&self, count: usize, split: u64, first: u32) -> (Vec<u16>, Vec<u32>) {
        let origin = |index| {
            let (digit, writer) = draw_origin(&mut self.example_stream(split, index));
            (digit, first + writer)
        };
        (0..count).into_par_iter().map(origin).unzip()
    }

    /// The random stream from which example `index` of a split is drawn, its digit and writer first.
    fn example_stream(&self, split: u64, index: usize) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(split | index as u64);
        rng
    }

    /// Draws the examples `places` of a split by the writers `first..first + PEOPLE`.
    fn drawn(&self, places: Range<usize>, stream: u64, first: u32) -> Result<Examples, DataError> {
        let people: Vec<Writer> = (0..PEOPLE)
            .into_par_iter()
            .map(|id| Writer::draw(self.seed, first + id))
            .collect();
        let mut features = vec![0; places.len() * SIDE * SIDE];
        let who: Vec<(u16, u32)> = features
            .par_chunks_mut(SIDE * SIDE)
            .enumerate()
            .map(|(index, pixels)| {
                let mut rng = self.example_stream(stream, places.start + index);
                let (digit, writer) = draw_origin(&mut rng);
                pen::write(
                    usize::from(digit),
                    &people[writer as usize],
                    &mut rng,
                    pixels,
                );
                (digit, first + writer)
            })
            .collect();
        let (labels, writers) = who.into_iter().unzip();
        let scale = self.scale.of(MEAN, DEVIATION);
        Ok(Examples::new(features, labels, SHAPE, CLASSES, scale)?.with_owners(writers))
    }
}

/// The digit of an example, and which of the split's people writes it.
fn draw_origin(rng: &mut ChaCha8Rng) -> (u16, u32) {
    let digit = rng.random_range(0..CLASSES) as u16;
    (digit, rng.random_range(0..PEOPLE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::payload::sha256;

    fn draw(train: usize, seed: u64) -> Splits {
        Glyphs {
            train,
            test: 40,
            seed,
            ..Glyphs::default()
        }
        .load(&DataFolder::new("unused"))
        .unwrap()
    }

    #[test]
    fn glyphs_are_value_stable() {
        let train = draw(200, 0).train;
        assert_eq!(train.labels()[..10], [5, 4, 7, 5, 5, 4, 6, 5, 1, 9]);
        assert_eq!(
            sha256(train.bytes().unwrap()),
            "d0429373a228e340abec6102241b5d9a4a66fc1957fa01767b126eb5c099b1ab"
        );
    }

    #[test]
    fn a_longer_dataset_begins_with_the_shorter_one() {
        let (short, long) = (draw(50, 3).train, draw(120, 3).train);
        let pixels = long.bytes().unwrap();
        assert_eq!(short.bytes().unwrap(), &pixels[..50 * short.width()]);
        assert_ne!(short.features(), draw(50, 4).train.features());
    }

    #[test]
    fn threads_change_nothing() {
        let alone = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap();
        assert_eq!(alone.install(|| draw(300, 1)).train, draw(300, 1).train);
    }

    #[test]
    fn pixels_have_the_mean_and_deviation_that_standardising_uses() {
        let train = draw(20_000, 0).train;
        let (mut sum, mut squares) = (0.0, 0.0);
        for index in 0..train.len() {
            let pixels = train.row(index);
            sum += pixels.iter().map(|x| f64::from(*x)).sum::<f64>();
            squares += pixels.iter().map(|x| f64::from(x * x)).sum::<f64>();
        }
        let count = (train.len() * train.width()) as f64;
        let (mean, deviation) = (sum / count, (squares / count).sqrt());
        // 500 writers of different pens: the figures of a third of the images are this close.
        assert!(mean.abs() < 0.01, "mean {mean}");
        assert!((deviation - 1.0).abs() < 0.01, "deviation {deviation}");
    }

    #[test]
    fn labels_are_uniform_and_test_writers_wrote_no_training_digit() {
        let splits = draw(20_000, 5);
        let mut counts = [0_f64; CLASSES];
        for &label in splits.train.labels() {
            counts[usize::from(label)] += 1.0;
        }
        let chi_square: f64 = counts.iter().map(|c| (c - 2000.0).powi(2) / 2000.0).sum();
        assert!(
            chi_square < 27.88,
            "χ² = {chi_square} with 9 degrees, 0.1 % point 27.88"
        );
        assert!(splits.train.owners().unwrap().iter().all(|&w| w < PEOPLE));
        assert!(splits.test.owners().unwrap().iter().all(|&w| w >= PEOPLE));
    }
}
