//! Where stacks live: the processor, or a GPU if the binary was built for one.

pub(crate) mod request;

use crate::error::EngineError;
use crate::kernels::Instructions;
use crate::network::Network;
use crate::stack::recycled::Recycled;
use crate::training::work::WorkloadSize;
use rayon::{ThreadPool, ThreadPoolBuilder};
use request::{DeviceRequest, THREAD_STACK};
use std::sync::Arc;

/// The processor: an instruction set and the threads that share the rows.
#[derive(Debug, Clone)]
pub struct Cpu {
    instructions: Instructions,
    pool: Arc<ThreadPool>,
    recycled: Arc<Recycled>,
}

impl Cpu {
    /// Takes `threads` threads (all cores if `None`) and `instructions` (the widest that there are if `None`).
    ///
    /// # Errors
    /// [`EngineError::Device`] if the threads cannot be started.
    pub fn new(
        threads: Option<usize>,
        instructions: Option<Instructions>,
    ) -> Result<Self, EngineError> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads.unwrap_or(0))
            .stack_size(THREAD_STACK)
            .thread_name(|index| format!("meshfold-{index}"))
            .build()
            .map_err(|error| EngineError::Device {
                device: "cpu".to_owned(),
                reason: format!(
                    "its threads cannot be started: {error}; ask for fewer threads, or raise the limits of the process, such as `ulimit -v`"
                ),
            })?;
        Ok(Self {
            instructions: instructions.unwrap_or_else(Instructions::detect),
            pool: Arc::new(pool),
            recycled: Arc::default(),
        })
    }

    /// The instruction set that kernels use.
    pub fn instructions(&self) -> Instructions {
        self.instructions
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Memory of stacks that are gone.
    pub(crate) fn recycled(&self) -> &Recycled {
        &self.recycled
    }

    /// Runs `work` on the device's own threads.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }
}

/// An opened device. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Device {
    /// The client-blocked trainer.
    Cpu(Cpu),
    /// The stacked trainer.
    #[cfg(feature = "gpu")]
    Gpu(crate::stacked::SharedGpu),
}

impl Device {
    /// Opens what was asked for. Nothing falls back silently: only `auto` chooses.
    ///
    /// # Errors
    /// [`EngineError::Device`] if the binary or the machine lacks the device.
    pub fn open(
        request: DeviceRequest,
        threads: Option<usize>,
        instructions: Option<Instructions>,
    ) -> Result<Self, EngineError> {
        match request {
            DeviceRequest::Cpu => Cpu::new(threads, instructions).map(Self::Cpu),
            #[cfg(feature = "gpu")]
            DeviceRequest::Wgpu(_) | DeviceRequest::Cuda(_) => {
                crate::stacked::SharedGpu::open(request).map(Self::Gpu)
            }
            #[cfg(not(feature = "gpu"))]
            DeviceRequest::Wgpu(_) | DeviceRequest::Cuda(_) => Err(EngineError::Device {
                device: request.to_string(),
                reason:
                    "this binary was built for the processor alone; build it with `--features gpu` \
                         (or `vulkan`, `cuda`) to use a GPU"
                        .to_owned(),
            }),
            #[cfg(feature = "gpu")]
            DeviceRequest::Auto => match crate::stacked::SharedGpu::open(DeviceRequest::Wgpu(0)) {
                Ok(gpu) if !gpu.is_software() => Ok(Self::Gpu(gpu)),
                _ => Cpu::new(threads, instructions).map(Self::Cpu),
            },
            #[cfg(not(feature = "gpu"))]
            DeviceRequest::Auto => Cpu::new(threads, instructions).map(Self::Cpu),
        }
    }

    /// The processor with all its cores and its widest instruction set.
    ///
    /// # Errors
    /// [`EngineError::Device`] if the threads cannot be started.
    pub fn cpu() -> Result<Self, EngineError> {
        Cpu::new(None, None).map(Self::Cpu)
    }

    /// Calls `work` `most` times at once, on the processor at most once for each of its threads, and returns when all calls
    /// have. A call is given the device as it is to be used by what it does.
    ///
    /// On the processor a call's verbs begin on the calling thread, and threads without a call of their own take their share
    /// of it: independent calls never wait for one another. On a GPU, calls have threads of their own, but the local steps of
    /// their learners are made together where they are of the same kind: every learner waits there until the others have
    /// come or are gone. A call must not open a learner that lives as long as another of its own.
    pub fn side_by_side(&self, most: usize, work: impl Fn(&Self) + Sync) {
        match self {
            Self::Cpu(cpu) => {
                cpu.pool.broadcast(|thread| {
                    if thread.index() < most {
                        work(self);
                    }
                });
            }
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => gpu.side_by_side(most, |gpu| work(&Self::Gpu(gpu))),
        }
    }

    /// Calls that [`Device::side_by_side`] makes at once with profit, at most.
    pub fn width(&self) -> usize {
        match self {
            Self::Cpu(cpu) => cpu.threads(),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => gpu.width(),
        }
    }

    /// Bytes of memory of its own that the device has for certain: a GPU tells of its largest buffer alone. `None` where
    /// models lie in the machine's memory.
    pub fn own_memory(&self) -> Option<u64> {
        match self {
            Self::Cpu(_) => None,
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => (!gpu.is_software()).then(|| gpu.memory().largest_buffer()),
        }
    }

    /// Estimate of the bytes that training `network` and judging it take besides the models and the examples as they are
    /// stored. On the processor: what each thread works in, and the test examples as numbers. On a GPU, on which nothing
    /// else is counted: its copy of the examples, what the layers of a block of rows give and get back, and
    /// velocities and gradients of all rows where they are kept.
    pub fn working_bytes(&self, network: &Network, workload: &WorkloadSize<'_>) -> u64 {
        match self {
            Self::Cpu(cpu) => network.working_bytes(workload, cpu.threads()),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => crate::stacked::bytes(gpu, network, workload),
        }
    }

    /// Carries out `work`, and makes an error of it if a GPU is lost or runs out of memory meanwhile. This shows wherever
    /// results are read, also in functions that return no error: they do not return then.
    ///
    /// # Errors
    /// [`EngineError::DeviceLost`], [`EngineError::OutOfDeviceMemory`] or [`EngineError::Device`] if the device failed; those
    /// of `work`.
    pub fn attempt<T, E: From<EngineError>>(
        &self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            Self::Cpu(_) => work(),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => gpu.attempt(work),
        }
    }

    /// The device, opened anew if it is a GPU that was lost. If that cannot be done it is the lost one, which says so where
    /// results are read.
    pub(crate) fn renewed(&self) -> Self {
        match self {
            Self::Cpu(_) => self.clone(),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => Self::Gpu(gpu.renewed()),
        }
    }

    /// Waits until all work given to the device is done; the processor's always is.
    pub fn wait(&self) {
        match self {
            Self::Cpu(_) => {}
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => gpu.wait(),
        }
    }

    /// The device kind that results are bit-identical on, for example `cpu/avx512`.
    pub fn kind(&self) -> String {
        match self {
            Self::Cpu(cpu) => format!("cpu/{}", cpu.instructions),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => gpu.kind(),
        }
    }
}
