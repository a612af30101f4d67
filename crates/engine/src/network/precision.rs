//! How precise the operands of products are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How precise the operands of products are.
///
/// With `bf16`, what dense layers, convolutions and recurrent layers multiply is rounded to bfloat16: weights, inputs, and on the way
/// back the gradients by outputs. Sums are in single precision. So is everything that is no product: weights as they are kept and
/// mixed, velocities, biases, embeddings, normalisation, pooling, losses.
///
/// # Source
/// Kalamkar et al., A study of BFLOAT16 for deep learning training (2019), section 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Single precision, 24 digits.
    #[default]
    F32,
    /// bfloat16, 8 digits and the range of single precision.
    Bf16,
}

impl Precision {
    /// Whether it is the precision of experiments that name none.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Numbers that lie in the place of a float.
    pub(crate) fn numbers(self) -> usize {
        match self {
            Self::F32 => 1,
            Self::Bf16 => 2,
        }
    }

    /// Operands that a product may sum up at once, whatever multiplies them: its sums are cut nowhere between.
    pub(crate) fn summed_together(self) -> usize {
        match self {
            Self::F32 => 1,
            Self::Bf16 => 32,
        }
    }

    /// Places of a float that `count` operands take along the index that a product sums over.
    pub(crate) fn places(self, count: usize) -> usize {
        count.div_ceil(self.numbers())
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        })
    }
}

impl FromStr for Precision {
    type Err = &'static str;

    /// Reads `f32` or `bf16`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::F32, Self::Bf16]
            .into_iter()
            .find(|precision| precision.to_string() == text)
            .ok_or("a precision is f32 or bf16")
    }
}
