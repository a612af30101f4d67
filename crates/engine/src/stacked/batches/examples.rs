//! Examples in the device's memory: bytes, four to a word; numbers; or a text, two tokens to a word.

use super::labels::{Labels, upload_halves};
use crate::error::EngineError;
use crate::network::Network;
use crate::stacked::device::gpu::Gpu;
use burn_cubecl::tensor::CubeTensor;
use meshfold_data::{Examples, Features, Input, Scale};
use std::borrow::Cow;

/// `M` examples on the device.
#[derive(Debug)]
pub(crate) struct DeviceExamples {
    pub(crate) held: Held,
    pub(crate) labels: Labels,
    pub(crate) order: Order,
}

/// The features of examples.
#[derive(Debug)]
pub(crate) enum Held {
    /// Bytes, each example padded to a whole number of words.
    Bytes {
        words: CubeTensor,
        words_per_example: usize,
        /// Factor and offset of all channels or of each, `[scales, 2]`.
        scales: CubeTensor,
        by_channel: bool,
    },
    /// Numbers, `[M, D]`.
    Numbers(CubeTensor),
    /// Windows of a text that begin at `starts` `[M]`.
    Tokens {
        text: CubeTensor,
        starts: CubeTensor,
    },
}

/// How the features of an example lie, and how a network reads them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order {
    /// Features per example, `D`.
    pub(crate) width: usize,
    pub(crate) channels: usize,
    /// Pixels of a row of an image.
    pub(crate) line: usize,
    /// Whether the channels, stored outermost, are read innermost.
    pub(crate) channels_last: bool,
}

/// What decides how a network's examples lie on the device: networks that agree in it share examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NetworkReading {
    channels_last: bool,
    /// Whether there is a target at every position.
    windowed: bool,
}

impl NetworkReading {
    pub(crate) fn of(network: &Network) -> Self {
        Self {
            channels_last: network.reads_channels_last(),
            windowed: network.positions() > 1,
        }
    }
}

impl DeviceExamples {
    /// Copies `examples` to the device as `reading` says.
    ///
    /// # Errors
    /// [`EngineError::Device`] if a kernel could not see them at once.
    pub(crate) fn upload(
        gpu: &Gpu,
        examples: &Examples,
        reading: NetworkReading,
    ) -> Result<Self, EngineError> {
        let (channels, line) = match examples.input() {
            Input::Numbers(shape) => (shape.channels, shape.width),
            Input::Tokens { window } => (1, window),
        };
        let held = Held::upload(gpu, examples)?;
        Ok(Self {
            labels: labels(gpu, examples, &held, reading.windowed)?,
            held,
            order: Order {
                width: examples.width(),
                channels,
                line,
                channels_last: reading.channels_last && channels > 1,
            },
        })
    }
}

impl Held {
    fn upload(gpu: &Gpu, examples: &Examples) -> Result<Self, EngineError> {
        let memory = gpu.memory();
        let width = examples.width();
        match examples.features() {
            Features::Bytes { values, scales } => {
                let words_per_example = width.div_ceil(4);
                gpu.expect_fit("examples in words", examples.len(), words_per_example)?;
                let pair = |scale: &Scale| [scale.multiply, scale.add];
                let pairs: Vec<f32> = scales.iter().flat_map(pair).collect();
                Ok(Self::Bytes {
                    words: memory.upload_bytes(&padded(values, width)),
                    words_per_example,
                    scales: memory.upload_floats(&pairs),
                    by_channel: scales.len() > 1,
                })
            }
            Features::Numbers(values) => {
                gpu.expect_fit("examples", examples.len(), width)?;
                Ok(Self::Numbers(memory.upload_floats(values)))
            }
            Features::Tokens(windows) => {
                gpu.expect_fit("windows", 1, examples.len())?;
                Ok(Self::Tokens {
                    text: upload_halves(gpu, "a text in words", windows.text())?,
                    starts: memory.upload_words(windows.starts()),
                })
            }
        }
    }
}

/// Bytes `[M, width]`, each example padded to a whole number of words.
fn padded(values: &[u8], width: usize) -> Cow<'_, [u8]> {
    let whole = width.next_multiple_of(4);
    if whole == width && !values.is_empty() {
        return Cow::Borrowed(values);
    }
    let count = values.len() / width.max(1);
    let mut bytes = vec![0; (count * whole).max(4)];
    let places = bytes.chunks_exact_mut(whole.max(4));
    for (place, example) in places.zip(values.chunks_exact(width.max(1))) {
        place[..width].copy_from_slice(example);
    }
    Cow::Owned(bytes)
}

/// Targets of `examples`: at every position if `windowed`.
fn labels(
    gpu: &Gpu,
    examples: &Examples,
    held: &Held,
    windowed: bool,
) -> Result<Labels, EngineError> {
    Ok(match held {
        Held::Tokens { text, starts } if windowed => Labels {
            words: text.clone(),
            starts: starts.clone(),
            examples: examples.len(),
            windowed,
        },
        Held::Bytes { .. } | Held::Numbers(_) | Held::Tokens { .. } => Labels {
            words: upload_halves(gpu, "labels in words", examples.labels())?,
            starts: gpu.memory().upload_words(&[]),
            examples: examples.len(),
            windowed: false,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_begin_at_whole_words() {
        assert_eq!(*padded(&[1, 2, 3, 4, 5, 6], 3), [1, 2, 3, 0, 4, 5, 6, 0]);
        assert_eq!(
            *padded(&[1, 2, 3, 4, 5, 6, 7, 8], 4),
            [1, 2, 3, 4, 5, 6, 7, 8]
        );
        assert_eq!(*padded(&[], 4), [0; 4]);
    }
}
