//! `mnist`: 60,000 + 10,000 handwritten digits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InLayout;
use crate::Scaling;
use crate::datasets::mnist_layout::MnistLayout;

/// Settings of MNIST: 28 × 28 greyscale, 10 classes or 2.
///
/// # Source
/// Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, "Gradient-based learning applied to document
/// recognition", Proc. IEEE 86 (1998). Mean 0.1307 and deviation 0.3081 are those of the 60,000
/// training images over 255.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mnist {
    /// Classes: 10, or 2 for the digits 0 to 4 and 5 to 9.
    #[serde(skip_serializing_if = "is_ten")]
    #[schemars(extend("default" = 10))]
    pub classes: usize,
    /// The last so many training images are left out of training: 10000 leaves 50,000.
    pub validation: usize,
    /// The test set is the first so many test images that are equally many of each class: 5000 leaves the first 500 of
    /// each; all test images if absent.
    pub balanced_test: Option<usize>,
    /// How bytes become model input.
    pub scale: Scaling,
}

fn is_ten(classes: &usize) -> bool {
    *classes == 10
}

impl Default for Mnist {
    fn default() -> Self {
        Self {
            classes: 10,
            validation: 0,
            balanced_test: None,
            scale: Scaling::default(),
        }
    }
}

impl InLayout for Mnist {
    type Layout = MnistLayout;

    fn layout(&self) -> MnistLayout {
        MnistLayout {
            name: "mnist",
            classes: self.classes,
            validation: self.validation,
            balanced_test: self.balanced_test,
            smallest_test_class: 892,
            scale: self.scale.of(0.1307, 0.3081),
            label_names: &[],
        }
    }
}
