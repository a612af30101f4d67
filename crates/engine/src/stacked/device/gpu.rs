//! Opening a GPU, and reopening a lost one.

use super::adapters::adapters;
use super::failures::{self, Failures, answer, wait};
use super::memory::Memory;
use crate::device::request::DeviceRequest;
use crate::error::EngineError;
use burn::tensor::Device;
use burn_wgpu::graphics::AutoGraphicsApi;
use burn_wgpu::{RuntimeOptions, WgpuDevice, WgpuSetup, try_init_device, try_init_setup, wgpu};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An opened GPU. Cheap to clone; a GPU is opened once per process.
#[derive(Debug, Clone)]
pub(crate) struct Gpu {
    device: Device,
    memory: Memory,
    kind: String,
    software: bool,
}

/// A GPU that is open.
struct Opened {
    request: DeviceRequest,
    gpu: Gpu,
    /// The setup for opening it again, if that is possible.
    setup: Option<WgpuSetup>,
}

/// GPUs opened so far: the runtime allows each adapter to be set up once.
static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

fn opened() -> MutexGuard<'static, Vec<Opened>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gpu {
    /// Opens the adapter that `request` names: `wgpu:0` is the first real GPU, software adapters come last.
    ///
    /// # Errors
    /// [`EngineError::Device`] if this binary or machine lacks it.
    pub(crate) fn open(request: DeviceRequest) -> Result<Self, EngineError> {
        let mut opened = opened();
        if let Some(earlier) = opened.iter().find(|earlier| earlier.request == request) {
            return Ok(earlier.gpu.clone());
        }
        let fail = |reason: String| EngineError::Device {
            device: request.to_string(),
            reason,
        };
        let (gpu, setup) = guarded(|| match request {
            DeviceRequest::Wgpu(index) => open_wgpu(index).map(|(gpu, setup)| (gpu, Some(setup))),
            DeviceRequest::Cuda(index) => open_cuda(index).map(|gpu| (gpu, None)),
            DeviceRequest::Cpu | DeviceRequest::Auto => Err("it is no GPU".to_owned()),
        })
        .map_err(fail)?;
        opened.push(Opened {
            request,
            gpu: gpu.clone(),
            setup,
        });
        Ok(gpu)
    }

    /// This GPU, reopened if it was lost. If that fails, it is still the lost one, and reading results reports so.
    /// Arrays on a lost GPU stay lost, and are never mixed with those on the new one.
    pub(crate) fn renewed(&self) -> Self {
        let failures = Failures::of(self.memory.device());
        if failures.forget() {
            // A run that ran out of memory leaves pages behind, which this run may need.
            let cleaned = self.attempt(|| {
                let _ = self.memory.client().memory_cleanup();
                Ok::<(), EngineError>(())
            });
            drop(cleaned);
        }
        if !failures.is_lost() {
            return self.clone();
        }
        let mut opened = opened();
        let same = |earlier: &&mut Opened| earlier.gpu.kind == self.kind;
        let Some(earlier) = opened.iter_mut().find(same) else {
            return self.clone();
        };
        if Failures::of(earlier.gpu.memory.device()).is_lost()
            && let Err(because) = guarded(|| earlier.open_again())
        {
            failures.stay_lost(&because);
            return self.clone();
        }
        earlier.gpu.clone()
    }

    /// Carries out `work`, and turns a failure of this GPU meanwhile into an error.
    ///
    /// # Errors
    /// [`EngineError::DeviceLost`], [`EngineError::OutOfDeviceMemory`] or [`EngineError::Device`] if the GPU failed; those of
    /// `work`.
    pub(crate) fn attempt<T, E: From<EngineError>>(
        &self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        failures::attempt(self.memory.device(), work)
    }

    /// The device that burn's tensors are made on.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The device kind on which results are bit-identical: `wgpu/<adapter>/<graphics interface>/<language of kernels>`.
    pub(crate) fn kind(&self) -> String {
        self.kind.clone()
    }

    /// Whether the adapter is software that emulates a GPU on the processor.
    pub(crate) fn is_software(&self) -> bool {
        self.software
    }

    /// Whether kernels are compiled to SPIR-V for it. If the driver lacks what that needs, they are compiled to WGSL.
    pub(crate) fn takes_spirv(&self) -> bool {
        language(&self.memory) == "spirv"
    }

    /// Waits until all work given to the device is done.
    ///
    /// # Panics
    /// Where no [`Gpu::attempt`] is made, if the device has failed.
    pub(crate) fn wait(&self) {
        let client = self.memory.client();
        answer(self.memory.device(), || client.sync());
    }

    /// The device's memory.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Fails if an array of `rows` rows of `width` floats is more than the device lets a kernel see at once.
    ///
    /// # Errors
    /// [`EngineError::Device`] with both figures.
    pub(crate) fn expect_fit(
        &self,
        what: &str,
        rows: usize,
        width: usize,
    ) -> Result<(), EngineError> {
        let (needed, limit) = (rows as u64 * width as u64 * 4, self.memory.largest_buffer());
        if needed <= limit {
            return Ok(());
        }
        let mebibytes = |bytes: u64| bytes as f64 / (1 << 20) as f64;
        Err(EngineError::Device {
            device: self.kind(),
            reason: format!(
                "{what} of [{rows}, {width}] takes {:.1} MiB but this device binds at most {:.1} MiB at once; \
                 use fewer rows, a smaller model or `--device cpu`",
                mebibytes(needed),
                mebibytes(limit)
            ),
        })
    }
}

/// The result of `open`, with a panic turned into an error: drivers and their loaders may panic.
fn guarded<T>(open: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let opened = catch_unwind(AssertUnwindSafe(open));
    opened.unwrap_or_else(|_| Err("its driver failed while it was opened".to_owned()))
}

fn open_wgpu(index: usize) -> Result<(Gpu, WgpuSetup), String> {
    let adapters = adapters();
    let Some(adapter) = adapters.get(index) else {
        return Err(match adapters.len() {
            0 => "wgpu finds no adapter; install a Vulkan driver for the GPU (or Mesa's lavapipe, which runs on the \
                  processor) and check with `vulkaninfo`, or use `--device cpu`"
                .to_owned(),
            1 => "there is one adapter, wgpu:0".to_owned(),
            count => format!("there are {count} adapters, wgpu:0 to wgpu:{}", count - 1),
        });
    };
    let options = RuntimeOptions::try_default().map_err(|error| error.to_string())?;
    let setup: WgpuSetup =
        try_init_setup::<AutoGraphicsApi>(adapter, options).map_err(|error| error.to_string())?;
    Ok((gpu_of(adapter, &setup), setup))
}

/// The GPU that the runtime knows as `adapter`.
fn gpu_of(adapter: &WgpuDevice, setup: &WgpuSetup) -> Gpu {
    let info = setup.adapter.get_info();
    let device = cubecl::Device::Wgpu(adapter.clone());
    let memory = Memory::new(device.clone());
    let language = language(&memory);
    let kind = format!("wgpu/{}/{:?}/{language}", info.name, info.backend).to_lowercase();
    Failures::keep(device, kind.clone()).watch(&setup.device);
    Gpu {
        device: Device::from(adapter.clone()),
        memory,
        kind,
        software: info.device_type == wgpu::DeviceType::Cpu,
    }
}

/// The language that kernels are compiled to: the part in brackets of the runtime's name, as in `wgpu<wgsl>`.
fn language(memory: &Memory) -> &'static str {
    let runtime = memory.client().name();
    let bracketed = runtime.split_once('<').map(|(_, language)| language);
    bracketed.map_or(runtime, |language| language.trim_end_matches('>'))
}

/// Another device of the adapter of `setup`, with the same features.
fn device_of(setup: &WgpuSetup) -> Result<(wgpu::Device, wgpu::Queue), String> {
    const SILENT: &str = "its driver does not answer";
    // Kernels in SPIR-V need features of the driver that wgpu does not know.
    #[cfg(feature = "vulkan")]
    if setup.backend == wgpu::Backend::Vulkan {
        let asked = cubecl::wgpu::vulkan::try_request_vulkan_device(&setup.adapter);
        let found = wait(asked, || false).ok_or(SILENT)?;
        if let Some(found) = found.map_err(|error| error.to_string())? {
            return Ok(found);
        }
    }
    let required_features = setup.device.features() - wgpu::Features::all_experimental_mask();
    let asked = setup.adapter.request_device(&wgpu::DeviceDescriptor {
        required_features,
        required_limits: setup.device.limits(),
        memory_hints: wgpu::MemoryHints::MemoryUsage,
        ..Default::default()
    });
    let found = wait(asked, || false).ok_or(SILENT)?;
    found.map_err(|error| error.to_string())
}

impl Opened {
    /// Opens the lost GPU again. The lost one is kept: what lies on it may still be held by runs that are about to end.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn open_again(&mut self) -> Result<(), String> {
        let setup = self.setup.as_ref();
        let setup = setup.ok_or("its driver gives up the whole program")?;
        let (device, queue) = device_of(setup)?;
        let setup = WgpuSetup {
            device,
            queue,
            ..setup.clone()
        };
        let options = RuntimeOptions::try_default().map_err(|error| error.to_string())?;
        let adapter = try_init_device(setup.clone(), options).map_err(|error| error.to_string())?;
        let gpu = gpu_of(&adapter, &setup);
        let [before, now] = [&self.gpu, &gpu].map(|gpu| gpu.memory.client());
        if before.properties() != now.properties() {
            return Err("it would have other properties, and other results".to_owned());
        }
        self.gpu = gpu;
        self.setup = Some(setup);
        Ok(())
    }
}

#[cfg(feature = "cuda")]
fn open_cuda(index: usize) -> Result<Gpu, String> {
    let device = cubecl::device::CudaDevice::new(index);
    let memory = Memory::new(cubecl::Device::Cuda(device.clone()));
    let kind = format!("cuda/{}", memory.device_name()).to_lowercase();
    Failures::keep(memory.device().clone(), kind.clone());
    Ok(Gpu {
        device: Device::from(device),
        memory,
        kind,
        software: false,
    })
}

#[cfg(not(feature = "cuda"))]
fn open_cuda(_: usize) -> Result<Gpu, String> {
    Err(
        "this binary was built without CUDA; build it with `--features cuda`, or use `wgpu`"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacked::device::test_device::gpu;

    #[test]
    fn an_adapter_that_is_not_there_is_an_error_that_says_what_is() {
        let error = Gpu::open(DeviceRequest::Wgpu(1_000))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("device wgpu:1000: "), "{error}");
        assert!(error.contains("adapter"), "{error}");
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn a_binary_without_cuda_says_so() {
        let error = Gpu::open(DeviceRequest::Cuda(0)).unwrap_err().to_string();
        assert!(error.contains("--features cuda"), "{error}");
    }

    #[test]
    #[ignore = "needs a GPU or software Vulkan"]
    fn what_does_not_fit_one_binding_is_refused_with_its_size() {
        let gpu = gpu();
        assert!(gpu.kind().starts_with("wgpu/"));
        let rows = gpu.memory().largest_buffer() as usize / 4 / 1024;
        assert_eq!(gpu.expect_fit("a stack", rows, 1024), Ok(()));
        let error = gpu
            .expect_fit("a stack", rows + 1, 1024)
            .unwrap_err()
            .to_string();
        assert!(error.contains("MiB"), "{error}");
    }
}
