//! The stack: every model copy of a run in one `[R, P]` array.

pub(crate) mod blocks;
pub(crate) mod mixing;
pub(crate) mod quantiser;
pub(crate) mod recycled;
pub(crate) mod verbs;

use crate::device::Device;
use crate::error::EngineError;
use crate::network::layout::Layout;
#[cfg(feature = "gpu")]
use crate::stacked;
use burn::backend::Flex;
use burn::tensor::{DType, Shape, Tensor};
use burn_flex::FlexTensor;
use std::sync::Arc;

/// All model copies of a run, `[R, P]`: one row each, laid out by one [`Layout`].
///
/// The rows are one flat burn tensor `[R, P_pad]`. What a row stands for (client, server, walker) is the
/// algorithm's to say.
#[derive(Debug)]
pub struct Stack {
    pub(super) device: Device,
    pub(super) layout: Arc<Layout>,
    pub(super) rows: usize,
    pub(super) storage: Storage,
    /// The other half of the double buffer that mixing writes into.
    pub(super) spare: Option<Storage>,
}

#[derive(Debug)]
#[cfg_attr(
    feature = "gpu",
    allow(
        clippy::large_enum_variant,
        reason = "a run holds a few stacks, whose rows lie elsewhere"
    )
)]
pub(super) enum Storage {
    Host(FlexTensor),
    #[cfg(feature = "gpu")]
    Gpu(stacked::StackRows),
}

impl Storage {
    /// Values in host memory, which are not copied. (Zeros of burn's own are bytes, and are copied when they are first
    /// written to as floats.)
    fn of_host(values: Vec<f32>, shape: Shape) -> Self {
        Self::Host(FlexTensor::new(
            burn::tensor::Bytes::from_elems(values),
            burn_flex::Layout::contiguous(shape),
            DType::F32,
        ))
    }

    #[cfg(feature = "gpu")]
    fn of_gpu(rows: Tensor<2>) -> Self {
        Self::Gpu(stacked::StackRows::new(rows))
    }
}

/// Runs one body per kind of storage; the second binds the GPU's tensor and is compiled only where there is one.
macro_rules! on {
    ($storage:expr, Host($host:pat) => $cpu:expr, Gpu($gpu:pat) => $device:expr) => {
        match $storage {
            Storage::Host($host) => $cpu,
            #[cfg(feature = "gpu")]
            Storage::Gpu($gpu) => $device,
        }
    };
}

impl Drop for Stack {
    fn drop(&mut self) {
        let own = self.take_storage();
        for storage in self.spare.take().into_iter().chain([own]) {
            self.leave(storage);
        }
    }
}

impl Stack {
    /// A stack of zeros, `[rows, P]`.
    pub fn zeros(device: &Device, layout: &Arc<Layout>, rows: usize) -> Self {
        match Self::recycled(device, layout, rows) {
            Some(mut stack) => {
                stack.clear();
                stack
            }
            None => Self::fresh(device, layout, rows),
        }
    }

    /// A stack of any values, all of which are about to be written.
    pub(crate) fn to_overwrite(device: &Device, layout: &Arc<Layout>, rows: usize) -> Self {
        #[cfg(feature = "gpu")]
        if let Device::Gpu(gpu) = device {
            let unwritten = Tensor::empty([rows, layout.width()], gpu.device());
            return Self::of_storage(device, layout, rows, Storage::of_gpu(unwritten));
        }
        let recycled = Self::recycled(device, layout, rows);
        recycled.unwrap_or_else(|| Self::fresh(device, layout, rows))
    }

    /// A stack in the memory of one that is gone, with what that last held.
    fn recycled(device: &Device, layout: &Arc<Layout>, rows: usize) -> Option<Self> {
        let shape = Shape::from(vec![rows, layout.width()]);
        let storage = match device {
            Device::Cpu(cpu) => Storage::Host(cpu.recycled().take(&shape)?),
            #[cfg(feature = "gpu")]
            Device::Gpu(_) => return None,
        };
        Some(Self::of_storage(device, layout, rows, storage))
    }

    /// A stack of zeros in memory that the system gives.
    fn fresh(device: &Device, layout: &Arc<Layout>, rows: usize) -> Self {
        let shape = Shape::from(vec![rows, layout.width()]);
        let storage = match device {
            Device::Cpu(_) => Storage::of_host(vec![0.0; rows * layout.width()], shape),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Storage::of_gpu(Tensor::zeros(shape, gpu.device())),
        };
        Self::of_storage(device, layout, rows, storage)
    }

    fn of_storage(device: &Device, layout: &Arc<Layout>, rows: usize, storage: Storage) -> Self {
        Self {
            device: device.clone(),
            layout: layout.clone(),
            rows,
            storage,
            spare: None,
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
        #[cfg(feature = "gpu")]
        if let Device::Gpu(gpu) = device {
            gpu.expect_fit("a stack", rows, width)?;
        }
        let shape = Shape::from(vec![rows, layout.width()]);
        let storage = match device {
            Device::Cpu(_) => Storage::of_host(values, shape),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => Storage::of_gpu(Tensor::from_data(
                burn::tensor::TensorData::new(values, shape),
                gpu.device(),
            )),
        };
        Ok(Self::of_storage(device, layout, rows, storage))
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
        on!(&self.storage,
            Host(tensor) => tensor.storage::<f32>().to_vec(),
            Gpu(rows) => stacked::read(rows.tensor()))
    }

    /// The stack as a burn tensor `[R, P_pad]` that shares its memory.
    pub fn tensor(&self) -> Tensor<2> {
        on!(&self.storage,
            Host(tensor) => Tensor::from_primitive::<Flex>(tensor.clone()),
            Gpu(rows) => rows.tensor())
    }

    /// A copy with memory of its own.
    pub fn duplicate(&self) -> Self {
        let (device, layout) = (&self.device, &self.layout);
        on!(&self.storage,
        Host(tensor) => {
            let mut copy = Self::to_overwrite(device, layout, self.rows);
            if let Some(values) = copy.host_mut() {
                values.copy_from_slice(tensor.storage());
            }
            copy
        },
        Gpu(rows) => {
            let storage = Storage::of_gpu(stacked::copy(rows.tensor()));
            Self::of_storage(device, layout, self.rows, storage)
        })
    }

    /// The rows in host memory, for the blocked trainer and host kernels.
    pub(crate) fn host(&self) -> Option<&[f32]> {
        on!(&self.storage, Host(tensor) => Some(tensor.storage::<f32>()), Gpu(_) => None)
    }

    /// The rows in host memory, to be changed.
    pub(crate) fn host_mut(&mut self) -> Option<&mut [f32]> {
        on!(&mut self.storage, Host(tensor) => Some(tensor.storage_mut::<f32>()), Gpu(_) => None)
    }

    /// Leaves memory that is done with to stacks to come.
    pub(super) fn leave(&self, storage: Storage) {
        match (&self.device, storage) {
            (Device::Cpu(cpu), Storage::Host(tensor)) => cpu.recycled().put(tensor),
            #[cfg(feature = "gpu")]
            _ => {}
        }
    }

    /// Takes the memory out of a stack that is done with.
    pub(super) fn take_storage(&mut self) -> Storage {
        let nothing = Storage::of_host(Vec::new(), Shape::from(vec![0, 0]));
        std::mem::replace(&mut self.storage, nothing)
    }

    /// The rows on the GPU; what is taken out of them must be put back.
    #[cfg(feature = "gpu")]
    pub(crate) fn gpu_rows(&mut self) -> &mut stacked::StackRows {
        match &mut self.storage {
            Storage::Gpu(rows) => rows,
            Storage::Host(_) => unreachable!("the stacked trainer is only given stacks of a GPU"),
        }
    }

    /// Sets every parameter to zero.
    pub fn clear(&mut self) {
        on!(&mut self.storage,
            Host(tensor) => tensor.storage_mut::<f32>().fill(0.0),
            Gpu(rows) => rows.change(|rows| rows.zeros_like()));
    }
}
