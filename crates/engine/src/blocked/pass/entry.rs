//! What a layer reads of a batch.

use super::inputs::Parts;
use crate::network::layer::Dense;

/// What a stage reads: example `i` begins at `offset + i · stride`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) offset: usize,
    pub(crate) stride: usize,
    /// Which numbers the examples share, where it pays to tell.
    pub(crate) parts: Option<Parts<'a>>,
    /// All numbers of the examples in pairs, where they lie ready.
    pub(crate) pairs: Option<&'a [f32]>,
}

impl<'a> Entry<'a> {
    /// Rows that begin `stride` apart.
    pub(crate) fn of(values: &'a [f32], stride: usize) -> Self {
        Self {
            values,
            offset: 0,
            stride,
            parts: None,
            pairs: None,
        }
    }

    /// From the first number of the first example on.
    pub(crate) fn begin(&self) -> &'a [f32] {
        &self.values[self.offset..]
    }

    /// The rows that `layer` reads: where it has places, each is one.
    pub(crate) fn of_places(self, layer: &Dense) -> Self {
        match layer.places {
            0..=1 => self,
            _ => Self {
                stride: layer.inputs,
                ..self
            },
        }
    }

    /// The numbers of example `index` and what follows them.
    pub(crate) fn example(&self, index: usize) -> &'a [f32] {
        &self.values[self.offset + index * self.stride..]
    }
}
