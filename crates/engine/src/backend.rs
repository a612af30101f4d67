//! What a device must be able to do. The processor is one implementation, GPUs are another, and ranks, which each have one of these,
//! are a third.
//!
//! One more is a folder of its own with three types: a [`Backend`] that opens the device, the [`Rows`] of a stack there, and
//! a [`Trainer`]. Then [`Device::open`](crate::Device::open) gets one arm. To hold the rows of a rank, it has an `Inner` as well, for
//! [`Device::over_ranks`](crate::Device::over_ranks).

pub(crate) mod reading;
pub(crate) mod rows;
pub(crate) mod trainer;

use crate::backend::reading::{Reading, all_of};
use crate::error::EngineError;
use crate::kernels::Instructions;
use crate::network::Network;
use crate::network::precision::Precision;
use crate::ranks::Ranks;
use crate::training::work::WorkloadSize;
use meshfold_data::{Partition, Splits};
use rows::Rows;
use std::fmt::Debug;
use std::sync::Arc;
use trainer::Trainer;

/// A device that stacks live on. [`Device`](crate::Device) says of each method what its caller may expect.
pub(crate) trait Backend: Debug + Send + Sync {
    /// The device kind that results are bit-identical on where operands of products have that precision.
    fn kind(&self, precision: Precision) -> String;

    /// Threads of the processor that share the rows; `None` where it does not compute them.
    fn threads(&self) -> Option<usize>;

    /// The processor's instructions that rows are computed with; `None` where it does not compute them.
    fn instructions(&self) -> Option<Instructions>;

    /// Calls that [`Backend::side_by_side`] makes at once with profit, at most.
    fn width(&self) -> usize;

    /// Bytes of memory of its own that the device has for certain; `None` where models lie in the machine's memory.
    fn own_memory(&self) -> Option<u64>;

    /// The ranks that the rows are dealt over; `None` where one process has them all.
    fn ranks(&self) -> Option<&Ranks> {
        None
    }

    /// Where rows of stacks to come lie: see [`Device::place`](crate::Device::place).
    fn place(&self, _owners: &[Vec<u32>]) {}

    /// Estimate of the bytes that training `network` and judging it take besides models and examples.
    fn working_bytes(&self, network: &Network, workload: &WorkloadSize<'_>) -> u64;

    /// The device, opened anew if it was lost.
    fn renewed(&self) -> Arc<dyn Backend>;

    /// Waits until all work given to the device is done.
    fn wait(&self);

    /// Calls `work` once.
    ///
    /// # Errors
    /// [`EngineError::DeviceLost`], [`EngineError::OutOfDeviceMemory`] or [`EngineError::Device`] if the device failed
    /// meanwhile: then `work` has not come to its end.
    fn attempt(&self, work: &mut dyn FnMut()) -> Result<(), EngineError>;

    /// Calls `work` `most` times at once, each time with the device as that call is to use it.
    fn side_by_side(&self, most: usize, work: &(dyn Fn(Arc<dyn Backend>) + Sync));

    /// Rows of zeros, `[rows, width]`.
    fn zeros(&self, rows: usize, width: usize) -> Box<dyn Rows>;

    /// Uploads `values`, `[R, width]` row-major.
    ///
    /// # Errors
    /// [`EngineError::Device`] if a kernel of the device could not see them at once.
    fn upload(&self, values: Vec<f32>, width: usize) -> Result<Box<dyn Rows>, EngineError>;

    /// What is held here of the examples that `read` hands on, whose training examples `partition` deals: all of them, unless clients
    /// are dealt over ranks.
    fn deal(&self, partition: &Partition, read: &mut Reading<'_>) -> Option<Splits> {
        all_of(partition, read)
    }

    /// A trainer of `network` on the examples `splits`, which are those that are [held](Backend::deal) here.
    ///
    /// # Errors
    /// [`EngineError::Device`] if the examples or a model do not fit the device, or its threads cannot be started.
    fn trainer(
        &self,
        network: &Network,
        splits: &Splits,
        partition: &Partition,
    ) -> Result<Box<dyn Trainer>, EngineError>;
}
