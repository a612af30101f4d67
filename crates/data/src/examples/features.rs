//! The features of examples, and how they are stored.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files::digest::{Digest, Values};

/// Shape of one example's features, `channels * height * width = D`, stored in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Planes: 1 for greyscale.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Pixels per row.
    pub width: usize,
}

impl Shape {
    /// `features` numbers in a row.
    pub fn flat(features: usize) -> Self {
        Self {
            channels: 1,
            height: 1,
            width: features,
        }
    }

    /// Number of features `D` of one example.
    pub fn features(&self) -> usize {
        self.channels * self.height * self.width
    }
}

/// The kind of input that one example gives a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Input {
    /// As many numbers as the shape has places.
    Numbers(Shape),
    /// `window` consecutive tokens, from a vocabulary of as many symbols as there are classes.
    Tokens {
        /// Tokens `T` of an example.
        window: usize,
    },
}

impl Input {
    /// Numbers or tokens of one example, `D`.
    pub fn features(&self) -> usize {
        match self {
            Self::Numbers(shape) => shape.features(),
            Self::Tokens { window } => *window,
        }
    }

    /// Adds the shape of an example to `digest`.
    pub(crate) fn digested(self, digest: Digest) -> Digest {
        match self {
            Self::Numbers(shape) => digest
                .count(shape.channels)
                .count(shape.height)
                .count(shape.width),
            Self::Tokens { window } => digest.count(window),
        }
    }
}

/// The map from a stored byte to the number that a model sees: `byte * multiply + add`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Factor on the byte.
    pub multiply: f32,
    /// Offset after the factor.
    pub add: f32,
}

impl Scale {
    /// Bytes to `[0, 1]`: `byte / 255`.
    pub const UNIT: Self = Self {
        multiply: 1.0 / 255.0,
        add: 0.0,
    };

    /// Mean 0 and deviation 1: `(byte / 255 - mean) / deviation`, both taken over `byte / 255`.
    pub fn standardising(mean: f32, deviation: f32) -> Self {
        Self {
            multiply: 1.0 / (255.0 * deviation),
            add: -mean / deviation,
        }
    }

    /// The number that stands for `byte`.
    pub fn apply(&self, byte: u8) -> f32 {
        f32::from(byte) * self.multiply + self.add
    }
}

/// How a dataset's bytes become model input; the dataset knows its own mean and deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// `(byte / 255 - mean) / deviation` with the figures of the dataset's training images.
    #[default]
    Standard,
    /// `byte / 255`.
    Unit,
}

impl Scaling {
    /// The scale of a dataset whose training images have this mean and deviation (of `byte / 255`).
    pub(crate) fn of(self, mean: f32, deviation: f32) -> Scale {
        match self {
            Self::Standard => Scale::standardising(mean, deviation),
            Self::Unit => Scale::UNIT,
        }
    }
}

/// The features of `M` examples.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// `[M, D]` bytes, row-major, with the scale of all channels or of each.
    Bytes {
        /// The bytes.
        values: Vec<u8>,
        /// One scale, or one per channel.
        scales: Vec<Scale>,
    },
    /// `[M, D]` numbers as a model sees them, row-major.
    Numbers(Vec<f32>),
    /// Windows of a text.
    Tokens(Windows),
}

impl Features {
    /// Bytes of memory that they take. A text that several share is counted with each.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Bytes { values, .. } => values.len(),
            Self::Numbers(values) => size_of_val(values.as_slice()),
            Self::Tokens(windows) => windows.bytes(),
        }
    }
}

/// Examples that are windows of one text: example `i` is the `length` tokens from `starts[i]`, and what follows each of
/// them.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    pub(crate) text: Arc<Vec<u16>>,
    pub(crate) starts: Vec<u32>,
    pub(crate) length: usize,
}

impl Windows {
    /// The text that all windows lie in.
    pub fn text(&self) -> &Arc<Vec<u16>> {
        &self.text
    }

    /// The first token of each window, `[M]`.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Bytes of memory that the text and the places of the windows take.
    fn bytes(&self) -> usize {
        size_of_val(self.text.as_slice()) + size_of_val(self.starts.as_slice())
    }

    /// These windows, then `others` of the same text.
    pub(crate) fn followed_by(&self, others: &Self) -> Self {
        Self {
            text: self.text.clone(),
            starts: [self.starts.as_slice(), &others.starts].concat(),
            length: self.length,
        }
    }

    /// Tokens of a window, `T`.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The tokens `[T + 1]` of window `index` and the one that follows it.
    ///
    /// # Panics
    /// If there is no such window.
    pub fn window(&self, index: usize) -> &[u16] {
        &self.text[self.starts[index] as usize..][..=self.length]
    }
}

impl Features {
    /// Begins the digest of `count` features like these, which come in pieces: [`Features::digested_more`] adds each, and
    /// [`Features::digested_last`] ends it.
    pub(crate) fn digested_first(&self, digest: Digest, count: usize) -> Digest {
        match self {
            Self::Bytes { .. } => digest.begin("bytes", count),
            Self::Numbers(_) => digest.begin("f32", count),
            Self::Tokens(windows) => digest
                .count(windows.length)
                .labels(&windows.text)
                .begin("u32", count),
        }
    }

    pub(crate) fn digested_more(&self, digest: Digest) -> Digest {
        digest.more(match self {
            Self::Bytes { values, .. } => Values::Bytes(values),
            Self::Numbers(values) => Values::Numbers(values),
            Self::Tokens(windows) => Values::Indices(&windows.starts),
        })
    }

    /// Ends the digest of features; adds the scales of bytes.
    pub(crate) fn digested_last(&self, digest: Digest) -> Digest {
        match self {
            Self::Bytes { scales, .. } => {
                let numbers = |scale: &Scale| [scale.multiply, scale.add];
                digest.numbers(&scales.iter().flat_map(numbers).collect::<Vec<f32>>())
            }
            Self::Numbers(_) | Self::Tokens(_) => digest,
        }
    }

    /// The features at `indices`, in that order; `width` make an example.
    pub(crate) fn selected(&self, indices: &[u32], width: usize) -> Self {
        fn rows<T: Copy>(values: &[T], indices: &[u32], width: usize) -> Vec<T> {
            let row = |index: &u32| &values[*index as usize * width..][..width];
            indices.iter().flat_map(row).copied().collect()
        }
        match self {
            Self::Bytes { values, scales } => Self::Bytes {
                values: rows(values, indices, width),
                scales: scales.clone(),
            },
            Self::Numbers(values) => Self::Numbers(rows(values, indices, width)),
            Self::Tokens(windows) => Self::Tokens(Windows {
                starts: rows(&windows.starts, indices, 1),
                ..windows.clone()
            }),
        }
    }

    /// Appends the features of `others`, of the same dataset; windows keep their own text.
    pub(crate) fn append(&mut self, others: &Self) {
        match (self, others) {
            (Self::Bytes { values, .. }, Self::Bytes { values: others, .. }) => {
                values.extend_from_slice(others);
            }
            (Self::Numbers(values), Self::Numbers(others)) => values.extend_from_slice(others),
            (Self::Tokens(windows), Self::Tokens(others)) => {
                windows.starts.extend_from_slice(&others.starts);
            }
            _ => panic!("pieces of one dataset are of one kind"),
        }
    }

    /// Makes room for exactly `examples` examples more, of `width` features each.
    pub(crate) fn reserve(&mut self, examples: usize, width: usize) {
        match self {
            Self::Bytes { values, .. } => values.reserve_exact(examples * width),
            Self::Numbers(values) => values.reserve_exact(examples * width),
            Self::Tokens(windows) => windows.starts.reserve_exact(examples),
        }
    }

    /// These features, then those of `others` of the same dataset.
    pub(crate) fn followed_by(&self, others: &Self) -> Self {
        match (self, others) {
            (Self::Bytes { values, scales }, Self::Bytes { values: others, .. }) => Self::Bytes {
                values: [values.as_slice(), others].concat(),
                scales: scales.clone(),
            },
            (Self::Numbers(values), Self::Numbers(others)) => {
                Self::Numbers([values.as_slice(), others].concat())
            }
            (Self::Tokens(windows), Self::Tokens(others))
                if Arc::ptr_eq(&windows.text, &others.text) =>
            {
                Self::Tokens(windows.followed_by(others))
            }
            _ => panic!("splits of one dataset are of one kind and of one text"),
        }
    }

    /// Keeps the first `count` examples and drops the rest.
    pub(crate) fn truncate(&mut self, count: usize, width: usize) {
        match self {
            Self::Bytes { values, .. } => values.truncate(count * width),
            Self::Numbers(values) => values.truncate(count * width),
            Self::Tokens(windows) => windows.starts.truncate(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standardising_centres_the_mean() {
        let scale = Scale::standardising(0.1307, 0.3081);
        assert!((scale.apply(255) - (1.0 - 0.1307) / 0.3081).abs() < 1e-5);
        assert!((scale.apply(0) + 0.1307 / 0.3081).abs() < 1e-6);
    }
}
