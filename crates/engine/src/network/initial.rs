//! Where the numbers of a parameter start.

use crate::error::EngineError;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::ops::Range;

/// What the numbers of a [`Parameter`](crate::Parameter) are before the first step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Initial {
    /// Uniform in `[-bound, bound)`.
    Uniform {
        /// Above zero.
        bound: f32,
    },
    /// Normal of mean zero.
    Normal {
        /// Standard deviation, not negative.
        deviation: f32,
    },
    /// All the same.
    Constant(f32),
}

impl Initial {
    /// Uniform in ±1/√inputs, as PyTorch draws the weights and biases of dense layers and convolutions with so many
    /// inputs per output.
    pub fn of_inputs(inputs: usize) -> Self {
        let bound = 1.0 / (inputs.max(1) as f32).sqrt();
        Self::Uniform { bound }
    }

    /// The same start for each of `blocks`.
    pub(crate) fn of_blocks<'a>(
        self,
        blocks: impl Iterator<Item = &'a Range<usize>>,
    ) -> Vec<(Self, Range<usize>)> {
        blocks.map(|block| (self, block.clone())).collect()
    }

    /// Checks what a draw needs; `name` is the parameter's.
    pub(crate) fn check(self, name: &str) -> Result<(), EngineError> {
        let fits = match self {
            Self::Uniform { bound } => bound > 0.0 && (2.0 * bound).is_finite(),
            Self::Normal { deviation } => deviation >= 0.0 && deviation.is_finite(),
            Self::Constant(value) => value.is_finite(),
        };
        match fits {
            true => Ok(()),
            false => Err(EngineError::OwnModel {
                reason: format!("the parameter `{name}` cannot start from {self:?}"),
            }),
        }
    }

    /// Draws `values` from `rng`.
    pub(crate) fn draw(self, values: &mut [f32], rng: &mut ChaCha8Rng) {
        match self {
            Self::Uniform { bound } => {
                values
                    .iter_mut()
                    .for_each(|value| *value = rng.random_range(-bound..bound));
            }
            Self::Normal { deviation } => {
                for value in values {
                    let standard: f32 = StandardNormal.sample(rng);
                    *value = deviation * standard;
                }
            }
            Self::Constant(constant) => values.fill(constant),
        }
    }
}
