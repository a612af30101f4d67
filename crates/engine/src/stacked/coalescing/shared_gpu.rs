//! A GPU and the runs that share it.

use super::launch_coalescer::LaunchCoalescer;
use crate::cpu::THREAD_STACK;
use crate::device::request::DeviceRequest;
use crate::error::EngineError;
use crate::stack::mixing::{HostMixing, Matrix};
use crate::stacked::device::gpu::Gpu;
use crate::stacked::device::trace::{count_as, is_counted};
use burn_cubecl::CubeDevice;
use burn_std::stream::StreamId;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// An opened GPU for one run, with the other runs that share its launches. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct SharedGpu {
    gpu: Gpu,
    /// The runs with which this one shares launches; `None` if it is alone.
    coalescer: Option<Arc<LaunchCoalescer>>,
}

/// The runs that go on side by side on each GPU that was opened again.
static REOPENED: Mutex<Vec<(CubeDevice, Arc<LaunchCoalescer>)>> = Mutex::new(Vec::new());

impl Deref for SharedGpu {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        &self.gpu
    }
}

impl From<Gpu> for SharedGpu {
    /// The GPU of a run that is alone.
    fn from(gpu: Gpu) -> Self {
        Self {
            gpu,
            coalescer: None,
        }
    }
}

impl SharedGpu {
    /// Opens the adapter that `request` names, for a run that is alone.
    ///
    /// # Errors
    /// Those of [`Gpu::open`].
    pub(crate) fn open(request: DeviceRequest) -> Result<Self, EngineError> {
        Gpu::open(request).map(Self::from)
    }

    /// This GPU, reopened if it was lost, as by [`Gpu::renewed`]. Runs that shared launches do so again.
    pub(crate) fn opened_anew(&self) -> Self {
        let gpu = self.gpu.renewed();
        let device = gpu.memory().device();
        let same = device == self.gpu.memory().device();
        let again = |own: &Arc<LaunchCoalescer>| match same {
            true => own.clone(),
            false => of_reopened(device),
        };
        let coalescer = self.coalescer.as_ref().map(again);
        Self { gpu, coalescer }
    }

    /// Calls `work` on each of `most` new threads, whose runs step together. Returns when all calls have returned.
    pub(crate) fn run_side_by_side(&self, most: usize, work: impl Fn(Self) + Sync) {
        if most <= 1 {
            return (0..most).for_each(|_| work(self.clone()));
        }
        let coalescer = Arc::<LaunchCoalescer>::default();
        // All threads use one queue, since one thread reads what another has written.
        let stream = StreamId::current();
        let counted = is_counted();
        let on_queue = |gpu: Self| {
            count_as(counted);
            stream.executes(|| work(gpu));
        };
        thread::scope(|scope| {
            for run in 0..most {
                let coalescer = Some(coalescer.clone());
                let gpu = Self {
                    gpu: self.gpu.clone(),
                    coalescer,
                };
                let thread = thread::Builder::new().name(format!("meshfold-run-{run}"));
                let thread = thread.stack_size(THREAD_STACK);
                let on_queue = &on_queue;
                let started = thread.spawn_scoped(scope, move || on_queue(gpu));
                // With fewer threads there are fewer runs at a time.
                if started.is_err() {
                    if run == 0 {
                        work(self.clone());
                    }
                    break;
                }
            }
        });
    }

    /// The runs that share launches with this one, if any.
    pub(crate) fn coalescer(&self) -> Option<&Arc<LaunchCoalescer>> {
        self.coalescer.as_ref()
    }

    /// Whether mixing `rows` rows with `matrix` waits until they step with those of other runs.
    pub(crate) fn mixes_later(&self, matrix: &Matrix, rows: usize) -> bool {
        let sparse = matches!(matrix.host, HostMixing::Sparse { .. });
        self.coalescer.is_some() && sparse && matrix.rows == rows
    }
}

/// The runs that go on side by side on `device`, which was opened again.
fn of_reopened(device: &CubeDevice) -> Arc<LaunchCoalescer> {
    let mut reopened = REOPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, coalescer)) = reopened.iter().find(|(known, _)| known == device) {
        return coalescer.clone();
    }
    let coalescer = Arc::<LaunchCoalescer>::default();
    reopened.push((device.clone(), coalescer.clone()));
    coalescer
}
