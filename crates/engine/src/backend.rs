//! The traits that a device implements. The processor, GPUs and ranks do so; a rank computes on a processor or a GPU.
//!
//! A new device gets a folder with three types: a [`Backend`] that opens the device, the [`Rows`] of a stack there, and
//! a [`Trainer`]. `choose` in `device.rs` gets one arm for it. To serve as the device of a rank, it also
//! implements `Inner`, for [`Device::over_ranks`](crate::Device::over_ranks).

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

/// A device that stacks live on. [`Device`](crate::Device) documents what each method promises its caller.
pub(crate) trait Backend: Debug + Send + Sync {
    /// The device kind for products with operands of `precision`. On one kind, results are bit-identical.
    fn kind(&self, precision: Precision) -> String;

    /// Threads of the processor that share the rows; `None` where it does not compute them.
    fn threads(&self) -> Option<usize>;

    /// The processor's instructions that rows are computed with; `None` where it does not compute them.
    fn instructions(&self) -> Option<Instructions>;

    /// The most calls that [`Backend::side_by_side`] should make at once: more gain nothing.
    fn width(&self) -> usize;

    /// Bytes of its own memory that the device is sure to have; `None` where models lie in the machine's memory.
    fn own_memory(&self) -> Option<u64>;

    /// The ranks that the rows are dealt over; `None` where one process has them all.
    fn ranks(&self) -> Option<&Ranks> {
        None
    }

    /// Decides where the rows of later stacks lie: see [`Device::place`](crate::Device::place).
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

    /// Reads the examples with `read` and returns those that this process keeps: all of them, unless clients are dealt
    /// over ranks. `partition` says who owns which training example.
    fn deal(&self, partition: &Partition, read: &mut Reading<'_>) -> Option<Splits> {
        all_of(partition, read)
    }

    /// A trainer of `network` on `splits`, the examples that [`Backend::deal`] returned.
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
