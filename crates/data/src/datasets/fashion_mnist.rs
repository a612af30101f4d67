//! `fashion_mnist`: 60,000 + 10,000 pictures of clothes in MNIST's layout.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InLayout;
use crate::Scaling;
use crate::datasets::mnist_layout::MnistLayout;

/// Settings of Fashion-MNIST: 28 × 28 greyscale, 10 classes.
///
/// # Source
/// H. Xiao, K. Rasul, R. Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking machine
/// learning algorithms", arXiv:1708.07747 (2017). Mean 0.2860 and deviation 0.3530 are those of
/// the 60,000 training images over 255.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FashionMnist {
    /// The last so many training images are left out of training: 10000 leaves 50,000.
    pub validation: usize,
    /// The test set is the first so many test images that are equally many of each class: 5000 leaves the first 500 of
    /// each; all test images if absent.
    pub balanced_test: Option<usize>,
    /// How bytes become model input.
    pub scale: Scaling,
}

/// The classes as the makers name them (README of the dataset, "Labels").
const NAMES: [&str; 10] = [
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
];

impl InLayout for FashionMnist {
    type Layout = MnistLayout;

    fn layout(&self) -> MnistLayout {
        MnistLayout {
            name: "fashion_mnist",
            classes: 10,
            validation: self.validation,
            balanced_test: self.balanced_test,
            smallest_test_class: 1000,
            scale: self.scale.of(0.2860, 0.3530),
            label_names: &NAMES,
        }
    }
}
