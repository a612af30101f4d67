//! The batches of some steps of all rows, on the device.

use super::sheet::Sheet;
use crate::network::dropout::Dropout;
use crate::stacked::device::memory::Memory;
use crate::stacked::layers::dropout::Masks;
use burn_cubecl::tensor::CubeTensor;

/// A [`Sheet`] on the device; entry `step · R + row`.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) steps: usize,
    pub(crate) rows: usize,
    /// Indices per entry.
    pub(crate) width: usize,
    /// Examples, `[steps, R, width]`.
    pub(crate) indices: CubeTensor,
    /// Examples per batch, `[steps, R]`; zero where a row has no step to do.
    pub(crate) counts: CubeTensor,
    /// Rate and whether there is a step to do, `[steps, R, 2]`.
    pub(crate) scalars: CubeTensor,
    /// Keys of what a step leaves out, `[steps, R, 2]`, and one of the steps; nothing if the network leaves out none.
    left_out: Option<(CubeTensor, Dropout)>,
}

impl Table {
    /// Copies `sheet` to the device.
    pub(crate) fn upload(memory: &Memory, sheet: &Sheet) -> Self {
        let masks = |(keys, dropout): &(Vec<u32>, Dropout)| (memory.upload_words(keys), *dropout);
        Self {
            steps: sheet.steps,
            rows: sheet.rows,
            width: sheet.width,
            indices: memory.upload_words(&sheet.indices),
            counts: memory.upload_words(&sheet.counts),
            scalars: memory.upload_floats(&sheet.scalars),
            left_out: sheet.left_out.as_ref().map(masks),
        }
    }

    /// What the steps leave out.
    pub(crate) fn masks(&self) -> Option<Masks<'_>> {
        self.left_out.as_ref().map(|(keys, dropout)| Masks {
            keys,
            dropout: *dropout,
        })
    }
}
