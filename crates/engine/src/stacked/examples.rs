//! Examples in the device's memory: one byte per feature, four to a word.

use super::gpu::Gpu;
use crate::error::EngineError;
use burn_cubecl::tensor::CubeTensor;
use meshfold_data::{Examples, Scale};

/// `M` examples on the device.
#[derive(Debug)]
pub(super) struct DeviceExamples {
    /// Features, each example padded to a whole number of words.
    pub(super) words: CubeTensor,
    pub(super) words_per_example: usize,
    /// Labels, `[M]`.
    pub(super) labels: CubeTensor,
    /// Features per example, `D`.
    pub(super) width: usize,
    pub(super) scale: Scale,
}

impl DeviceExamples {
    /// Copies `examples` to the device.
    ///
    /// # Errors
    /// [`EngineError::Device`] if a kernel could not see them at once.
    pub(super) fn upload(gpu: &Gpu, examples: &Examples) -> Result<Self, EngineError> {
        let width = examples.width();
        let words_per_example = width.div_ceil(4);
        gpu.expect_fit("examples in words", examples.len(), words_per_example)?;
        let words: Vec<u32> = (0..examples.len())
            .flat_map(|index| {
                examples.row(index).chunks(4).map(|bytes| {
                    let mut word = [0u8; 4];
                    word[..bytes.len()].copy_from_slice(bytes);
                    u32::from_le_bytes(word)
                })
            })
            .collect();
        let labels: Vec<u32> = examples
            .labels()
            .iter()
            .map(|label| u32::from(*label))
            .collect();
        Ok(Self {
            words: gpu.memory().upload_words(&words),
            words_per_example,
            labels: gpu.memory().upload_words(&labels),
            width,
            scale: *examples.scale(),
        })
    }
}
