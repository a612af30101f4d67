//! Where stacks live: the processor, or a GPU if the library was built for one.

pub(crate) mod request;

use crate::backend::Backend;
use crate::backend::reading::Reading;
use crate::error::EngineError;
use crate::kernels::Instructions;
use crate::network::Network;
use crate::network::precision::Precision;
use crate::processor::Processor;
use crate::ranks::Ranks;
use crate::ranks::backend::Ranked;
use crate::ranks::inner::Inner;
#[cfg(feature = "gpu")]
use crate::stacked::{open as open_gpu, open_rank};
use crate::training::work::WorkloadSize;
use meshfold_data::{Partition, Splits};
use request::DeviceRequest;
use std::sync::Arc;

/// An opened device. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Device {
    backend: Arc<dyn Backend>,
}

impl Device {
    /// Opens what was asked for; on the processor with `threads` threads (all cores if `None`) and `instructions` (the widest
    /// that there are if `None`). Nothing falls back silently: only `auto` chooses.
    ///
    /// # Errors
    /// [`EngineError::Device`] if the binary or the machine lacks the device, or its threads cannot be started.
    pub fn open(
        request: DeviceRequest,
        threads: Option<usize>,
        instructions: Option<Instructions>,
    ) -> Result<Self, EngineError> {
        let processor = || -> Result<Arc<dyn Backend>, EngineError> {
            Ok(Arc::new(Processor::open(threads, instructions)?))
        };
        let backend = choose(request, processor, open_gpu)?;
        Ok(Self { backend })
    }

    /// The device of a backend that was opened.
    pub(crate) fn of(backend: impl Backend + 'static) -> Self {
        Self {
            backend: Arc::new(backend),
        }
    }

    /// The processor with all its cores and its widest instruction set.
    ///
    /// # Errors
    /// [`EngineError::Device`] if the threads cannot be started.
    pub fn cpu() -> Result<Self, EngineError> {
        Self::open(DeviceRequest::Cpu, None, None)
    }

    /// Opens a device for one of `ranks`, as [`Device::open`] does. Every rank does the same with its device, in the
    /// same order and with the same values. Ranks of one machine take its GPUs in turn: the first rank takes the GPU
    /// that is named, the next rank the next GPU of the same type (discrete, integrated, software), and after the last
    /// GPU the first comes again.
    /// # Errors
    /// [`EngineError::Device`] if the binary or the machine lacks the device, or its threads cannot be started;
    /// [`EngineError::OfRank`] if that is so on another rank.
    pub fn over_ranks(
        ranks: Ranks,
        request: DeviceRequest,
        threads: Option<usize>,
        instructions: Option<Instructions>,
    ) -> Result<Self, EngineError> {
        let processor = || -> Result<Arc<dyn Inner>, EngineError> {
            Ok(Arc::new(Processor::open(threads, instructions)?))
        };
        let place = ranks.place_on_this_machine();
        let opened = choose(request, processor, |gpu| open_rank(gpu, place));
        let opened = ranks.expect_success_on_all(opened)?;
        Ok(Self::of(Ranked::new(ranks, opened)))
    }

    /// The ranks that rows are dealt over; `None` where this process has them all.
    pub fn ranks(&self) -> Option<&Ranks> {
        self.backend.ranks()
    }

    /// Decides where the rows of later stacks lie, if this device is one of several ranks. In a stack with as many rows
    /// as `owners[k]` has items, row `i` lies on rank `owners[k][i]`. All other stacks lie in blocks. Every rank calls
    /// it, with as many items; those of rank 0 count. No result depends on it.
    pub fn place(&self, owners: &[Vec<u32>]) {
        self.backend.place(owners);
    }

    /// Reads the examples with `read` and returns those that this process keeps, in the order that `partition` counts.
    /// A single process keeps all. One of several ranks leaves out the training examples of other ranks' clients;
    /// clients lie on ranks as the rows of a stack with as many rows [do](Device::place).
    ///
    /// Every rank calls it. Ranks that [read](crate::Ranks::reads) call `read` once. Before they read the next piece,
    /// they hand the other ranks of their machine their parts of it. `None` if the rank that reads for this machine
    /// cannot.
    pub fn deal(&self, partition: &Partition, read: &mut Reading<'_>) -> Option<Splits> {
        self.backend.deal(partition, read)
    }

    /// Calls `work` `most` times at once, on the processor at most once per thread, and returns when all calls have.
    /// Each call gets the device that it must use.
    ///
    /// On the processor a call's verbs run on the calling thread, and threads without a call of their own help:
    /// independent calls never wait for one another. On a GPU each call has a thread of its own. Local steps of
    /// learners of the same kind run together: every learner waits there until the others have come or are gone. So a
    /// call must not have two learners open at once.
    pub fn side_by_side(&self, most: usize, work: impl Fn(&Self) + Sync) {
        self.backend
            .side_by_side(most, &|backend| work(&Self { backend }));
    }

    /// The most calls that [`Device::side_by_side`] should make at once: more gain nothing.
    pub fn width(&self) -> usize {
        self.backend.width()
    }

    /// Threads of the processor that share the rows; `None` on a GPU.
    pub fn threads(&self) -> Option<usize> {
        self.backend.threads()
    }

    /// The processor's instructions that rows are computed with; `None` on a GPU.
    pub fn instructions(&self) -> Option<Instructions> {
        self.backend.instructions()
    }

    /// Bytes of its own memory that the device is sure to have: for a GPU, its largest buffer. `None` where models lie
    /// in the machine's memory.
    pub fn own_memory(&self) -> Option<u64> {
        self.backend.own_memory()
    }

    /// Estimated bytes for training and judging `network`, besides the models and the stored examples. On the
    /// processor: the working memory of each thread, and the test examples as numbers. On a GPU only the GPU's memory
    /// counts: its copy of the examples, outputs and gradients of the layers for a block of rows, and the velocities
    /// and gradients of all rows that are kept.
    pub fn working_bytes(&self, network: &Network, workload: &WorkloadSize<'_>) -> u64 {
        // No GPU trains a model that computes in host memory; a learner says so.
        match (network.host_model(), self.threads()) {
            (Some(_), None) => 0,
            _ => self.backend.working_bytes(network, workload),
        }
    }

    /// Carries out `work`, and returns an error if a GPU is lost or runs out of memory meanwhile. Such a failure shows
    /// wherever results are read, even in functions that return no error: these do not return, but unwind to here.
    ///
    /// # Errors
    /// [`EngineError::DeviceLost`], [`EngineError::OutOfDeviceMemory`] or [`EngineError::Device`] if the device failed; those
    /// of `work`.
    pub fn attempt<T, E: From<EngineError>>(
        &self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let (mut work, mut outcome) = (Some(work), None);
        self.backend
            .attempt(&mut || outcome = work.take().map(|work| work()))?;
        outcome.expect("a backend calls the work once, and has come to its end")
    }

    /// The device; a lost GPU is opened anew. If that fails, this is the lost device, which fails where results are
    /// read.
    pub(crate) fn renewed(&self) -> Self {
        Self {
            backend: self.backend.renewed(),
        }
    }

    /// Waits until all work given to the device is done; the processor's always is.
    pub fn wait(&self) {
        self.backend.wait();
    }

    /// The device kind for results in single precision, for example `cpu/avx512`. On one kind, results are
    /// bit-identical.
    pub fn kind(&self) -> String {
        self.kind_in(Precision::F32)
    }

    /// The device kind that results are bit-identical on where operands of products have that precision: on a processor with
    /// bfloat16 `cpu/amx-bf16` or `cpu/avx512-bf16`, or `cpu/avx2+bf16` where there is no instruction for it.
    pub fn kind_in(&self, precision: Precision) -> String {
        self.backend.kind(precision)
    }

    /// Whether it can compute products of operands of `precision`.
    ///
    /// # Errors
    /// [`EngineError::Precision`] if it cannot.
    pub fn expect(&self, precision: Precision) -> Result<(), EngineError> {
        match self.threads() {
            None if !precision.is_usual() => Err(EngineError::Precision {
                precision,
                reason: "GPUs compute in single precision alone",
                remedy: "use the processor, `--device cpu`, or leave `precision` out",
            }),
            _ => Ok(()),
        }
    }

    /// What carries out the verbs.
    pub(crate) fn backend(&self) -> &dyn Backend {
        self.backend.as_ref()
    }
}

/// Opens the processor or the GPU that `request` names; of `auto`, the first GPU if it is there and is one.
fn choose<B: Backend + ?Sized>(
    request: DeviceRequest,
    processor: impl FnOnce() -> Result<Arc<B>, EngineError>,
    gpu: impl FnOnce(DeviceRequest) -> Result<Arc<B>, EngineError>,
) -> Result<Arc<B>, EngineError> {
    match request {
        DeviceRequest::Cpu => processor(),
        DeviceRequest::Wgpu(_) | DeviceRequest::Cuda(_) => gpu(request),
        // A GPU without memory of its own is a program on the processor.
        DeviceRequest::Auto => match gpu(DeviceRequest::Wgpu(0)) {
            Ok(gpu) if gpu.own_memory().is_some() => Ok(gpu),
            _ => processor(),
        },
    }
}

#[cfg(not(feature = "gpu"))]
fn open_gpu(request: DeviceRequest) -> Result<Arc<dyn Backend>, EngineError> {
    Err(without_gpus(request))
}

#[cfg(not(feature = "gpu"))]
fn open_rank(request: DeviceRequest, _: usize) -> Result<Arc<dyn Inner>, EngineError> {
    Err(without_gpus(request))
}

#[cfg(not(feature = "gpu"))]
fn without_gpus(request: DeviceRequest) -> EngineError {
    EngineError::Device {
        device: request.to_string(),
        reason: "this binary was built for the processor alone; build it with `--features gpu` \
                 (or `vulkan`, `cuda`) to use a GPU"
            .to_owned(),
    }
}
