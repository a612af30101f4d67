//! Models of every kind on examples of their kind, small and of odd sizes.

use super::{CLASSES, FEATURES, SEED, dnn8, models, partition};
use meshfold_data::{Examples, Input, Partition, Scale, Shape, Splits};
use meshfold_engine::{
    CharLstm, Device, GnLenet, Judged, Learner, Model, Network, NormPlace, Precision, Ranks,
    Resnet, WordLstm,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::Arc;

/// A model, what its examples give it, and their classes.
#[derive(Debug, Clone)]
pub struct Case {
    pub model: Model,
    pub input: Input,
    pub classes: usize,
    /// Pixels at the rim of images that are the same in all.
    pub margin: usize,
    /// That of the operands of products.
    pub precision: Precision,
}

impl Case {
    /// A model of 3 x 7 pixels.
    pub fn of_pixels(model: Model, classes: usize) -> Self {
        Self {
            model,
            input: image(1, 3, FEATURES / 3),
            classes,
            margin: 0,
            precision: Precision::F32,
        }
    }

    /// A model of 12 x 13 pixels of which those within three of the rim are the same in all images.
    pub fn of_margins(model: Model) -> Self {
        Self {
            model,
            input: image(1, 12, 13),
            classes: CLASSES,
            margin: 3,
            precision: Precision::F32,
        }
    }

    /// The same with products of numbers in bfloat16.
    pub fn in_bf16(self) -> Self {
        Self {
            precision: Precision::Bf16,
            ..self
        }
    }

    pub fn network(&self) -> Network {
        let network = Network::new(&self.model, self.input, self.classes).unwrap();
        network.with_precision(self.precision).unwrap()
    }

    pub fn examples(&self, count: usize, salt: u64) -> Examples {
        match self.input {
            Input::Numbers(shape) => pixels(shape, self.margin, count, salt, self.classes),
            Input::Tokens { window } => windows(window, count, salt, self.classes),
        }
    }

    /// Clients that own as many examples as `sizes` says, and 203 test examples.
    pub fn learner(&self, device: &Device, sizes: &[usize]) -> Learner {
        self.learner_of(self.network(), device, sizes)
    }

    /// So many training examples, and 203 test examples.
    pub fn splits(&self, count: usize) -> Splits {
        Splits {
            train: Arc::new(self.examples(count, 1)),
            test: Arc::new(self.examples(203, 2)),
            validation: None,
        }
    }

    /// The same with another network.
    pub fn learner_of(&self, network: Network, device: &Device, sizes: &[usize]) -> Learner {
        self.seeded(network, device, sizes, SEED)
    }

    /// The same over ranks: each holds the examples of its own clients.
    pub fn dealt(&self, network: Network, device: &Device, partition: &Arc<Partition>) -> Learner {
        // One who does not read for its machine has its examples from the one that does.
        let reads = device.ranks().is_none_or(Ranks::reads);
        let mut splits = reads.then(|| self.splits(partition.examples()));
        let held = device.deal(partition, &mut |see| {
            let splits = splits.take().expect("who reads reads once");
            Some(splits.in_pieces(500, see))
        });
        Learner::upload(device, network, held.unwrap(), partition.clone(), SEED).unwrap()
    }

    /// The same with another seed.
    pub fn seeded(&self, network: Network, device: &Device, sizes: &[usize], seed: u64) -> Learner {
        let splits = self.splits(sizes.iter().sum());
        let partition = Arc::new(partition(sizes));
        Learner::upload(device, network, splits, partition, seed).unwrap()
    }
}

pub fn image(channels: usize, height: usize, width: usize) -> Input {
    Input::Numbers(Shape {
        channels,
        height,
        width,
    })
}

/// Noisy prototypes of some classes; within `margin` of the rim all are the same.
fn pixels(shape: Shape, margin: usize, count: usize, salt: u64, classes: usize) -> Examples {
    let features = shape.features();
    let mut rng = ChaCha8Rng::seed_from_u64(99);
    let prototypes: Vec<i32> = (0..classes * features)
        .map(|_| rng.random_range(40..216))
        .collect();
    let mut rng = ChaCha8Rng::seed_from_u64(salt);
    let (mut labels, mut pixels) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let label = rng.random_range(0..classes as u16);
        let prototype = &prototypes[usize::from(label) * features..][..features];
        pixels.extend(prototype.iter().enumerate().map(|(at, p)| {
            let value = (p + rng.random_range(-60..=60)).clamp(0, 255) as u8;
            let (line, place) = (at / shape.width % shape.height, at % shape.width);
            let inside = |at: usize, size: usize| (margin..size - margin).contains(&at);
            match inside(line, shape.height) && inside(place, shape.width) {
                true => value,
                false => 17,
            }
        }));
        labels.push(label);
    }
    let scale = Scale {
        multiply: 2.0 / 255.0,
        add: -1.0,
    };
    Examples::new(pixels, labels, shape, classes, scale).unwrap()
}

/// Overlapping windows of a text in which a token is often followed by the next.
fn windows(length: usize, count: usize, salt: u64, symbols: usize) -> Examples {
    let mut rng = ChaCha8Rng::seed_from_u64(salt);
    let mut text = vec![0u16];
    while text.len() < length + 2 * count {
        let (last, jump) = (
            text[text.len() - 1],
            rng.random_range(0..2 * symbols as u16),
        );
        let next = if usize::from(jump) < symbols {
            jump
        } else {
            last + 1
        };
        text.push(next % symbols as u16);
    }
    let starts = (0..count as u32).map(|window| 2 * window).collect();
    Examples::windows(Arc::new(text), starts, length, symbols).unwrap()
}

/// Networks of dense layers.
pub fn dense() -> Vec<Case> {
    let of_pixels = |(model, classes)| Case::of_pixels(model, classes);
    let mut cases: Vec<Case> = models().into_iter().map(of_pixels).collect();
    cases.extend([2, CLASSES].map(|classes| Case::of_pixels(dnn8(), classes)));
    cases
}

/// Networks with convolutions, on grids that no window divides.
pub fn convolutional() -> Vec<Case> {
    let lenet = |pool_padding, norm| Model::GnLenet(GnLenet { pool_padding, norm });
    let resnet = |depth, width, groups| {
        Model::Resnet(Resnet {
            depth,
            width,
            groups,
        })
    };
    let cases = [
        (lenet(0, NormPlace::AfterPool), image(3, 17, 15)),
        (lenet(1, NormPlace::AfterPool), image(2, 7, 10)),
        (lenet(1, NormPlace::BeforeRelu), image(3, 11, 9)),
        (Model::CnnFemnist, image(1, 7, 9)),
        (Model::CnnCifar, image(3, 5, 6)),
        (Model::CnnEmnist, image(2, 7, 9)),
        (Model::Lenet, image(3, 17, 19)),
        (resnet(10, 6, 2), image(3, 9, 11)),
        (resnet(18, 4, 4), image(1, 5, 7)),
        (resnet(10, 8, 1), image(2, 1, 19)),
    ];
    let case = |(model, input)| Case {
        model,
        input,
        classes: 5,
        margin: 0,
        precision: Precision::F32,
    };
    cases.into_iter().map(case).collect()
}

/// Networks that read a text of seven symbols.
pub fn recurrent() -> Vec<Case> {
    let chars = |layers, loss| {
        Model::CharLstm(CharLstm {
            embedding: 3,
            hidden: 5,
            layers,
            loss,
        })
    };
    let words = |layers, loss| {
        Model::WordLstm(WordLstm {
            embedding: 6,
            hidden: 9,
            layers,
            loss,
        })
    };
    let cases = [
        (chars(2, Judged::EveryPosition), 6),
        (chars(1, Judged::EveryPosition), 1),
        (chars(3, Judged::Last), 5),
        (words(2, Judged::Last), 4),
        (words(1, Judged::EveryPosition), 7),
    ];
    let case = |(model, window)| Case {
        model,
        input: Input::Tokens { window },
        classes: 7,
        margin: 0,
        precision: Precision::F32,
    };
    cases.into_iter().map(case).collect()
}
