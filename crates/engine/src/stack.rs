//! The stack: every model copy of a run in one `[R, P]` array.

pub(crate) mod blocks;
pub(crate) mod mixing;
mod neighbourhoods;
pub(crate) mod quantiser;
pub(crate) mod row_lists;
mod unpadded;
pub(crate) mod verbs;

use crate::backend::rows::Rows;
use crate::device::Device;
use crate::error::EngineError;
use crate::network::layout::Layout;
use crate::processor::row_memory::RowMemory;
use std::sync::Arc;

/// All model copies of a run, `[R, P]`: one row each, laid out by one [`Layout`].
///
/// The rows are one flat array `[R, P_pad]` on the device. What a row stands for (client, server, walker) is the
/// algorithm's to say.
#[derive(Debug)]
pub struct Stack {
    device: Device,
    layout: Arc<Layout>,
    rows: usize,
    storage: Box<dyn Rows>,
}

impl Stack {
    /// A stack of zeros, `[rows, P]`.
    pub fn zeros(device: &Device, layout: &Arc<Layout>, rows: usize) -> Self {
        Self {
            device: device.clone(),
            layout: layout.clone(),
            rows,
            storage: device.backend().zeros(rows, layout.width()),
        }
    }

    /// Uploads host values, `[rows, P_pad]` row-major, padding included.
    ///
    /// # Errors
    /// [`EngineError::RowCount`] if `values` is not a whole number of rows, [`EngineError::Device`] if a kernel of the
    /// device could not see them at once.
    pub fn from_host(
        device: &Device,
        layout: &Arc<Layout>,
        values: Vec<f32>,
    ) -> Result<Self, EngineError> {
        let width = layout.width().max(1);
        let rows = values.len() / width;
        if rows * width != values.len() {
            return Err(EngineError::RowCount {
                verb: "from_host",
                found: values.len(),
                rows,
            });
        }
        Ok(Self {
            device: device.clone(),
            layout: layout.clone(),
            rows,
            storage: device.backend().upload(values, layout.width())?,
        })
    }

    /// Number of model copies `R`.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How a row is laid out.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The device that the stack lives on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Reads all rows back, `[R, P_pad]` row-major. Only where results are taken: it waits for the device.
    pub fn to_host(&self) -> Vec<f32> {
        self.storage.to_host()
    }

    /// The stack as a burn tensor `[R, P_pad]`: on a GPU it shares the stack's memory, on the processor it is a copy.
    #[cfg(feature = "own-models")]
    pub fn tensor(&self) -> burn::tensor::Tensor<2> {
        self.storage.tensor()
    }

    /// The rows `[R, P_pad]`, row-major, if they lie in host memory. Padding is zero.
    pub fn host(&self) -> Option<&[f32]> {
        self.storage.host()
    }

    /// The rows as in [`Stack::host`], to be changed. Padding must stay zero.
    pub fn host_mut(&mut self) -> Option<&mut [f32]> {
        self.storage.host_mut()
    }

    /// The rows `[R, P_pad]` as they are now, if they lie in host memory, without a copy. Whoever changes the stack while this is
    /// held copies its rows first.
    pub fn shared(&self) -> Option<Arc<RowMemory>> {
        self.storage.shared()
    }

    /// A copy with memory of its own.
    pub fn duplicate(&self) -> Self {
        self.beside(self.storage.duplicate(), self.rows)
    }

    /// Sets every parameter to zero.
    pub fn clear(&mut self) {
        self.storage.clear();
    }

    /// The rows, as the device has them.
    pub(crate) fn storage(&self) -> &dyn Rows {
        self.storage.as_ref()
    }

    /// The rows, as the device has them, to be changed.
    pub(crate) fn storage_mut(&mut self) -> &mut dyn Rows {
        self.storage.as_mut()
    }

    /// A stack of the same device and layout.
    fn beside(&self, storage: Box<dyn Rows>, rows: usize) -> Self {
        Self {
            device: self.device.clone(),
            layout: self.layout.clone(),
            rows,
            storage,
        }
    }
}
