//! Targets of every example, two labels to a word.

use super::part::{Slot, place_of};
use crate::error::EngineError;
use crate::stacked::device::gpu::Gpu;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

/// Labels on the device.
#[derive(Debug)]
pub(crate) struct Labels {
    /// The labels of the examples, or the text that they are windows of.
    pub(crate) words: CubeTensor,
    /// Where each example begins in the text, `[M]`; unused unless `windowed`.
    pub(crate) starts: CubeTensor,
    /// Examples, `M`. Indices from there on are those of variants.
    pub(crate) examples: usize,
    /// Whether examples are windows of a text: the label of a position is the token that follows it.
    pub(crate) windowed: bool,
}

/// Copies numbers to the device, two to a word.
///
/// # Errors
/// [`EngineError::Device`] if a kernel could not see them at once.
pub(crate) fn upload_halves(
    gpu: &Gpu,
    what: &str,
    values: &[u16],
) -> Result<CubeTensor, EngineError> {
    let word = |pair: &[u16]| {
        let upper = pair.get(1).copied().unwrap_or_default();
        u32::from(pair[0]) | u32::from(upper) << 16
    };
    gpu.expect_fit(what, 1, values.len().div_ceil(2))?;
    let words: Vec<u32> = values.chunks(2).map(word).collect();
    Ok(gpu.memory().upload_words(&words))
}

/// Number `at` of numbers that lie two to a word.
#[cube]
pub(crate) fn half(words: &[u32], at: usize) -> u32 {
    (words[at / 2] >> (16 * (at % 2) as u32)) & 65535u32
}

/// The label of one position of example `example` of row `row`. Of `examples` examples, a variant has the label of its own.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(crate) fn label_of(
    words: &[u32],
    starts: &[u32],
    indices: &[u32],
    examples: usize,
    slot: &Slot,
    row: usize,
    example: usize,
    position: usize,
    #[comptime] windowed: bool,
) -> u32 {
    let index = indices[place_of(slot, row, example)] as usize % examples;
    let mut at = index;
    if comptime!(windowed) {
        at = starts[index] as usize + position + 1;
    }
    half(words, at)
}
