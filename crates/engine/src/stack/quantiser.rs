//! The unbiased quantiser of DFedRW.

use crate::network::layout::{Block, Layout};
use crate::stream::threefry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What one norm is sent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NormScope {
    /// One norm per model, as (12) is printed: `64 + bP` bits a message.
    #[default]
    Model,
    /// One norm per layer block: `64 · blocks + bP` bits a message.
    Layer,
}

/// Rounds each parameter to one of `2^(b-1)` levels of `|w| / ‖w‖`, up or down at random so that the mean is exact.
///
/// # Source
/// DFedRW (Wang et al.), section V, equation (12). A zero vector stays zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantiser {
    /// Bits per parameter, sign included: 2 to 24.
    pub bits: u32,
    /// What one norm is taken over.
    pub norm: NormScope,
    /// Key of each row's rounding stream, `[R]`.
    pub keys: Vec<[u32; 2]>,
}

impl Quantiser {
    /// The floats of a row laid out by `layout` that have a norm each. Padding is zero and adds nothing to that of a whole row.
    pub(crate) fn scopes(&self, layout: &Layout) -> Vec<Range<usize>> {
        match self.norm {
            NormScope::Model => std::iter::once(0..layout.width()).collect(),
            NormScope::Layer => layout.blocks().iter().map(Block::range).collect(),
        }
    }

    /// Levels of the magnitude, `1/s = 2^(b−1) − 1`.
    pub fn levels(&self) -> f32 {
        ((1u32 << (self.bits - 1)) - 1) as f32
    }
}

/// Uniform in `[0, 1)` with 24 bits, for parameter `index` of a row: the same on every device.
#[inline(always)]
pub fn uniform(key: [u32; 2], index: u32) -> f32 {
    (threefry(key, [index, 0])[0] >> 8) as f32 * (1.0 / 16_777_216.0)
}
