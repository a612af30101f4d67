//! A GPU as a device.

use crate::backend::Backend;
use crate::backend::rows::Rows;
use crate::backend::trainer::Trainer;
use crate::device::request::DeviceRequest;
use crate::error::EngineError;
use crate::kernels::Instructions;
use crate::network::Network;
use crate::network::precision::Precision;
use crate::ranks::inner::Inner;
use crate::stacked::coalescing::shared_gpu::SharedGpu;
use crate::stacked::device::adapters::in_turn;
use crate::stacked::device::gpu::Gpu;
use crate::stacked::gpu_rows::GpuRows;
use crate::stacked::trainer::{self, Stacked};
use crate::training::work::WorkloadSize;
use burn::tensor::{Tensor, TensorData};
use meshfold_data::{Partition, Splits};
use std::sync::Arc;

/// From this many runs on, launches are a small share of a GPU's work.
const WIDTH: usize = 32;

/// Opens the GPU that `request` names.
///
/// # Errors
/// [`EngineError::Device`] if this binary or machine lacks it.
pub(crate) fn open(request: DeviceRequest) -> Result<Arc<dyn Backend>, EngineError> {
    Ok(Arc::new(SharedGpu::open(request)?))
}

/// Opens a GPU for rank `place` of this machine: ranks take the GPUs [in turn](in_turn), from the one that `request`
/// names.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_rank(
    request: DeviceRequest,
    place: usize,
) -> Result<Arc<dyn Inner>, EngineError> {
    Ok(Arc::new(SharedGpu::open(in_turn(request, place))?))
}

impl Backend for SharedGpu {
    fn kind(&self, _: Precision) -> String {
        Gpu::kind(self)
    }

    fn threads(&self) -> Option<usize> {
        None
    }

    fn instructions(&self) -> Option<Instructions> {
        None
    }

    /// How many runs to carry out at once: one if launches cost little compared with the work.
    fn width(&self) -> usize {
        if self.is_software() { 1 } else { WIDTH }
    }

    fn own_memory(&self) -> Option<u64> {
        (!self.is_software()).then(|| self.memory().largest_buffer())
    }

    fn working_bytes(&self, network: &Network, workload: &WorkloadSize<'_>) -> u64 {
        trainer::bytes(self, network, workload)
    }

    fn renewed(&self) -> Arc<dyn Backend> {
        Arc::new(self.opened_anew())
    }

    fn wait(&self) {
        Gpu::wait(self);
    }

    fn attempt(&self, work: &mut dyn FnMut()) -> Result<(), EngineError> {
        Gpu::attempt(self, || {
            work();
            Ok(())
        })
    }

    fn side_by_side(&self, most: usize, work: &(dyn Fn(Arc<dyn Backend>) + Sync)) {
        self.run_side_by_side(most, |gpu| work(Arc::new(gpu)));
    }

    fn zeros(&self, rows: usize, width: usize) -> Box<dyn Rows> {
        let zeros = Tensor::zeros([rows, width], self.device());
        Box::new(GpuRows::new(self, zeros))
    }

    fn upload(&self, values: Vec<f32>, width: usize) -> Result<Box<dyn Rows>, EngineError> {
        let rows = values.len() / width.max(1);
        self.expect_fit("a stack", rows, width)?;
        let data = TensorData::new(values, [rows, width]);
        let rows = Tensor::from_data(data, self.device());
        Ok(Box::new(GpuRows::new(self, rows)))
    }

    fn trainer(
        &self,
        network: &Network,
        splits: &Splits,
        _: &Partition,
    ) -> Result<Box<dyn Trainer>, EngineError> {
        Ok(Box::new(Stacked::upload(self, network, splits)?))
    }
}
